// Package meta is the cluster as values.
//
// Owns: Image, one state of the whole cluster, and what it is made of; Builder, which makes the next one; Delta, what two of them differ in.
// Callers: controller/run makes images; reactor/api, replica and the handlers read them.
// Thread: any. A published image is never written again, so it is read without locks.
// Never: talks to ZooKeeper, reads a clock, decides anything; it holds what others decided.
// Fails: never; looking up what is not there yields nil.
package meta
