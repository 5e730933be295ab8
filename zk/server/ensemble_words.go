package server

import (
	"fmt"
	"strings"

	"github.com/pelton-broker/pelton/zk/ensemble"
)

// notServing is what ZooKeeper answers to most words while it has no leader.
const notServing = "This ZooKeeper instance is not currently serving requests\n"

// silent is true when a word must not be answered: the server has no leader.
func (l *loop) silent(word string) bool {
	if l.ens == nil || l.ens.serving {
		return false
	}
	switch word {
	case "ruok", "envi", "gtmk", "stmk":
		return false
	}
	return true
}

// mode is what words and the admin server call this server.
func (l *loop) mode() string {
	if l.ens == nil {
		return "standalone"
	}
	return l.ens.member.Role()
}

// openSessions are the sessions that a snapshot holds.
func (l *loop) openSessions() map[int64]int32 {
	if l.ens != nil {
		return l.ens.member.OpenSessions()
	}
	return l.sessions.Timeouts()
}

// quorum puts what mntr says of an ensemble.
func (l *loop) quorum(put func(string, any)) {
	if l.ens == nil {
		return
	}
	m := l.ens.member
	voters, _ := m.Size()
	put("quorum_size", voters)
	if m.Role() != "leader" {
		put("peer_state", map[string]string{"follower": "following - broadcast", "observer": "observing - broadcast"}[m.Role()])
		return
	}
	followers, observers, synced := m.Followers()
	put("peer_state", "leading - broadcast")
	put("learners", followers+observers)
	put("synced_followers", synced)
	put("synced_non_voting_followers", 0)
	put("synced_observers", observers)
	put("pending_syncs", len(l.ens.syncs))
	put("leader_uptime", l.nowMs-l.ens.servingMs)
}

// membership is what conf says of an ensemble.
func (l *loop) membership() string {
	if l.ens == nil {
		return ""
	}
	c := l.o.Ensemble
	me := c.Me()
	kind := 0
	if me.Observer {
		kind = 1
	}
	var b strings.Builder
	fmt.Fprintf(&b, "initLimit=%d\nsyncLimit=%d\nelectionAlg=3\nelectionPort=%d\nquorumPort=%d\npeerType=%d\nmembership: \n", c.InitLimit, c.SyncLimit, me.Election, me.Peer, kind)
	b.WriteString(ensemble.ConfigText(l.ens.member.Servers()) + "\n")
	return b.String()
}
