package broker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/logstore"
)

// spread makes topics until each of two directories has one, and tells their names by directory.
func spread(t *testing.T, c *conn, dirs [2]string) (names [2]string) {
	t.Helper()
	for i := 0; names[0] == "" || names[1] == ""; i++ {
		name := fmt.Sprint("spread-", i)
		makeTopic(t, c, name, 1)
		at, _, _ := where(c, name)
		for k, dir := range dirs {
			if at == dir {
				names[k] = name
			}
		}
	}
	return names
}

// dirErrors are the codes of DescribeLogDirs, by directory.
func dirErrors(c *conn) map[string]int16 {
	out := map[string]int16{}
	for _, d := range ask[*kmsg.DescribeLogDirsResponse](c, 4, kmsg.NewPtrDescribeLogDirsRequest()).Dirs {
		out[d.Dir] = d.ErrorCode
	}
	return out
}

// A directory that cannot be read at the start takes its partitions offline: they are not made anew elsewhere, the others serve, the controller is
// told, and when it is whole again everything is back.
func TestDirectoryThatFailsAtTheStart(t *testing.T) {
	setting, dirs := twoDirs(t)
	n := own(t, setting, "log.flush.interval.messages=1")
	c := n.dial(t)
	names := spread(t, c, dirs)
	for _, name := range names {
		mustProduce(c, name, values("before"))
	}
	if err := n.end(); err != nil {
		t.Fatal(err)
	}
	meta := filepath.Join(dirs[1], "meta.properties")
	saved, err := os.ReadFile(meta)
	if err == nil {
		err = errors.Join(os.Remove(meta), os.Mkdir(meta, 0o700)) // reading it fails, as on a broken disk; who runs as root may read everything else
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := n.begin(); err != nil {
		t.Fatal(err)
	}
	c = n.dial(t)
	want(t, "the topic of the good directory", mustProduce(c, names[0], values("during")), 1)
	want(t, "producing to the other", produce(c, names[1], values("during")).ErrorCode, 56)
	want(t, "fetching from the other", fetch(c, names[1], 0).ErrorCode, 56)
	codes := dirErrors(c)
	want(t, "the good directory", codes[dirs[0]], 0)
	want(t, "the bad directory", codes[dirs[1]], 56)
	want(t, "moving away", alterDirs(c, names[1], dirs[0]), 56)
	want(t, "moving there", alterDirs(c, names[0], dirs[1]), 56)
	makeTopic(t, c, "made-meanwhile", 1)
	at, _, _ := where(c, "made-meanwhile")
	want(t, "the directory of a new topic", at, dirs[0])
	left, _ := filepath.Glob(filepath.Join(dirs[0], names[1]+"-*"))
	want(t, "directories made anew", len(left), 0)
	z, root := n.coordinator(t)
	eventually(t, "the controller's look at the report", func() bool {
		_, stat, err := z.Get(root + "/log_dir_event_notification")
		return err == nil && stat.Cversion >= 2 && stat.NumChildren == 0
	})
	if err := errors.Join(n.end(), os.Remove(meta), os.WriteFile(meta, saved, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := n.begin(); err != nil {
		t.Fatal(err)
	}
	c = n.dial(t)
	want(t, "records of the good directory", len(readAll(c, names[0], 0, 0)), 2)
	want(t, "records of the other", len(readAll(c, names[1], 0, 0)), 1)
}

// What contradicts the broker, or is in use, refuses the start whole, as Kafka does.
func TestDirectoryThatIsNotOurs(t *testing.T) {
	setting, dirs := twoDirs(t)
	n := own(t, setting)
	if err := n.end(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dirs[1], "meta.properties")
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{"broker.id=0", "broker.id=5"}, {"cluster.id=", "cluster.id=x"}} {
		wrong := strings.Replace(string(saved), change[0], change[1], 1)
		if err := os.WriteFile(path, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := n.begin(); !errors.Is(err, logstore.ErrMeta) {
			t.Errorf("with %s: %v", change[1], err)
		}
	}
	if err := os.WriteFile(path, saved, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.begin(); err != nil {
		t.Fatal(err)
	}
}
