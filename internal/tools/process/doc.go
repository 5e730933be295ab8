// Package process runs programs of ours that say on a line when they are ready, as tools need them: to be killed, paused and started again.
//
// Owns: the start, the wait for the ready line, and the ways to end one; ports for those that are told theirs.
// Callers: the tools that put a broker or a coordination server through something.
// Thread: the caller's, which must be one that stays (runtime.LockOSThread): a process dies with the thread that started it.
// Never: reads what a process prints behind its ready line.
// Fails: with what the process printed last to its log when it was not ready in time.
package process
