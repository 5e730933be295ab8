// Package plan decides what the controller will do, and does nothing.
//
// Owns: placement of replicas, the checks of a topic's specification, the choice of leaders, the order of a deletion, and the errors of all that.
// Callers: controller/run, and the command line for explaining a placement.
// Thread: any; every function is pure.
// Never: reads a clock, rolls dice (start index and shift are given), talks to ZooKeeper, keeps state.
// Fails: with *Error, whose Kind is one of the sentinels of errors.go and whose message is meant for the user.
package plan
