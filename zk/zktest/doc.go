// Package zktest is a ZooKeeper in memory, for tests, with faults on demand.
//
// Owns: Server, one tree with its sessions and watches; Conn, a client's end of it, in the shape of the library's connection.
// Callers: tests, through client.Options.Wire.
// Thread: any; one lock holds the server, and events are delivered under it, so that every run has one order.
// Never: opens a socket, sleeps, enforces ACLs or quotas.
// Fails: as ZooKeeper does, and as Expire, Lose, Hold and Refuse are told to.
package zktest
