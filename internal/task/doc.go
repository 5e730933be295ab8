// Package task owns every goroutine that is not a shard.
//
// Owns: Group, which starts goroutines under a name and waits for all of them on Stop; Pool, a bounded set of workers.
// Callers: whatever runs off the shards: recovery, cleaners, the coordination client and server, admin HTTP, slow handlers.
// Thread: any.
// Never: lets a goroutine outlive its group, swallows a panic: a goroutine that dies of one takes the process down.
// Fails: Pool.Do returns ErrStopped after Stop.
package task
