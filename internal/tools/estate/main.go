package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pelton-broker/pelton/internal/tools/process"
)

func main() {
	runtime.LockOSThread() // the servers die with the thread that started them: it must be one that stays
	apache := flag.String("apache", "internal/tools/apache", "the script that drives real Kafka and ZooKeeper")
	pelton := flag.String("pelton", "bin/pelton", "the binary under test")
	versions := flag.String("versions", "0.8.2.2,2.2.2,3.9.1", "releases of Kafka")
	compare := flag.Bool("compare", true, "run the same day on Apache ZooKeeper and compare the znodes")
	dir := flag.String("dir", "", "where data and logs go; a temporary directory when empty")
	flag.Parse()
	work := *dir
	if work == "" {
		var err error
		if work, err = os.MkdirTemp("", "estate"); err != nil {
			fail(2, err)
		}
		defer os.RemoveAll(work)
	}
	for _, v := range strings.Split(*versions, ",") {
		if err := version(*apache, *pelton, v, work, *compare); err != nil {
			fail(1, fmt.Errorf("Kafka %s: %w", v, err))
		}
	}
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "estate:", err)
	os.Exit(code)
}

// version runs the day of one release on Pelton and, to compare, on Apache ZooKeeper.
func version(apache, pelton, kafka, work string, compare bool) error {
	var results []result
	for _, real := range []bool{false, true} {
		if real && !compare {
			break
		}
		name := "pelton"
		if real {
			name = "zookeeper"
		}
		e := &estate{apache: apache, pelton: pelton, real: real, version: kafka, brokers: 1, dir: filepath.Join(work, kafka+"-"+name)}
		if strings.HasPrefix(kafka, "3.") {
			e.brokers = 3
		}
		if err := e.prepare(); err != nil {
			return err
		}
		r, err := e.day(func(format string, a ...any) { fmt.Printf("%s on %s: %s\n", kafka, name, fmt.Sprintf(format, a...)) })
		if err != nil {
			return fmt.Errorf("on %s: %w", name, err)
		}
		if err := keep(e.dir, r); err != nil {
			return err
		}
		results = append(results, r)
	}
	if len(results) < 2 {
		return nil
	}
	diff := append(differences(results[0].running, results[1].running), differences(results[0].stopped, results[1].stopped)...)
	if len(diff) > 0 {
		return fmt.Errorf("the znodes differ:\n%s", strings.Join(diff, "\n"))
	}
	fmt.Printf("%s: the same %d znodes on both but for ids and times\n", kafka, len(results[0].running))
	return nil
}

func (e *estate) prepare() error {
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		return err
	}
	dir, err := filepath.Abs(e.dir)
	if err != nil {
		return err
	}
	e.dir = dir
	ports, err := process.FreePorts(1 + e.brokers)
	if err != nil {
		return err
	}
	e.zkPort, e.ports = ports[0], ports[1:]
	e.zk = fmt.Sprintf("127.0.0.1:%d", e.zkPort)
	return nil
}
