// Package clock is the only door to time.
//
// Owns: the Clock interface, the real one, and a manual one for tests and simulation.
// Callers: constructors of everything that needs time; cmd passes Real.
// Thread: any.
// Never: sleeps; waiting belongs to the timing wheel of a shard or to a task.
// Fails: it cannot.
package clock
