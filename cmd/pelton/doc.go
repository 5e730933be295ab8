// Command pelton is the broker, its coordination server and every tool around them in one binary.
//
// Owns: the command line, the wiring of all packages into a running server, the console clients, doctor, and the
// printing of the generated documentation pages.
// Callers: people and scripts; nothing imports it.
// Thread: one goroutine per verb beside those of the client library; the server's threads belong to reactor and task.
// Never: holds a rule of the protocol or of the log; a verb talks to a broker over the wire like any other client.
// Fails: exit code 1 with one line that names the cause and what to do next; 2 for a wrong command line.
package main
