//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// labSetting is a setting that does no harm in the seconds of a test.
const labSetting = "/proc/sys/vm/dirty_expire_centisecs"

func setting(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(labSetting)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// However a run ends that has changed the machine, the old value comes back: by itself, after an interrupt by itself, after kill -9 by
// lab restore. The runs are real processes and the setting is this machine's own.
func TestLabLeavesNothingChanged(t *testing.T) {
	old := setting(t)
	if err := os.WriteFile(labSetting, []byte(old), 0); err != nil {
		t.Skipf("changing a setting of the kernel needs root: %v", err)
	}
	defer func() { _ = os.WriteFile(labSetting, []byte(old), 0) }() // whatever this test finds
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asProgram, "1")
	file := filepath.Join(t.TempDir(), "x.yaml")
	other := map[bool]string{true: "2999", false: "3000"}[old == "3000"]
	text := fmt.Sprintf("name: x\nworkload: {mode: produce, rate: 100, record-size: 100, duration: 50ms, warmup: 0s}\nwarmups: 0\nrepetitions: 1000\nknobs:\n  - {sysctl: vm.dirty_expire_centisecs, values: [%s, 2998]}\n", other)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cache := "XDG_CACHE_HOME=" + t.TempDir()
	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		code, output := labUntil(t, end, binary, file, cache)
		if now := setting(t); end == syscall.SIGKILL {
			if now == old {
				t.Error("after kill -9 the setting is still changed, or the test shows nothing")
			}
			restoreAfterKill(t, binary, file, cache, old)
		} else if now != old || code == 0 {
			t.Errorf("%v: the setting is %s, was %s; code %d\n%s", end, now, old, code, output)
		}
	}
}

// labUntil runs the experiment, and ends it with a signal when a run of it is over.
func labUntil(t *testing.T, end syscall.Signal, binary, file, cache string) (code int, output string) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), binary, "lab", "run", file)
	cmd.Env = append(os.Environ(), cache)
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(progress)
	first, err := in.ReadString('\n') // the setting has been turned, and the run says so
	if err != nil || !strings.HasPrefix(first, "repetition 1 of 1000") {
		rest, _ := io.ReadAll(in)
		t.Fatalf("%v: %s%s", err, first, rest)
	}
	if err := cmd.Process.Signal(end); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(in)
	_ = cmd.Wait() // it says how it was ended
	return cmd.ProcessState.ExitCode(), first + string(rest)
}

// restoreAfterKill looks that no other run starts before the values are back, and that they come back.
func restoreAfterKill(t *testing.T, binary, file, cache, old string) {
	t.Helper()
	for _, step := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"lab", "run", file}, 1, "pelton lab restore"},
		{[]string{"lab", "restore"}, 0, "restored " + labSetting},
		{[]string{"lab", "restore"}, 0, ""},
	} {
		cmd := exec.Command(binary, step.args...)
		cmd.Env = append(os.Environ(), cache)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != step.code || !strings.Contains(out.String(), step.says) {
			t.Errorf("%v: code %d, %s", step.args, got, out.String())
		}
	}
	if now := setting(t); now != old {
		t.Errorf("restored to %s, it was %s", now, old)
	}
}
