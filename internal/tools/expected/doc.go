// Package expected is what stands in the expected.json beside a golden directory: what a consumer of the Kafka that wrote the directory saw.
//
// Owns: the form of the file, and of one record as a client sees it.
// Callers: tests, and the tool that brings golden directories to Kafka and back.
// Thread: any; there is no state.
// Never: compares.
// Fails: with the error of the file.
package expected
