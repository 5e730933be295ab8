package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

const (
	// patience bounds every wait for an event.
	patience = 60 * time.Second
	// poll is between two looks at something that tells nobody when it changes.
	poll = 100 * time.Millisecond
	// lines that each produce step sends.
	lines = 200
)

// result is what a day left behind.
type result struct {
	running, stopped []string // dumps with brokers and without
}

// day runs the estate from its first start to its last stop.
func (e *estate) day(say func(string, ...any)) (r result, err error) {
	defer e.cleanUp()
	if err := e.startCoordination(); err != nil {
		return r, err
	}
	for id := range e.brokers { // one after the other, so that broker 0 is the controller
		if err := e.startBroker(id); err != nil {
			return r, err
		}
		if err := e.await("/brokers/ids", func(names []string) bool { return len(names) == id+1 }); err != nil {
			return r, err
		}
	}
	say("%d broker(s) of Kafka %s registered", e.brokers, e.version)
	steps := []struct {
		name   string
		others bool // it needs more than one broker
		run    func() error
	}{
		{"topic created, leaders elected", false, func() error { return e.createTopic("before") }},
		{"records written", false, func() error { return e.produce("before", "first") }},
		{"broker 0, the controller and a leader, killed; others lead", true, e.killLeader},
		{"coordination killed with -9 and back: every znode is there", false, e.killAndReturn},
		{"topic created and written after that", false, func() error { return errors.Join(e.createTopic("after"), e.produce("after", "second")) }},
		{"killed broker is back", true, e.returnBroker},
		{"every record read", false, func() error { return errors.Join(e.readBack("before", "first"), e.readBack("after", "second")) }},
	}
	for _, s := range steps {
		if e.brokers == 1 && s.others {
			continue // there must be another one to take over
		}
		if err := s.run(); err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		}
		say("%s", s.name)
	}
	if r.running, err = dump(e.zk, false); err != nil {
		return r, err
	}
	for id := e.brokers - 1; id >= 0; id-- {
		if err := e.endBroker(id, "TERM"); err != nil {
			return r, err
		}
	}
	if err := e.await("/brokers/ids", func(names []string) bool { return len(names) == 0 }); err != nil {
		return r, err
	}
	// How brokers that stop at the same time find each other is a race: the nodes must be the same, not the epochs.
	if r.stopped, err = dump(e.zk, true); err != nil {
		return r, err
	}
	say("stopped: %d znodes with brokers, %d without", len(r.running), len(r.stopped))
	return r, e.stopCoordination()
}

// await polls the children of a node.
func (e *estate) await(path string, good func([]string) bool) error {
	c, err := connect(e.zk)
	if err != nil {
		return err
	}
	defer c.Close()
	var names []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(poll) {
		if names, _, err = c.Children(path); err == nil && good(names) {
			return nil
		}
	}
	return fmt.Errorf("%s after %s: %v %w", path, patience, names, err)
}

// replicas is the same for every day, so that dumps can be compared.
func (e *estate) replicas() string {
	if e.brokers == 1 {
		return "0,0"
	}
	return "0:1:2,1:2:0"
}

func (e *estate) createTopic(topic string) error {
	class, to := "kafka.admin.TopicCommand", []string{"--zookeeper", e.zk}
	if strings.HasPrefix(e.version, "3.") {
		class, to = "org.apache.kafka.tools.TopicCommand", []string{"--bootstrap-server", e.seeds()}
	}
	args := append([]string{"tool", "kafka", e.version, class}, to...)
	if _, err := e.script("", append(args, "--create", "--topic", topic, "--replica-assignment", e.replicas())...); err != nil {
		return err
	}
	return e.awaitLeaders(topic, func(leader string) bool { return leader != "-1" })
}

// awaitLeaders polls the state nodes of both partitions.
func (e *estate) awaitLeaders(topic string, good func(leader string) bool) error {
	c, err := connect(e.zk)
	if err != nil {
		return err
	}
	defer c.Close()
	leader := regexp.MustCompile(`"leader":(-?\d+)`)
	var seen []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(poll) {
		seen = seen[:0]
		done := true
		for p := range 2 {
			data, _, err := c.Get(fmt.Sprintf("/brokers/topics/%s/partitions/%d/state", topic, p))
			m := leader.FindSubmatch(data)
			done = done && err == nil && m != nil && good(string(m[1]))
			seen = append(seen, string(data))
		}
		if done {
			return nil
		}
	}
	return fmt.Errorf("leaders of %s after %s: %v", topic, patience, seen)
}

func text(prefix string) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%s-%04d\n", prefix, i)
	}
	return b.String()
}

func (e *estate) produce(topic, prefix string) error {
	args := []string{"tool", "kafka", e.version, "kafka.tools.ConsoleProducer", "--broker-list", e.seeds(), "--topic", topic}
	if strings.HasPrefix(e.version, "3.") {
		args = append(args, "--producer-property", "acks=all")
	} else {
		args = append(args, "--request-required-acks", "-1")
	}
	_, err := e.script(text(prefix), args...)
	return err
}

func (e *estate) readBack(topic, prefix string) error {
	args := []string{"tool", "kafka", e.version, "kafka.tools.ConsoleConsumer"}
	switch {
	case strings.HasPrefix(e.version, "0.8"):
		args = append(args, "--zookeeper", e.zk)
	case strings.HasPrefix(e.version, "3."):
		args[3] = "org.apache.kafka.tools.consumer.ConsoleConsumer"
		args = append(args, "--bootstrap-server", e.seeds(), "--timeout-ms", "60000", "--group", "estate")
	default:
		args = append(args, "--bootstrap-server", e.seeds(), "--timeout-ms", "60000", "--group", "estate")
	}
	out, err := e.script("", append(args, "--from-beginning", "--topic", topic, "--max-messages", fmt.Sprint(lines))...)
	if err != nil {
		return err
	}
	var got []string
	for _, l := range strings.Split(out, "\n") {
		if strings.HasPrefix(l, prefix) {
			got = append(got, l)
		}
	}
	sort.Strings(got)
	if want := strings.Fields(text(prefix)); strings.Join(got, "\n") != strings.Join(want, "\n") {
		return fmt.Errorf("%s: %d of %d records came back: %.500s", topic, len(got), len(want), out)
	}
	return nil
}

// killLeader kills broker 0 and waits until the rest leads what it led.
func (e *estate) killLeader() error {
	if err := e.endBroker(0, "KILL"); err != nil {
		return err
	}
	if err := e.awaitLeaders("before", func(leader string) bool { return leader == "1" || leader == "2" }); err != nil {
		return err
	}
	// The test of the return counts on everything that the new controller writes being written.
	return e.await("/", func(names []string) bool { return strings.Contains(strings.Join(names, " "), "controller ") })
}

func (e *estate) returnBroker() error {
	if err := e.startBroker(0); err != nil {
		return err
	}
	return e.await("/brokers/ids", func(names []string) bool { return len(names) == e.brokers })
}

// killAndReturn kills the coordination server, starts it again on its files, and looks for every node that was there.
func (e *estate) killAndReturn() error {
	before, err := dump(e.zk, false)
	if err != nil {
		return err
	}
	if err := errors.Join(e.killCoordination(), e.startCoordination()); err != nil {
		return err
	}
	for until := time.Now().Add(patience); ; time.Sleep(poll) {
		after, err := dump(e.zk, false)
		if err != nil {
			return err
		}
		lost := differences(before, after)
		if len(lost) == 0 {
			break
		}
		// A Java server may take longer to come back than a session lasts; then the broker puts its nodes back. All others never went.
		ofSessions := !slices.ContainsFunc(lost, func(line string) bool { return !strings.Contains(line, "ephemeral=true") })
		if !e.real || !ofSessions || time.Now().After(until) {
			return fmt.Errorf("the tree changed over kill -9: %s", strings.Join(lost, "\n"))
		}
	}
	// The brokers are back when their sessions are: each answers for its node by keeping it.
	want := e.brokers
	if e.brokers > 1 {
		want--
	}
	if err := e.outlive(15*time.Second, want); err != nil {
		return err
	}
	return nil
}

// outlive watches the registrations for longer than a session lives, and wants them never fewer than want.
func (e *estate) outlive(long time.Duration, want int) error {
	c, err := connect(e.zk)
	if err != nil {
		return err
	}
	defer c.Close()
	for end := time.Now().Add(long); ; {
		names, _, ch, err := c.ChildrenW("/brokers/ids")
		if errors.Is(err, zk.ErrConnectionClosed) {
			continue
		}
		if err != nil {
			return err
		}
		if len(names) != want {
			return fmt.Errorf("registered brokers after the return: %v, want %d", names, want)
		}
		select {
		case <-ch:
		case <-time.After(time.Until(end)):
			return nil
		}
	}
}

func keep(dir string, r result) error {
	return os.WriteFile(dir+"/znodes.txt", []byte(strings.Join(r.running, "\n")+"\n"), 0o644)
}
