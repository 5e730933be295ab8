// Package shell is ZooKeeper's command line: the verbs of zkCli 3.9 over the public client library.
//
// Owns: Run, the verbs and their options, their output for people and as JSON.
// Callers: cmd/pelton (`pelton zk shell`, also under the names zkCli and zookeeper-shell).
// Thread: the caller's; one command after the other.
// Never: writes to anything but the writer it was given, or keeps a connection after Run.
// Fails: a failed command is an error whose text names the path and what ZooKeeper said.
package shell
