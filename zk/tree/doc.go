// Package tree is the data tree as a pure state machine: nodes, ACLs, quotas, watches, and the check of writes before they are ordered.
//
// Owns: Tree (Apply turns a transaction into results and events), Prep (turns a request into a transaction against what is pending), Txn and its bytes, the watch tables.
// Callers: zk/server on its loop, zk/txnlog in recovery, zk/ensemble.
// Thread: one thread owns a tree and its Prep; there are no locks here.
// Never: reads a clock, opens a file, knows connections: watchers are opaque values, zxids and times come in with the transaction.
// Fails: a refused request is a jute.Code; Apply of a transaction that does not fit (possible only in replay over a fuzzy snapshot) yields a code and changes nothing else.
package tree
