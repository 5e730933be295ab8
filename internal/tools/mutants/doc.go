// Command mutants breaks the storage engine on purpose, one way at a time, and asks whether the simulator notices.
//
// Owns: the list of mutants, each a piece of text and what takes its place, and the temporary copy of the tree that they are applied to.
// Callers: make mutants.
// Thread: one; the tests that it starts are processes.
// Never: changes the tree that it was started in.
// Fails: exit code 1 when a mutant survives, when its text is not found exactly once, or when the tree without mutants is red.
package main
