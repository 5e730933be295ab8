//go:build !linux

package load

import (
	"fmt"
	"runtime"
)

// Machine is the part of a run's conditions that the machine decides.
func Machine(string) map[string]any {
	return map[string]any{"kernel": runtime.GOOS, "cpu": runtime.GOARCH, "cores": runtime.NumCPU()}
}

// MachineWords says the same in a line.
func MachineWords(string) string {
	return fmt.Sprintf("%d cores of %s, %s", runtime.NumCPU(), runtime.GOARCH, runtime.GOOS)
}
