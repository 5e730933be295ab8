// Command floor is the physical limit that the broker's figures are quoted against: the least that any program can do to take
// bytes from sockets into a file, to send a cached file, or to answer a few bytes.
//
// Owns: sink (read and pwrite), source (sendfile), pingpong (64-byte echo), echo (goroutine per connection).
// Callers: make bench starts it and drives it with perf/load; its ready line tells the port and the process id.
// Thread: sink, source and pingpong lock one OS thread per connection (pingpong -epoll: one for all) and make raw blocking calls there,
// past Go's scheduler and network poller; echo is plain Go on purpose.
// Never: checks, parses or remembers more of a frame than its length and its correlation id.
// Fails: any error of a system call ends that connection with one line on stderr; a bad flag ends the process with code 2.
package main
