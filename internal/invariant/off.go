//go:build !invariants && !race

package invariant

// Enabled is true in builds that pay for costly checks: tag invariants, or the race detector.
const Enabled = false
