// Package client is the broker's way to ZooKeeper: a thin facade over github.com/go-zookeeper/zk.
//
// Owns: the connect string (hosts and chroot), sessions as events, the retries, watches armed once each, ACLs.
// Callers: controller/run, the command line.
// Thread: every method may be called from any goroutine; OnEvent runs on the connection's goroutine and must not block.
// Never: hides a lost session: what was begun in one session is not continued in the next.
// Fails: with the sentinels of errors.go; a write whose outcome is unknown after a lost connection is told apart as ErrUnknownOutcome.
package client
