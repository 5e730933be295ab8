// Command roundtrip takes every directory that a real Kafka left to Pelton and back to real Kafka, and looks at each step whether everything is
// there.
//
// Owns: the table of directories and of the Kafkas that each goes back to, the view of a broker's content that is compared, the reading of
// what DumpLogSegments says.
// Callers: make golden-kafka, .ci/run with a short table; internal/tools/apache is the hand that runs Kafka and its tools.
// Thread: one; every step ends before the next begins.
// Never: changes the archives, judges what the files said before Pelton came.
// Fails: exit code 1 with the directory, the step and the first difference.
package main
