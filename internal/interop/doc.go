// Package interop proves that other people's clients take Pelton for Kafka.
//
// Owns: one adapter for each client library, and the scenarios that all of them go through.
// Callers: `make interop`; it is a module of its own, so that the product's go.mod stays small.
// Thread: tests only.
// Never: is imported.
// Fails: a scenario names the client, the codec and the first record that differs.
package interop
