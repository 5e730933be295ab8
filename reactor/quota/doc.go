// Package quota decides how long a client is made to wait, as Kafka does: rates over sampled windows, a token bucket for changes of
// topics, and the order in which quotas of users and clients are looked for.
//
// Owns: Limits (which quota applies to whom), Meter (what one client has used), Book (the meters that are alive).
// Callers: reactor/api, which says what was used and when, and makes clients wait.
// Thread: Rate and Bucket belong to their caller; Meter and Book may be used by every shard at once; Limits never changes.
// Never: reads a clock, waits, knows a connection, or allocates when no quota applies.
// Fails: never; a quota that cannot be read is none, and NewLimits says so.
package quota
