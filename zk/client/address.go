package client

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Address is a parsed zookeeper.connect.
type Address struct {
	Hosts  []string // host:port each
	Chroot string   // "" or "/a/b"
}

// ParseAddress reads host[:port],host[:port]…[/chroot]; the port defaults to 2181, IPv6 stands in brackets.
func ParseAddress(s string) (Address, error) {
	var a Address
	hosts := strings.TrimSpace(s)
	if i := strings.IndexByte(hosts, '/'); i >= 0 {
		a.Chroot = strings.TrimRight(hosts[i:], "/")
		hosts = hosts[:i]
	}
	for _, part := range strings.Split(a.Chroot, "/")[min(1, len(a.Chroot)):] {
		if a.Chroot != "" && (part == "" || part == "." || part == "..") {
			return a, fmt.Errorf("%w: the path %q in %q", ErrConnectString, a.Chroot, s)
		}
	}
	for _, h := range strings.Split(hosts, ",") {
		hp, err := hostPort(strings.TrimSpace(h))
		if err != nil {
			return a, fmt.Errorf("%w: %q in %q: %w", ErrConnectString, h, s, err)
		}
		a.Hosts = append(a.Hosts, hp)
	}
	return a, nil
}

func hostPort(h string) (string, error) {
	host, port := h, "2181"
	switch {
	case strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]"):
		host = h[1 : len(h)-1]
	case strings.HasPrefix(h, "[") || strings.Count(h, ":") == 1:
		var err error
		if host, port, err = net.SplitHostPort(h); err != nil {
			return "", fmt.Errorf("not host:port")
		}
	}
	if host == "" {
		return "", fmt.Errorf("no host")
	}
	if strings.ContainsAny(host, "[]") {
		return "", fmt.Errorf("brackets stand around an IPv6 address")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("the port is not a number from 1 to 65535")
	}
	return net.JoinHostPort(host, port), nil
}
