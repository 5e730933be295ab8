// Package arena owns the memory that frames and the kernel share: off the Go heap, handed out by size class, never given back while it may be wanted again.
//
// Owns: slabs cut into small buffers, mappings of their own for large ones, and the count of what is out and what is mapped.
// Callers: one arena per shard (reactor makes it; netpoll and logstore take buffers), and each test that needs kernel-safe memory.
// Thread: one; Get, Retain and Release of an arena are called on the thread that owns it, which is why a reference count is a plain int.
// Never: allocates on the Go heap in steady state, unmaps a buffer that somebody holds, moves memory. Under the race detector the memory is pinned Go memory, so that the detector sees it.
// Fails: Get returns nil when the limit would be passed; a buffer released once too often is a broken invariant.
package arena
