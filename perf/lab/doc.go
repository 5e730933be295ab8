// Package lab finds out what a setting does: it runs a workload under every combination of an experiment's knobs, in random order and
// interleaved, and says for each knob how much it changes, with an interval, or that no change was shown.
//
// Owns: experiment files, the knobs and the journal of changed settings, the statistics, the report; the starting of programs under test.
// Callers: cmd/pelton for `pelton lab`; benchmarks uses Process.
// Thread: one run at a time, on the caller's goroutine.
// Never: leaves a changed setting of the machine behind; changes one before its old value is safe in the journal.
// Fails: with ErrExperiment naming file, line, key and allowed values; with ErrRefused naming what this machine cannot change.
package lab
