//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "benchmarks: the broker and the floors are measured on Linux")
	os.Exit(2)
}
