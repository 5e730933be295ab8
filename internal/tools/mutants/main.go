package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	seeds := flag.Int("seeds", 120, "how many seeds a mutant may survive at most")
	steps := flag.Int("steps", 1000, "steps of each seed")
	only := flag.String("only", "", "only mutants whose name has this in it")
	flag.Parse()
	if err := run(*seeds, *steps, *only); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(seeds, steps int, only string) error {
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a copy, in the directory for such
	if err := copyTree(dir); err != nil {
		return err
	}
	args := []string{"test", "-tags", "invariants", "-run", "^TestSim$", "-count", "1", "-timeout", "20m", "./internal/sim", "-args",
		"-seed", "1", "-seeds", strconv.Itoa(seeds), "-steps", strconv.Itoa(steps), "-most", "1"}
	if out, err := test(dir, args); err != nil {
		return fmt.Errorf("the tree is red without any mutant: %s", out)
	}
	fmt.Printf("without a mutant: %d seeds are green\n", seeds)
	survived, played := 0, 0
	for _, m := range list() {
		if !strings.Contains(m.name, only) {
			continue
		}
		played++
		start := time.Now()
		line, err := try(dir, m, args)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if line == "" {
			survived++
			line = "SURVIVED"
		}
		fmt.Printf("%-70s %4.0f s  %s\n", m.name, time.Since(start).Seconds(), line)
	}
	if survived > 0 {
		return fmt.Errorf("%d of %d mutants survived", survived, played)
	}
	fmt.Printf("all %d mutants were caught\n", played)
	return nil
}

// try applies one mutant to the copy, tests it, and takes it back. line is what the simulator said; "" when it said nothing.
func try(dir string, m mutant, args []string) (line string, err error) {
	path := filepath.Join(dir, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(text, []byte(m.old)); n != 1 {
		return "", fmt.Errorf("%q is %d times in %s, not once: the list must follow the code", m.old, n, m.file)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(m.old), []byte(m.new), 1), 0o644); err != nil {
		return "", err
	}
	out, failed := test(dir, args)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return "", err
	}
	if failed == nil {
		return "", nil
	}
	for _, l := range strings.Split(out, "\n") {
		for _, sign := range []string{"seed ", "invariant broken"} {
			if i := strings.Index(l, sign); i >= 0 {
				return l[i:min(len(l), i+150)], nil
			}
		}
	}
	return "", fmt.Errorf("the test failed otherwise than by a promise: %s", out)
}

func test(dir string, args []string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// copyTree copies the Go files and the modules of the tree as it stands.
func copyTree(dir string) error {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", "*.go", "go.mod", "go.sum", "*.txt", "internal", "logstore").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for _, name := range strings.Fields(string(out)) {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) || strings.Contains(name, "/testdata/") {
			continue
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
