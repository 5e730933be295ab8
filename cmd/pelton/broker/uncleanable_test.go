package broker_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A partition whose cleaning meets damage is shown with the cause and never stands in the way of the others.
func TestUncleanablePartitionIsShownAndBlocksNobody(t *testing.T) {
	n := own(t, "admin.listener=127.0.0.1:0", "log.cleaner.threads=1")
	c := n.dial(t)
	for _, name := range []string{"bad", "good"} {
		makeTopic(t, c, name, 1, "segment.bytes=2000")
		for i := range 30 {
			mustProduce(c, name, builder(0, record{key: fmt.Sprint(i % 2), value: strings.Repeat("x", 300)}).Bytes())
		}
	}
	dir := filepath.Join(n.keys["log.dirs"], "bad-0")
	path := filepath.Join(dir, "00000000000000000000.log")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-5] ^= 0xff
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(b[len(b)-5:len(b)-4], int64(len(b)-5)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bad", "good"} {
		want(t, "code", alter(c, name, "segment.bytes", "2000", "cleanup.policy", "compact"), 0)
	}
	logs := `{dir="` + n.keys["log.dirs"] + `"}`
	eventually(t, "the damaged partition is marked", func() bool { return n.page(t)["broker_logdir_uncleanable_count"+logs] == 1 })
	eventually(t, "the other one is cleaned", func() bool { return len(readAll(c, "good", 0, 0)) < 15 })
	page := n.page(t)
	if page["broker_logdir_uncleanable_bytes"+logs] <= 0 {
		t.Error("it keeps no dirty bytes")
	}
	shown := false
	for line := range page {
		shown = shown || strings.HasPrefix(line, `broker_log_uncleanable_bytes{topic="bad",partition="0",cause="`) && strings.Contains(line, "00000000000000000000.log")
	}
	if !shown {
		t.Error("the cause is not on the page")
	}
	want(t, "records of the damaged one", len(bytes.TrimSpace(fetch(c, "bad", 29).RecordBatches)) > 0, true)
}
