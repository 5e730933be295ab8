package invariant

import "fmt"

// Broken ends the process: a promise of this program to itself does not hold, so nothing it
// would do next can be trusted. what is "package: sentence"; values are printed as they are.
// It is called behind an if, so that the arguments are built only on failure.
func Broken(what string, values ...any) {
	panic(fmt.Sprintf("invariant broken: %s %v", what, values))
}

// Fill overwrites released memory in check builds, so that a use after release shows itself
// as a wrong checksum instead of as old data. In release builds it does nothing.
func Fill(b []byte, with byte) {
	if !Enabled {
		return
	}
	for i := range b {
		b[i] = with
	}
}
