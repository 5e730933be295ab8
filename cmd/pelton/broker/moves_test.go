package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// twoDirs is the setting of a second log directory, and the names of both.
func twoDirs(t *testing.T) (setting string, dirs [2]string) {
	root := t.TempDir()
	dirs = [2]string{filepath.Join(root, "a"), filepath.Join(root, "b")}
	return "log.dirs=" + dirs[0] + "," + dirs[1], dirs
}

// alterDirs asks for partition 0 of a topic to lie in dir.
func alterDirs(c *conn, topic, dir string) int16 {
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	d := kmsg.NewAlterReplicaLogDirsRequestDir()
	d.Dir = dir
	d.Topics = append(d.Topics, kmsg.AlterReplicaLogDirsRequestDirTopic{Topic: topic, Partitions: []int32{0}})
	req.Dirs = append(req.Dirs, d)
	return ask[*kmsg.AlterReplicaLogDirsResponse](c, 2, req).Topics[0].Partitions[0].ErrorCode
}

// where tells in which directories partition 0 of a topic is: the current one, and the one that it goes to with what is missing there.
func where(c *conn, topic string) (current, future string, lag int64) {
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = append(req.Topics, kmsg.DescribeLogDirsRequestTopic{Topic: topic, Partitions: []int32{0}})
	for _, d := range ask[*kmsg.DescribeLogDirsResponse](c, 4, req).Dirs {
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				if p.IsFuture {
					future, lag = d.Dir, p.OffsetLag
				} else {
					current = d.Dir
				}
			}
		}
	}
	return current, future, lag
}

// awaitMove returns when a topic's partition lies in dir and nowhere else.
func awaitMove(t *testing.T, c *conn, topic, dir string) {
	t.Helper()
	eventually(t, "the move to "+dir, func() bool {
		current, future, _ := where(c, topic)
		return current == dir && future == ""
	})
}

// slowMoves bounds the moves of a broker; 0 takes the bound away.
func slowMoves(t *testing.T, c *conn, bytesPerSecond int) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, "0"
	r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: "replica.alter.log.dirs.io.max.bytes.per.second", Value: kmsg.StringPtr(fmt.Sprint(bytesPerSecond))})
	if bytesPerSecond == 0 {
		r.Configs[0].Op, r.Configs[0].Value = kmsg.IncrementalAlterConfigOpDelete, nil
	}
	req.Resources = append(req.Resources, r)
	want(t, "the bound on moves", ask[*kmsg.IncrementalAlterConfigsResponse](c, 1, req).Resources[0].ErrorCode, 0)
}

// A partition goes from one directory to the other and back while it is written and read; every record is there once.
func TestMoveUnderAWriterAndAReader(t *testing.T) {
	setting, dirs := twoDirs(t)
	n := own(t, setting, "log.segment.delete.delay.ms=0")
	c, writer := n.dial(t), n.dial(t)
	name := topic(t, c, 1, "segment.bytes=1000000")
	from, _, _ := where(c, name)
	to := dirs[0]
	if from == to {
		to = dirs[1]
	}
	stop, wrote := make(chan struct{}), make(chan int)
	go func() {
		i := 0
		for ; ; i++ {
			select {
			case <-stop:
				wrote <- i
				return
			default:
			}
			if base := mustProduce(writer, name, values(fmt.Sprint(i, strings.Repeat("x", 300)))); base != int64(i) {
				t.Errorf("record %d got offset %d", i, base)
			}
		}
	}()
	for range 3 {
		want(t, "moving there", alterDirs(c, name, to), 0)
		awaitMove(t, c, name, to)
		want(t, "moving back", alterDirs(c, name, from), 0)
		awaitMove(t, c, name, from)
	}
	close(stop)
	total := <-wrote
	got := readAll(c, name, 0, 0)
	want(t, "records", len(got), total)
	for i, r := range got {
		if !strings.HasPrefix(r.value, fmt.Sprint(i, "x")) {
			t.Fatalf("offset %d holds %.10q", i, r.value)
		}
	}
	n.restart(t)
	want(t, "records after a restart", len(readAll(n.dial(t), name, 0, 0)), total)
	eventually(t, "the removal of the old directories", func() bool {
		a, _ := filepath.Glob(filepath.Join(dirs[0], "*-delete"))
		b, _ := filepath.Glob(filepath.Join(dirs[1], "*-delete"))
		return len(a)+len(b) == 0
	})
}

// A bound holds a move up, DescribeLogDirs tells what is missing, choosing the old directory ends it, and a stop in between does not.
func TestMoveIsHeldUpToldAndCancelled(t *testing.T) {
	setting, dirs := twoDirs(t)
	n := own(t, setting)
	c := n.dial(t)
	slowMoves(t, c, 1000)
	name := topic(t, c, 1)
	records := values(strings.Repeat("x", 700_000))
	for range 4 {
		mustProduce(c, name, records)
	}
	from, _, _ := where(c, name)
	to := dirs[0]
	if from == to {
		to = dirs[1]
	}
	held := func() {
		t.Helper()
		eventually(t, "the move", func() bool {
			current, future, lag := where(c, name)
			return current == from && future == to && lag < 4
		})
	}
	want(t, "moving", alterDirs(c, name, to), 0)
	held()
	want(t, "the same again", alterDirs(c, name, to), 0)
	want(t, "staying", alterDirs(c, name, from), 0)
	current, future, _ := where(c, name)
	want(t, "current", current, from)
	want(t, "future", future, "")
	left, _ := filepath.Glob(filepath.Join(to, "*-future"))
	want(t, "future directories", len(left), 0)
	want(t, "moving again", alterDirs(c, name, to), 0)
	held()
	n.restart(t)
	c = n.dial(t)
	held()
	mustProduce(c, name, records)
	slowMoves(t, c, 0)
	awaitMove(t, c, name, to)
	want(t, "records", len(readAll(c, name, 0, 0)), 5)
}

func TestAlterReplicaLogDirsRefuses(t *testing.T) {
	setting, dirs := twoDirs(t)
	n := own(t, setting)
	c := n.dial(t)
	name := topic(t, c, 1)
	want(t, "no such directory", alterDirs(c, name, dirs[0]+"x"), 57)
	want(t, "no such topic", alterDirs(c, "later", dirs[1]), 3)
	makeTopic(t, c, "later", 1)
	current, _, _ := where(c, "later")
	want(t, "the directory asked for before the topic was made", current, dirs[1])
	want(t, "too long a name", alterDirs(c, strings.Repeat("x", 240), dirs[1]), 17)
}

// A topic that is deleted while it moves leaves nothing behind.
func TestDeletingATopicThatMoves(t *testing.T) {
	setting, dirs := twoDirs(t)
	n := own(t, setting, "log.segment.delete.delay.ms=0")
	c := n.dial(t)
	slowMoves(t, c, 1000)
	name := topic(t, c, 1)
	for range 3 {
		mustProduce(c, name, values(strings.Repeat("x", 700_000)))
	}
	from, _, _ := where(c, name)
	to := dirs[0]
	if from == to {
		to = dirs[1]
	}
	want(t, "moving", alterDirs(c, name, to), 0)
	eventually(t, "the move", func() bool { _, future, lag := where(c, name); return future == to && lag < 3 })
	deleteTopic(t, c, name)
	eventually(t, "the removal", func() bool {
		for _, dir := range dirs {
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), name) {
					return false
				}
			}
		}
		return true
	})
}
