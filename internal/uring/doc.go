// Package uring is our io_uring: raw system calls, no C, no linker tricks.
//
// Owns: set-up with step-downs, the mapped queues, entries and completions, registration of files, buffers, eventfd and workers, and the list of operations that may be used.
// Callers: internal/disk and netpoll, nobody else. A second implementation of Ring stands on giouring behind the build tag giouring.
// Thread: one; a ring is opened, used and closed on the same locked thread, since the kernel refuses others (EEXIST).
// Never: keeps memory alive: what an Entry points to must stay reachable and in place until its completion; never lets more be in flight than the completion queue holds; never waits unless told to.
// Fails: Open returns ErrUnavailable with the kernel's reason; Submit returns ErrBusy when the kernel wants completions reaped first, with every entry still queued; any other error of enter is ours.
package uring
