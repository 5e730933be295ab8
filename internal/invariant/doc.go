// Package invariant holds the checks that must be true while the process lives.
//
// Owns: Broken, which ends the process loudly; Fill, which poisons released memory; Mark, which ties odd code to its test.
// Callers: every package; it imports only the standard library.
// Thread: any; nothing here keeps state in release builds.
// Never: formats arguments unless a check has failed, since callers sit on hot paths.
// Fails: Broken panics with a message that names the check and its values; the owner of the process decides what to dump.
package invariant
