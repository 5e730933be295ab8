// Package wire turns Kafka's bytes into views and back, without meaning.
//
// Owns: the request header, the hand-made decoders of Produce and Fetch requests (views over the frame, no copy), the encoders of their
// responses, and the table of error codes. Every other API is decoded and encoded by kmsg.
// Callers: reactor/api.
// Thread: any; a value belongs to whoever decodes into it and is reused there.
// Never: knows topics, partitions or policies; allocates in steady state; trusts a count before the bytes behind it are there.
// Fails: a Reader that has run out or met a lie reports it once, by Err, and yields zero values after that.
package wire
