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

// proposalSizes is what a leader tells besides.
func (l *loop) proposalSizes() string {
	if l.ens == nil || l.mode() != "leader" {
		return ""
	}
	p := l.ens.member.Proposals
	return fmt.Sprintf("Proposal sizes last/min/max: %d/%d/%d\n", p.Last, p.Min, p.Max)
}

// peerState puts what mntr says of an ensemble in words.
func (l *loop) peerState(put func(string, any)) {
	if l.ens == nil {
		return
	}
	switch l.mode() {
	case "leader":
		put("peer_state", "leading - broadcast")
	case "follower":
		put("peer_state", "following - broadcast")
	case "observer":
		put("peer_state", "observing - broadcast")
		put("observer_master_id", int64(l.ens.member.Leader())-1)
	}
}

// ensembleGauges are the numbers that only members have, by their role.
func (l *loop) ensembleGauges() []metric {
	if l.ens == nil {
		return nil
	}
	var out []metric
	put := func(name string, v int64) { out = append(out, metric{name: name, kind: "gauge", value: float64(v)}) }
	m := l.ens.member
	voters, _ := m.Size()
	put("quorum_size", int64(voters))
	switch l.mode() {
	case "follower":
		if l.o.Admin.Metrics { // Apache's default provider has it of leaders only
			put("synced_observers", 0)
		}
	case "leader":
		followers, observers, synced := m.Followers()
		put("learners", int64(followers+observers))
		put("synced_followers", int64(synced))
		put("synced_non_voting_followers", 0)
		put("synced_observers", int64(observers))
		put("pending_syncs", int64(len(l.ens.syncs)))
		put("leader_uptime", l.nowMs-l.ens.servingMs)
		put("last_proposal_size", m.Proposals.Last)
		put("min_proposal_size", m.Proposals.Min)
		put("max_proposal_size", m.Proposals.Max)
	}
	return out
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
