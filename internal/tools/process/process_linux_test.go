package process

import (
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell starts a script on a thread that stays as long as the test.
func shell(t *testing.T, script string) *Process {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	p, err := Start(filepath.Join(t.TempDir(), "log"), "sh", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

const serves = `echo not yet; echo '{"event":"ready","kafka":"k:1","zookeeper":"z:2"}'; exec sleep 60`

func TestProcessFromItsReadyLineToItsEnd(t *testing.T) {
	p := shell(t, serves)
	if err := p.Ready(time.Minute); err != nil || p.Kafka != "k:1" || p.ZooKeeper != "z:2" || !p.Running() {
		t.Fatalf("%+v, running %v, %v", p, p.Running(), err)
	}
	p.Kill()
	if p.Running() {
		t.Error("it runs after it was killed")
	}
	p.Kill()
	if err := p.Stop(); err != nil {
		t.Errorf("a stop of what has ended: %v", err)
	}
}

// One that has ended by itself does not run, although nobody has waited for it yet.
func TestProcessThatEndsByItself(t *testing.T) {
	p := shell(t, serves)
	if err := p.Ready(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for p.Running() {
		runtime.Gosched()
	}
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("it ended by a signal: %v", err)
	}
}

func TestProcessThatIsNotReady(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		within time.Duration
	}{
		"ends":    {"echo what is wrong >&2; echo '{\"event\":\"other\"}'; exit 3", time.Minute},
		"goes on": {"echo what is wrong >&2; exec sleep 60", 200 * time.Millisecond},
	} {
		p := shell(t, c.script)
		err := p.Ready(c.within)
		if err == nil || p.Running() {
			t.Fatalf("%s: %v, running %v", name, err, p.Running())
		}
		if name == "ends" && (!strings.Contains(err.Error(), "what is wrong") || !strings.Contains(err.Error(), "exit status 3")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
