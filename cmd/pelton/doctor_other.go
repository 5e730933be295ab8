//go:build !linux

package main

import "runtime"

func (m *machine) limits() []finding {
	return []finding{{"operating system", runtime.GOOS, warn, "Linux is the product; here everything runs on portable calls, for development", ""}}
}

func openFiles() uint64 { return 1 << 62 }

func (m *machine) ring() []finding        { return nil }
func (m *machine) space(string) []finding { return nil }
