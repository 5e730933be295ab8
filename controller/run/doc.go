// Package run is the broker's place in the cluster, and the controller when this broker is elected.
//
// Owns: the session with ZooKeeper, the registration, the election, the loop that turns znodes into images and requests into znodes.
// Callers: cmd/pelton starts it; the handlers of reactor/api call the methods of Controller.
// Thread: one goroutine, the loop, does everything; methods may be called from any goroutine off the shards and wait for it.
// Never: decides (controller/plan does), opens partitions (Publish does), runs on a shard.
// Fails: refusals are *plan.Error with the sentinels of errors.go; a lost session is survived and reported; what cannot be survived goes to Options.Fatal.
package run
