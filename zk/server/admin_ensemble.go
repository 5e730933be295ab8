package server

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/pelton-broker/pelton/zk/ensemble"
)

var (
	// errNoView is Apache's sentence of a server alone.
	errNoView = errors.New("server is not initialized")
	// errNotServing is Apache's sentence of a member without a leader.
	errNotServing = errors.New("This ZooKeeper instance is not currently serving requests")
)

// mute is true when the admin server must not answer a command: the member has no leader.
func (l *loop) mute(command string) bool {
	if l.ens == nil || l.ens.serving {
		return false
	}
	switch command {
	case "get_trace_mask", "set_trace_mask", "stmk", "environment", "envi", "system_properties", "ruok":
		return false
	}
	return true
}

func (l *loop) adminLeader(func(string) string) (object, error) {
	if l.ens == nil {
		return nil, errNoView
	}
	id := int64(l.ens.member.Leader()) - 1
	list, _ := l.ens.member.Servers()
	host := ""
	for _, s := range list {
		if int64(s.ID) == id {
			host = s.Host
		}
	}
	return object{{"is_leader", l.mode() == "leader"}, {"leader_id", id}, {"leader_ip", host}}, nil
}

// adminObservers lists the observers that the leader sends to.
func (l *loop) adminObservers(func(string) string) (object, error) {
	list := []any{}
	if l.ens != nil && l.mode() == "leader" {
		for _, o := range l.ens.member.Observers() {
			list = append(list, object{{"remote_socket_address", "/" + o.Remote}, {"sid", o.ID}, {"established", o.SinceMs}, {"queued_packets", o.Queued},
				{"queued_packets_size", o.QueuedBytes}, {"packets_received", o.Received}, {"packets_sent", o.Sent}, {"requests", o.Requests}, {"last_zxid", -1}})
		}
	}
	return object{{"synced_observers", len(list)}, {"observers", list}}, nil
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

func (l *loop) adminVotingView(func(string) string) (object, error) {
	view := object{}
	if l.ens != nil {
		list, _ := l.ens.member.Servers()
		for _, s := range list {
			if !s.Observer {
				view = append(view, field{fmt.Sprint(s.ID), object{{"server_addresses", []any{hostPort(s.Host, s.Peer)}},
					{"election_addresses", []any{hostPort(s.Host, s.Election)}}, {"client_address", s.Client}, {"learner_type", "participant"}}})
			}
		}
	}
	return object{{"current_config", view}}, nil
}

// addresses shows one address as ZooKeeper shows a server's several ones.
func addresses(host string, port int) object {
	at := hostPort(host, port)
	one := []any{at}
	return object{{"empty", false}, {"all_addresses", one}, {"wildcard_addresses", []any{hostPort("0.0.0.0", port)}}, {"all_ports", []any{port}},
		{"all_host_strings", []any{host}}, {"reachable_address", at}, {"all_reachable_addresses", one}, {"all_reachable_addresses_or_all", one},
		{"reachable_or_one", at}, {"one", at}}
}

func (l *loop) adminZabState(func(string) string) (object, error) {
	if l.ens == nil {
		return object{{"voting", false}, {"zabstate", ""}}, nil
	}
	me := l.me()
	zxid := l.tree.Zxid
	return object{{"myid", me.ID}, {"is_leader", l.mode() == "leader"}, {"quorum_address", addresses(me.Host, me.Peer)},
		{"election_address", addresses(me.Host, me.Election)}, {"client_address", l.srv.Addr().String()}, {"voting", !me.Observer},
		{"last_zxid", fmt.Sprintf("0x%x", uint64(zxid))}, {"zab_epoch", zxid >> 32}, {"zab_counter", zxid & 0xFFFFFFFF}, {"zabstate", "broadcast"}}, nil
}

// me is this member's line as the ensemble has agreed on it, or as its file says.
func (l *loop) me() ensemble.Server {
	list, _ := l.ens.member.Servers()
	for _, s := range list {
		if s.ID == l.o.Ensemble.MyID {
			return s
		}
	}
	return l.o.Ensemble.Me()
}
