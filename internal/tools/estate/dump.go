package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// quiet keeps the client library silent.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

func connect(addr string) (*zk.Conn, error) {
	c, _, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(quiet{}))
	return c, err
}

// masks are what may differ between two days: ids that are drawn, times, ports.
func masks() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`"timestamp":"?\d+"?`),
		regexp.MustCompile(`"id":"[A-Za-z0-9_-]{22}"`),
		regexp.MustCompile(`"topic_id":"[A-Za-z0-9_-]{22}"`),
		regexp.MustCompile(`127\.0\.0\.1:\d+`),
		regexp.MustCompile(`"port":\d+`),
	}
}

// drawn are nodes whose numbers Kafka draws or that hang on who was quicker: the placement of its own topic, the winner of the second
// election, blocks of producer ids.
func drawn(path string) bool {
	return strings.HasPrefix(path, "/brokers/topics/__consumer_offsets") || path == "/controller" || path == "/latest_producer_id_block"
}

// shape leaves of a text the form: every number and every list of numbers is one sign.
func shape(text string) string {
	text = regexp.MustCompile(`\d+`).ReplaceAllString(text, "#")
	return regexp.MustCompile(`\[[#,]*\]`).ReplaceAllString(text, "[#]")
}

// node is one line of a dump: everything about a znode but ids and times. With loose, numbers are left out everywhere.
func node(c *zk.Conn, path string, loose bool) (string, []string, error) {
	data, st, err := c.Get(path)
	if err != nil {
		return "", nil, err
	}
	acl, _, err := c.GetACL(path)
	if err != nil {
		return "", nil, err
	}
	names, _, err := c.Children(path)
	if err != nil {
		return "", nil, err
	}
	sort.Strings(names)
	text := canonical(string(data))
	for _, m := range masks() {
		text = m.ReplaceAllStringFunc(text, func(s string) string { return s[:strings.IndexByte(s, ':')] + ":*" })
	}
	version := fmt.Sprint(st.Version)
	if loose || drawn(path) {
		version, text = "*", shape(text)
	}
	if strings.HasSuffix(path, "/state") || strings.HasPrefix(path, "/controller") {
		version = "*" // how often the in-sync set shrank and grew is a matter of pace
	}
	return fmt.Sprintf("%s version=%s ephemeral=%v null=%v acl=%v %s", path, version, st.EphemeralOwner != 0, data == nil, acl, text), names, nil
}

// canonical writes JSON with its keys in order: the old releases print hash maps.
func canonical(data string) string {
	if !strings.HasPrefix(data, "{") {
		return data
	}
	d := json.NewDecoder(strings.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return data
	}
	b, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return string(b)
}

// dump lists the nodes below root, the system's own left out.
func dump(addr string, loose bool) ([]string, error) {
	c, err := connect(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var out []string
	var walk func(path string) error
	walk = func(path string) error {
		if path == "/zookeeper" {
			return nil
		}
		line, names, err := node(c, path, loose)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, line)
		for _, n := range names {
			if err := walk(strings.TrimSuffix(path, "/") + "/" + n); err != nil {
				return err
			}
		}
		return nil
	}
	return out, walk("/")
}

// differences compares two dumps line by line.
func differences(a, b []string) []string {
	in := func(list []string) map[string]bool {
		m := map[string]bool{}
		for _, l := range list {
			m[l] = true
		}
		return m
	}
	inA, inB := in(a), in(b)
	var out []string
	for _, l := range a {
		if !inB[l] {
			out = append(out, "only on Pelton:    "+l)
		}
	}
	for _, l := range b {
		if !inA[l] {
			out = append(out, "only on ZooKeeper: "+l)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i][19:] < out[j][19:] })
	return out
}
