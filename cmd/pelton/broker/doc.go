// Package broker builds the graph of a running broker out of its configuration, and takes it down again.
//
// Owns: the order of start and stop; the translation of configuration rows into the options of each package.
// Callers: cmd/pelton's server verb, and the tests that need a whole broker in their process.
// Thread: Start and Stop belong to one goroutine.
// Never: answers a request, decides anything that a package below decides.
// Fails: Start returns one error that names the cause and leaves nothing running; a fatal error later comes out of Fatal.
package broker
