//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "ensemble: servers are killed, stopped and separated by Linux system calls; there is nothing to run here")
	os.Exit(2)
}
