// Command killrounds kills a real broker (-9) again and again under load, also while it recovers, and holds everything that it acknowledged
// against what is there afterwards.
//
// Owns: the topics of different promises (page cache, flush.messages=1, compacted, kept by size), the writers and what they were told, the
// rounds of killing.
// Callers: make kill-loop, make soak.
// Thread: one, beside the writers' own.
// Never: sleeps where it could wait for an acknowledgement, forgives a record that is elsewhere than it was said to be.
// Fails: exit code 1 with the topic, the partition and the offset; the broker's log and data are left in the directory that it names.
package main
