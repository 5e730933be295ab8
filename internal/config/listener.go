package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Listener is one address with the name that Kafka gives it.
type Listener struct {
	Name     string // PLAINTEXT, or the operator's own
	Protocol string // what listener.security.protocol.map makes of the name
	Host     string // empty: every interface; advertised: this machine's name
	Port     int    // 0: a free one
}

// String is the listener as configuration writes it.
func (l Listener) String() string {
	return l.Name + "://" + net.JoinHostPort(l.Host, strconv.Itoa(l.Port))
}

// Listeners are the addresses to listen on.
func (b *Broker) Listeners() []Listener {
	out, _ := b.parseListeners("listeners")
	return out
}

// Advertised are the addresses told to clients: those of listeners when advertised.listeners is not set.
func (b *Broker) Advertised() []Listener {
	if !b.Set("advertised.listeners") {
		return b.Listeners()
	}
	out, _ := b.parseListeners("advertised.listeners")
	return out
}

// InterBroker is the name of the listener that brokers use among themselves.
func (b *Broker) InterBroker() string {
	if b.Set("inter.broker.listener.name") {
		return b.Str("inter.broker.listener.name")
	}
	return b.Str("security.inter.broker.protocol")
}

func (b *Broker) parseListeners(key string) ([]Listener, error) {
	protocols := map[string]string{}
	for _, e := range splitList(b.Str("listener.security.protocol.map")) {
		name, protocol, ok := strings.Cut(e, ":")
		if !ok {
			return nil, &ValueError{Key: "listener.security.protocol.map", Value: e, Why: "must be NAME:PROTOCOL,..."}
		}
		protocols[strings.ToUpper(name)] = strings.ToUpper(protocol)
	}
	quorum := splitList(strings.ToUpper(b.Str("controller.listener.names"))) // of KRaft's controller, which Pelton is none of
	var out []Listener
	for _, e := range splitList(b.Str(key)) {
		l, err := parseListener(key, e)
		if err != nil {
			return nil, err
		}
		if slices.Contains(quorum, l.Name) {
			continue
		}
		protocol, ok := protocols[l.Name]
		if !ok {
			return nil, &ValueError{Key: key, Value: e, Why: "no security protocol is defined for listener " + l.Name + " in listener.security.protocol.map"}
		}
		l.Protocol = protocol
		out = append(out, l)
	}
	return out, nil
}

func parseListener(key, text string) (Listener, error) {
	bad := func(why string) (Listener, error) { return Listener{}, &ValueError{Key: key, Value: text, Why: why} }
	name, address, ok := strings.Cut(text, "://")
	if !ok || name == "" {
		return bad("must be NAME://host:port")
	}
	host, portText, ok := cutLast(address, ':')
	if !ok {
		return bad("must end in :port")
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return bad("port must be 0 to 65535")
	}
	if strings.HasPrefix(host, "[") != strings.HasSuffix(host, "]") || strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return bad("an IPv6 address must stand in [ ]")
	}
	return Listener{Name: strings.ToUpper(name), Host: strings.Trim(host, "[]"), Port: port}, nil
}

// cutLast cuts at the last sep.
func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// checkListeners is what must hold among the listeners.
func (b *Broker) checkListeners() error {
	own, err := b.parseListeners("listeners")
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return &ValueError{Key: "listeners", Value: b.Str("listeners"), Why: "needs one listener at least"}
	}
	names, places := map[string]bool{}, map[string]bool{}
	for _, l := range own {
		place := net.JoinHostPort(l.Host, strconv.Itoa(l.Port))
		switch {
		case l.Protocol != "PLAINTEXT":
			return &ValueError{Key: "listeners", Value: l.String(), Why: "security protocol " + l.Protocol + " is not served yet; only PLAINTEXT is"}
		case names[l.Name]:
			return &ValueError{Key: "listeners", Value: b.Str("listeners"), Why: "each listener must have a different name"}
		case l.Port != 0 && places[place]:
			return &ValueError{Key: "listeners", Value: b.Str("listeners"), Why: "each listener must have a different port"}
		}
		names[l.Name], places[place] = true, true
	}
	told, err := b.parseListeners("advertised.listeners")
	if err != nil {
		return err
	}
	for _, l := range told {
		switch {
		case l.Host == "0.0.0.0" || l.Host == "::":
			return &ValueError{Key: "advertised.listeners", Value: l.String(), Why: "clients cannot connect to the meta-address; give an address of this machine"}
		case !names[l.Name]:
			return &ValueError{Key: "advertised.listeners", Value: l.String(), Why: "listener " + l.Name + " is not in listeners"}
		}
	}
	if name := b.InterBroker(); !names[strings.ToUpper(name)] {
		return &ValueError{Key: "inter.broker.listener.name", Value: name, Why: fmt.Sprintf("is not among the listeners (%s)", b.Str("listeners"))}
	}
	return nil
}
