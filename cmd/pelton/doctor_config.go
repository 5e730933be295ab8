package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/internal/config"
)

// actual is a broker's configuration as doctor compares the machine with it.
type actual struct {
	*config.Broker
	cores int
	files uint64 // open files allowed
}

// judgeConfig holds the machine against what a broker with this configuration will want of it.
func (a actual) judgeConfig() (list []finding) {
	shards := a.Long("num.shards")
	if shards == 0 {
		shards = int64(a.cores)
	}
	list = append(list, judge("num.shards", fmt.Sprintf("%d on %d cores", shards, a.cores), shards > int64(a.cores), warn,
		"shards that share a core wait for each other's turns", fmt.Sprintf("num.shards=%d", a.cores)))
	if a.Bool("pelton.uring.sqpoll") {
		list = append(list, judge("pelton.uring.sqpoll", "true", shards >= int64(a.cores), warn, "a polling kernel thread takes a core, and every core has a shard already",
			fmt.Sprintf("num.shards=%d, or pelton.uring.sqpoll=false", max(1, a.cores-1))))
	}
	if most := a.Long("max.connections"); most > 0 && most < 1<<31-1 {
		// A log keeps an open segment with two indexes; a few thousand logs are the rule.
		want := most + 3*4096
		list = append(list, judge("max.connections", strconv.FormatInt(most, 10), uint64(want) > a.files, warn,
			fmt.Sprintf("%d connections and the logs' files are more than the %s open files allowed", most, shownLimit(a.files)), fmt.Sprintf("ulimit -n %d", want)))
	}
	if n := a.Long("socket.send.buffer.bytes"); n > 0 && n < 65536 {
		list = append(list, finding{"socket.send.buffer.bytes", strconv.FormatInt(n, 10), note, "so small a buffer ends the kernel's own tuning and bounds a fetch to it per round trip", "socket.send.buffer.bytes=-1"})
	}
	if a.Long("log.flush.interval.messages") == 1 {
		list = append(list, finding{Check: "durability", Value: "fdatasync before each answer", Severity: note, Reason: "throughput is that of the disk's syncs", Command: "pelton perf produce --acks all --connections 8   # shows it"})
	}
	return list
}

func shownLimit(n uint64) string {
	if n > 1<<62 {
		return "unlimited"
	}
	return strconv.FormatUint(n, 10)
}

// readActual loads the configuration as the server does.
func readActual(f serverFlags) (actual, error) {
	c, _, err := f.load()
	return actual{Broker: c, cores: runtime.NumCPU(), files: openFiles()}, err
}

// errDropIn is returned when the file for the settings is there and is not one of doctor's own.
var errDropIn = errors.New("doctor: that file is somebody else's")

const dropInHead = "# Written by pelton doctor. Remove this file and run sysctl --system to go back.\n"

// writeDropIn collects the sysctl commands of the findings in a file for /etc/sysctl.d; nothing else is touched.
func writeDropIn(path string, list []finding) error {
	if old, err := os.ReadFile(path); err == nil && !strings.HasPrefix(string(old), dropInHead) {
		return fmt.Errorf("%w: %s", errDropIn, path)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(dropIn(f, list), f.Close())
}

func dropIn(w io.Writer, list []finding) error {
	_, err := io.WriteString(w, dropInHead)
	for _, f := range list {
		setting, ok := strings.CutPrefix(f.Command, "sysctl -w ")
		if !ok {
			continue
		}
		setting, _, _ = strings.Cut(setting, "   #")
		name, value, _ := strings.Cut(setting, "=")
		if _, e := fmt.Fprintf(w, "# %s\n# was: %s\n%s = %s\n", f.Reason, f.Value, name, strings.Trim(value, `"`)); e != nil {
			err = errors.Join(err, e)
		}
	}
	return err
}
