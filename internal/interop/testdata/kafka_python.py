"""Writes the lines of standard input to a topic, or reads a topic's lines to standard output, by kafka-python.

usage: kafka_python.py produce|consume BROKER TOPIC COUNT CODEC
PELTON_API_VERSION names the release that it takes the broker for, 0.9.0 say; without it the broker is asked.
"""
import os
import sys

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

pinned = os.environ.get("PELTON_API_VERSION")
api = {"api_version": tuple(int(n) for n in pinned.split("."))} if pinned else {}
verb, broker, topic, count, codec = sys.argv[1:6]
if verb == "produce":
    producer = KafkaProducer(bootstrap_servers=broker, acks="all", enable_idempotence=not pinned, compression_type=None if codec == "none" else codec,
                             linger_ms=5, retries=1000, delivery_timeout_ms=120000, **api)
    futures = [producer.send(topic, line.rstrip(b"\n"), partition=0) for line in sys.stdin.buffer]
    producer.flush()
    for f in futures:
        f.get(timeout=60)
    producer.close()
else:
    group = None if pinned else "kafka-python-" + topic
    consumer = KafkaConsumer(bootstrap_servers=broker, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False, **api)
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    left = int(count)
    while left > 0:
        for records in consumer.poll(timeout_ms=1000).values():
            for r in records[:left]:
                sys.stdout.buffer.write(r.value + b"\n")
            left -= len(records)
    if group:
        consumer.commit()
    consumer.close()
