// Package tty switches a terminal to single keys and back.
//
// Owns: the settings of a terminal between Raw and its undoing, and the pairs that tests take for terminals.
// Callers: cmd/pelton for the coordination shell, and its tests.
// Thread: any goroutine.
// Never: keeps a descriptor of its caller's.
// Fails: with the system's error; what is no terminal is told by Is.
package tty
