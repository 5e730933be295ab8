// Package golden unpacks the directories that other programs wrote, for the tests that read them.
//
// Owns: the reading of a .tar.gz archive.
// Callers: tests.
// Thread: the test's own.
// Never: checks what it unpacks, keeps anything open.
// Fails: ends the test with the archive's error.
package golden
