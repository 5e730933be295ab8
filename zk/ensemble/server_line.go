package ensemble

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Server is one line server.N=host:peer:election[:role][;[address:]client] of a configuration.
type Server struct {
	ID             uint64
	Host           string
	Peer, Election int
	Observer       bool
	Client         string // address:port, empty when the line says nothing of it
}

// ParseServer reads what stands behind server.N=. Of several addresses separated by | the first is taken.
func ParseServer(id uint64, text string) (Server, error) {
	s := Server{ID: id}
	quorum, client, hasClient := strings.Cut(strings.TrimSpace(text), ";")
	quorum, _, _ = strings.Cut(quorum, "|")
	parts := splitAddress(quorum)
	bad := func(why string) (Server, error) {
		return s, fmt.Errorf("%w: server.%d=%s: %s; it must be host:port:port[:participant|observer][;[address:]port]", ErrConfig, id, text, why)
	}
	if len(parts) < 3 || len(parts) > 4 || parts[0] == "" {
		return bad("not three or four parts")
	}
	if s.Host = parts[0]; strings.ContainsAny(s.Host, " \t\r\n[]") {
		return bad("no host")
	}
	var err error
	if s.Peer, err = port(parts[1]); err != nil {
		return bad(err.Error())
	}
	if s.Election, err = port(parts[2]); err != nil {
		return bad(err.Error())
	}
	if len(parts) == 4 {
		switch strings.ToLower(parts[3]) {
		case "observer":
			s.Observer = true
		case "participant":
		default:
			return bad("unknown role " + parts[3])
		}
	}
	if hasClient {
		at := splitAddress(client)
		if len(at) == 1 {
			at = []string{"0.0.0.0", at[0]}
		}
		if len(at) != 2 {
			return bad("client address")
		}
		if _, err := port(at[1]); err != nil {
			return bad(err.Error())
		}
		s.Client = net.JoinHostPort(at[0], at[1])
	}
	return s, nil
}

// splitAddress cuts at colons outside brackets, which it takes away.
func splitAddress(s string) []string {
	var out []string
	for s != "" {
		if rest, ok := strings.CutPrefix(s, "["); ok {
			host, after, _ := strings.Cut(rest, "]")
			out = append(out, host)
			s = strings.TrimPrefix(after, ":")
			continue
		}
		part, after, more := strings.Cut(s, ":")
		out = append(out, part)
		if more && after == "" {
			out = append(out, "")
		}
		s = after
	}
	return out
}

func port(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%q is no port", s)
	}
	return n, nil
}

// Line is the server as /zookeeper/config shows it.
func (s Server) Line() string {
	role := "participant"
	if s.Observer {
		role = "observer"
	}
	host := s.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	line := fmt.Sprintf("server.%d=%s:%d:%d:%s", s.ID, host, s.Peer, s.Election, role)
	if s.Client != "" {
		line += ";" + s.Client
	}
	return line
}

// PeerAddr is where the other members reach it.
func (s Server) PeerAddr() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Peer)) }

// ServerID reads the N of server.N, also when it is written alone.
func ServerID(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(text), "server."), 10, 64)
	if err != nil || n > 255 {
		return 0, fmt.Errorf("%w: %q is no server number from 0 to 255", ErrConfig, text)
	}
	return n, nil
}

// raftID: raft knows no number 0, ZooKeeper does.
func raftID(n uint64) uint64 { return n + 1 }

// ConfigText is the content of /zookeeper/config.
func ConfigText(list []Server, version int64) string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Server) int { return int(a.ID) - int(b.ID) })
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s.Line() + "\n")
	}
	fmt.Fprintf(&b, "version=%x", uint64(version))
	return b.String()
}

// ParseConfigText reads it back; lines that say something else are passed over.
func ParseConfigText(text string) (list []Server, version int64, err error) {
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok {
			continue
		}
		if key == "version" {
			v, err := strconv.ParseUint(value, 16, 64)
			if err != nil {
				return nil, 0, fmt.Errorf("%w: version=%s", ErrConfig, value)
			}
			version = int64(v)
			continue
		}
		if !strings.HasPrefix(key, "server.") {
			continue
		}
		id, err := ServerID(key)
		if err != nil {
			return nil, 0, err
		}
		s, err := ParseServer(id, value)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, s)
	}
	return list, version, nil
}

// checkServers says whether the servers make an ensemble: numbers and addresses once each, one participant at least.
func checkServers(list []Server) error {
	ids, addrs := map[uint64]bool{}, map[string]bool{}
	voters := 0
	for _, s := range list {
		if ids[s.ID] {
			return fmt.Errorf("%w: server.%d twice", ErrConfig, s.ID)
		}
		ids[s.ID] = true
		for _, p := range []int{s.Peer, s.Election} {
			at := net.JoinHostPort(s.Host, strconv.Itoa(p))
			if addrs[at] {
				return fmt.Errorf("%w: %s twice", ErrConfig, at)
			}
			addrs[at] = true
		}
		if !s.Observer {
			voters++
		}
	}
	if voters == 0 {
		return fmt.Errorf("%w: no participant", ErrConfig)
	}
	return nil
}
