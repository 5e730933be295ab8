// Package inspect reads the files of partitions that no broker has open, of every format that Kafka ever wrote, tells what is in them and
// what is wrong with them, and mends what can be mended without guessing.
//
// Owns: the walk over damaged files, the check of a directory, the explained lookup, the layout of Kafka's DumpLogSegments, repair.
// Callers: cmd/pelton (pelton log, kafka-dump-log); tests.
// Thread: any one goroutine; everything blocks.
// Never: writes but in Repair and Rebuild, touches a directory that a broker has locked, removes bytes that it has not put aside.
// Fails: with the disk's error, or with what it found as a list: damage is a result here, not an error.
package inspect
