// Command differential sends the same requests to two brokers and reports every field in which their answers differ.
//
// Owns: the probes (good and bad requests for each API key and version), the masks for what must differ (ids, hosts, times), the comparison.
// Callers: `make interop`, with a real Kafka as the first broker and Pelton as the second; two real Kafkas give no difference.
// Thread: one; a probe ends before the next begins.
// Never: guesses: a difference that is allowed is named in docs/DIFFERENCES.md with its reason, and one that is named but gone is told too.
// Fails: exit code 1 for a difference that is not named, 2 when a broker cannot be reached.
package main
