package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// brokersOf asks coordination for the addresses of the brokers, for tools that are only told --zookeeper.
func brokersOf(connect string) (string, error) {
	hosts, chroot := connect, ""
	if i := strings.IndexByte(connect, '/'); i >= 0 {
		hosts, chroot = connect[:i], strings.TrimSuffix(connect[i:], "/")
	}
	silent := func(c *zk.Conn) { c.SetLogger(silentLogger{}) }
	conn, events, err := zk.Connect(strings.Split(hosts, ","), 6*time.Second, silent)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := awaitSession(events, 6*time.Second); err != nil {
		return "", fmt.Errorf("no coordination server answers at %s (%w). Is it a broker's address? That goes to --bootstrap-server", hosts, err)
	}
	ids, _, err := conn.Children(chroot + "/brokers/ids")
	if err != nil {
		return "", fmt.Errorf("%s%s/brokers/ids: %w. Is the chroot right?", hosts, chroot, err)
	}
	var found []string
	for _, id := range ids {
		data, _, err := conn.Get(chroot + "/brokers/ids/" + id)
		if err != nil {
			continue // gone since the listing
		}
		if address, ok := registeredAddress(data); ok {
			found = append(found, address)
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no broker with a PLAINTEXT listener is registered under %s%s/brokers/ids. Start one first", hosts, chroot)
	}
	return strings.Join(found, ","), nil
}

// silentLogger keeps the client library's progress off the terminal.
type silentLogger struct{}

// Printf implements zk.Logger.
func (silentLogger) Printf(string, ...any) {}

func awaitSession(events <-chan zk.Event, limit time.Duration) error {
	timeout := time.After(limit)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return nil
			}
		case <-timeout:
			return fmt.Errorf("no session after %s", limit)
		}
	}
}

// registeredAddress is host:port of a broker's registration: its first PLAINTEXT endpoint, or the older pair.
func registeredAddress(data []byte) (string, bool) {
	var r struct {
		Host      *string           `json:"host"`
		Port      int               `json:"port"`
		Endpoints []string          `json:"endpoints"`
		Protocols map[string]string `json:"listener_security_protocol_map"`
	}
	if json.Unmarshal(data, &r) != nil {
		return "", false
	}
	for _, e := range r.Endpoints {
		u, err := url.Parse(e)
		if err != nil {
			continue
		}
		name := strings.ToUpper(u.Scheme)
		if protocol, ok := r.Protocols[name]; ok {
			name = protocol
		}
		if name == "PLAINTEXT" {
			return u.Host, true
		}
	}
	if r.Host != nil && r.Port > 0 {
		return net.JoinHostPort(*r.Host, strconv.Itoa(r.Port)), true
	}
	return "", false
}
