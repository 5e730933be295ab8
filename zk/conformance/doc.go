// Package conformance holds scripts of raw frames and what Apache ZooKeeper 3.9.5 answered to them.
//
// Owns: testdata/*.txt (scripts) and testdata/*.golden (recorded answers), the runner that plays a script against an address.
// Callers: its own tests: always against zk/server, and against a real server when PELTON_TEST_ZOOKEEPER names one; -record writes the golden files from that.
// Thread: one script at a time.
// Never: compares times, passwords, session ids or absolute zxids: they are masked or made relative to the case.
// Fails: a case whose transcript differs from the recorded one is shown line by line.
package conformance
