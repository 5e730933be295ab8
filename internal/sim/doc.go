// Package sim runs logs and the owner's side of a shard on a virtual disk, one seed at a time, and holds what they do against a model.
//
// Owns: Volume, a file system with a cache and a platter of which a power cut leaves any unsynced subset; Queue, a shard's disk that completes
// late and out of order; Model, what a partition must hold; World, which draws events from a seed and checks after each.
// Callers: its own test, by make sim and make test.
// Thread: one, without goroutines; jobs that run off the shards are cut into at every call to the file system.
// Never: reads a clock, a real file or any randomness but the seed's.
// Fails: Run returns a *Failure with the seed, the step and the promise that was broken.
package sim
