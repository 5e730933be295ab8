//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// script runs internal/tools/apache and returns what it printed on both outputs: DumpLogSegments complains on the second.
func (t *trip) script(args ...string) (string, error) {
	cmd := exec.Command(t.apache, args...)
	cmd.Env = append(os.Environ(), "HEAP=384m")
	// The server that a start leaves behind holds its outputs open: a file does not wait for it.
	out, err := os.CreateTemp(t.dir, "script")
	if err != nil {
		return "", err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	text, readErr := os.ReadFile(out.Name())
	if err != nil {
		return "", fmt.Errorf("%s: %w: %.3000s", strings.Join(args, " "), err, text)
	}
	return string(text), readErr
}

// ports picks n ports in a row that nobody listens on, below those that the kernel gives to outgoing connections: a Kafka takes them later, and
// its controller the one after the broker's.
func ports(n int) (int, error) {
	for range 100 {
		first := 15000 + rand.Intn(15000)
		var held []net.Listener
		var err error
		for i := 0; i < n && err == nil; i++ {
			var l net.Listener
			if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+i)); err == nil {
				held = append(held, l)
			}
		}
		for _, l := range held {
			err = errors.Join(err, l.Close())
		}
		if err == nil {
			return first, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row", n)
}

// unpack lays out an archive below a directory.
func (t *trip) unpack(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	out, err := exec.Command("tar", "xzf", filepath.Join(t.from, "kafka-"+t.version, t.state+".tar.gz"), "-C", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("tar: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}
