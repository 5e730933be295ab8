// Writes the lines of standard input to a topic, or reads a topic's lines to standard output, by kafkajs.
// usage: node kafkajs.mjs produce|consume BROKER TOPIC COUNT CODEC
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
const { Kafka, CompressionTypes, logLevel } = createRequire(process.cwd() + '/')('kafkajs')
const [verb, broker, topic, count, codec] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'interop', brokers: [broker], logLevel: logLevel.ERROR, retry: { retries: 20 } })
if (verb === 'produce') {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  let batch = []
  const flush = async () => {
    if (batch.length === 0) return
    await producer.send({ topic, acks: -1, compression: codec === 'gzip' ? CompressionTypes.GZIP : CompressionTypes.None, messages: batch })
    batch = []
  }
  for await (const line of createInterface({ input: process.stdin })) {
    batch.push({ value: line, partition: 0 })
    if (batch.length === 2000) await flush()
  }
  await flush()
  await producer.disconnect()
} else {
  const consumer = kafka.consumer({ groupId: 'kafkajs-' + topic, maxBytesPerPartition: 4 << 20 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  let seen = 0
  const out = []
  await new Promise((done) => consumer.run({
    eachBatch: async ({ batch }) => {
      for (const m of batch.messages) {
        if (seen < count) out.push(m.value === null ? '' : m.value.toString('latin1'))
        seen++
      }
      if (seen >= count) done()
    },
  }))
  process.stdout.write(Buffer.from(out.join('\n') + '\n', 'latin1'), async () => {
    await consumer.disconnect()
    process.exit(0)
  })
}
