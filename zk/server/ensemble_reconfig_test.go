package server

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

// TestEnsembleTakesItsLeaderOut removes the leader by reconfig: the others elect one, nothing that was answered is lost, and what is left works as an ensemble of two.
func TestEnsembleTakesItsLeaderOut(t *testing.T) {
	r := newRig(t, []uint64{1, 2, 3}, nil)
	r.start(0, 1, 2)
	lead := r.leader(0, 1, 2)
	rest := []int{(lead + 1) % 3, (lead + 2) % 3}
	c := r.dial(rest...)
	super(t, c)
	again(t, func() (string, error) { return c.Create("/kept", []byte("x"), 0, zk.WorldACL(zk.PermAll)) })
	gone := fmt.Sprint(r.configs[lead].MyID)
	_, err := c.IncrementalReconfig(nil, []string{gone}, -1)
	if err != nil && !errors.Is(err, zk.ErrConnectionClosed) { // its answer may fall into the election that follows
		t.Fatal(err)
	}
	config := again(t, func() ([]byte, error) {
		if _, err := c.Sync("/zookeeper/config"); err != nil {
			return nil, err
		}
		b, _, err := c.Get("/zookeeper/config")
		return b, err
	})
	if strings.Contains(string(config), "server."+gone+"=") || strings.Count(string(config), "server.") != 2 {
		t.Fatalf("config: %s", config)
	}
	r.leader(rest...)
	r.stop(lead) // two of two go on without it
	again(t, func() (*zk.Stat, error) { return c.Set("/kept", []byte("y"), -1) })
	if _, err := c.IncrementalReconfig([]string{r.configs[lead].Me().Line()}, nil, -1); err != nil && !errors.Is(err, zk.ErrConnectionClosed) {
		t.Fatalf("back: %v", err)
	}
	r.start(lead)
	if got := r.role(lead); got != "follower" && got != "leader" {
		t.Fatalf("the server that came back is %s", got)
	}
}

// TestReconfigRefusals: what ZooKeeper refuses, with its codes.
func TestReconfigRefusals(t *testing.T) {
	r := newRig(t, []uint64{1, 2, 3}, nil)
	r.start(0, 1, 2)
	r.leader(0, 1, 2)
	c := r.dial(0, 1, 2)
	super(t, c)
	errNoQuorum := errors.New("unknown error: -13") // the library has no name for it
	lines := func(ids ...int) (out []string) {
		for _, i := range ids {
			out = append(out, r.configs[i].Me().Line())
		}
		return out
	}
	for name, try := range map[string]struct {
		run  func() (*zk.Stat, error)
		want error
	}{
		"of another version": {func() (*zk.Stat, error) { return c.Reconfig(lines(0, 1), 77) }, zk.ErrBadVersion},
		"to one":             {func() (*zk.Stat, error) { return c.Reconfig(lines(0), -1) }, zk.ErrBadArguments},
		"to nonsense":        {func() (*zk.Stat, error) { return c.Reconfig([]string{"server.1=here"}, -1) }, zk.ErrBadArguments},
		"with two at a port": {func() (*zk.Stat, error) {
			return c.Reconfig(append(lines(0, 1), strings.Replace(lines(0)[0], "server.1", "server.9", 1)), -1)
		}, zk.ErrBadArguments},
		"without a quorum": {func() (*zk.Stat, error) {
			return c.Reconfig([]string{lines(0)[0], "server.8=127.0.0.1:1:2;127.0.0.1:3", "server.9=127.0.0.1:4:5;127.0.0.1:6"}, -1)
		}, errNoQuorum},
	} {
		if _, err := try.run(); !errors.Is(err, try.want) && fmt.Sprint(err) != fmt.Sprint(try.want) {
			t.Errorf("%s: %v, want %v", name, err, try.want)
		}
	}
	st := again(t, func() (*zk.Stat, error) { return c.Reconfig(lines(0, 1, 2), -1) })
	if _, err := c.Reconfig(lines(0, 1, 2), st.Mzxid); err != nil { // by the version that it has now
		t.Errorf("the members as they are, by version: %v", err)
	}
}

// TestReconfigIsWrittenToTheFiles: FILE.dynamic.VERSION holds the members, and FILE names it and keeps everything else.
func TestReconfigIsWrittenToTheFiles(t *testing.T) {
	r := newRig(t, []uint64{1, 2, 3}, nil)
	dir := t.TempDir()
	static := "# ours\ntickTime=500\nserver.1=old\nclientPort=2181\nzookeeper.server.2 = old\n"
	for i := range r.configs {
		r.configs[i].File = fmt.Sprintf("%s/zoo%d.cfg", dir, i)
		if err := os.WriteFile(r.configs[i].File, []byte(static), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.start(0, 1, 2)
	lead := r.leader(0, 1, 2)
	other := (lead + 1) % 3
	if b, err := os.ReadFile(r.configs[lead].File); err != nil || string(b) != static {
		t.Fatalf("a file is changed before anybody changes the members: %s %v", b, err)
	}
	c := r.dial(lead)
	super(t, c)
	st := again(t, func() (*zk.Stat, error) {
		return c.IncrementalReconfig(nil, []string{fmt.Sprint(r.configs[(lead+2)%3].MyID)}, -1)
	})
	only := r.dial(other)
	again(t, func() (string, error) { return only.Sync("/") })
	want := ""
	for i, cfg := range r.configs {
		if i != (lead+2)%3 {
			want += cfg.Me().Line() + "\n"
		}
	}
	for _, i := range []int{lead, other} {
		file := r.configs[i].File
		dynamic := fmt.Sprintf("%s.dynamic.%x", file, st.Mzxid)
		if b, err := os.ReadFile(dynamic); err != nil || string(b) != want {
			t.Errorf("%s: %q %v, want %q", dynamic, b, err, want)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != "# ours\ntickTime=500\nclientPort=2181\ndynamicConfigFile="+dynamic+"\n" {
			t.Errorf("%s: %q %v", file, b, err)
		}
	}
}
