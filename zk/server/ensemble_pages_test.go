package server

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

// TestEnsembleShowsWhatZooKeeperShows has members of each role: their metrics have the names of Apache's, and the admin server tells who is who.
func TestEnsembleShowsWhatZooKeeperShows(t *testing.T) {
	r := newRig(t, []uint64{1, 2, 3}, map[uint64]bool{3: true})
	r.tune = func(_ int, o *Options) { pages(o) }
	r.start(0, 1, 2)
	lead := r.leader(0, 1)
	follow := 1 - lead
	c := r.dial(2)
	again(t, func() (string, error) {
		return c.Create("/e", []byte("abc"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	})
	again(t, func() ([]byte, error) { b, _, err := c.Get("/e"); return b, err })
	for i, role := range map[int]string{lead: "leader", follow: "follower", 2: "observer"} {
		if got := r.role(i); got != role {
			t.Fatalf("server %d is %s, not %s", i, got, role)
		}
		want := realMetrics(t, role)
		text, _ := fetch(t, fmt.Sprintf("http://%s/metrics", r.servers[i].MetricsAddr()))
		for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
			if want[m[1]] != m[2] {
				t.Errorf("%s: %s is a %s, at ZooKeeper %q", role, m[1], m[2], want[m[1]])
			}
			delete(want, m[1])
		}
		for name := range want {
			t.Errorf("%s: %s is missing", role, name)
		}
		if !strings.Contains(text, "\nwrite_per_namespace_sum{key=\"e\",} 5.0\n") { // the path and three bytes
			t.Errorf("%s: bytes written below /e: %s", role, regexp.MustCompile(`write_per_namespace.*`).FindAllString(text, -1))
		}
		if reads := strings.Contains(text, "\nread_per_namespace_sum{key=\"e\",} 73.0\n"); reads != (i == 2) { // and the stat, where it was read
			t.Errorf("%s: bytes read below /e: %s", role, regexp.MustCompile(`read_per_namespace.*`).FindAllString(text, -1))
		}
		r.checkAdmin(i, role, lead)
	}
	if got := r.word(follow, "dump"); !strings.Contains(got, "Global Sessions(1):\n0x") || !strings.Contains(got, "\t10000ms\n") {
		t.Errorf("dump of a follower: %s", got)
	}
	if got := r.word(lead, "srvr"); !regexp.MustCompile(`(?m)^Proposal sizes last/min/max: \d+/\d+/\d+$`).MatchString(got) {
		t.Errorf("srvr of the leader: %s", got)
	}
}

// checkAdmin looks at the commands that tell of the ensemble.
func (r *rig) checkAdmin(i int, role string, lead int) {
	r.t.Helper()
	me := r.configs[i].Me()
	addr := r.servers[i].AdminAddr()
	for command, wants := range map[string][]string{
		"leader":      {fmt.Sprintf(`"is_leader" : %v,`, i == lead), fmt.Sprintf(`"leader_id" : %d,`, r.configs[lead].MyID), `"leader_ip" : "127.0.0.1",`},
		"voting_view": {`"1" : {`, `"2" : {`, `"learner_type" : "participant"`, fmt.Sprintf(`"client_address" : "%s"`, r.clients[0])},
		"zabstate": {fmt.Sprintf(`"myid" : %d,`, me.ID), fmt.Sprintf(`"one" : "127.0.0.1:%d"`, me.Peer), fmt.Sprintf(`"voting" : %v,`, role != "observer"),
			`"last_zxid" : "0x`, `"zabstate" : "broadcast"`},
		"monitor": {map[string]string{"leader": `"peer_state" : "leading - broadcast"`, "follower": `"peer_state" : "following - broadcast"`,
			"observer": fmt.Sprintf(`"observer_master_id" : %d`, r.configs[lead].MyID)}[role], `"quorum_size" : 2.0`},
	} {
		text, _ := fetch(r.t, fmt.Sprintf("http://%s/commands/%s", addr, command))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				r.t.Errorf("%s of the %s has no %s: %s", command, role, want, text)
			}
		}
	}
	text, _ := fetch(r.t, fmt.Sprintf("http://%s/commands/observers", addr))
	if seen := strings.Contains(text, `"sid" : 3,`); seen != (i == lead) {
		r.t.Errorf("observers of the %s: %s", role, text)
	}
}
