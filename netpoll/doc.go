// Package netpoll moves bytes between sockets and one loop thread.
//
// Owns: the poller, listeners, connections, frame assembly, the outgoing chain of bytes and file spans, and the limits on all of them.
// Callers: reactor and zk/server; they get frames by up-call and put answers into a connection's chain.
// Thread: a Net and its connections belong to one loop thread; Wake, Listener, Limiter and Stats readers of a stopped loop may be elsewhere.
// Never: knows what a frame means, waits for anything but the poller, or copies a span's bytes in user space.
// Fails: a connection fails alone, with a typed cause handed to OnClose; only an error of the poller itself is returned by Turn.
package netpoll
