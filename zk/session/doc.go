// Package session knows which sessions are open and when each expires.
//
// Owns: Tracker, its sessions and their expiry buckets.
// Callers: zk/server on its loop.
// Thread: one; there are no locks.
// Never: reads a clock (the caller passes monotonic milliseconds), writes a log, closes a connection.
// Fails: Touch says false for a session that is unknown or closing.
package session
