//go:build !race

package perf

// store writes a slot that only this thread writes. An aligned word is written whole on every
// machine that Go runs on, and the language promises that a racing reader sees a value that was
// really written; an atomic store would cost a locked exchange for each count.
func store(p *int64, v int64) { *p = v }
