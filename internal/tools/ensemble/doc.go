// Command ensemble starts three coordination servers as processes, kills, stops, separates and cuts them off the power while clients work, and checks that the clients could not tell.
//
// Owns: the processes, their network namespaces and disks, the history of operations and its check by porcupine.
// Callers: make zk-linear and make zk-linear-short; with -command it runs the same against Apache ZooKeeper.
// Thread: one goroutine for each client and one that does harm.
// Never: leaves a process, a namespace or a mount behind, even when it is interrupted.
// Fails: with exit code 1 and the history's smallest unfit key; partitions and power cuts are left out, and it says so, when it is not run by root.
package main
