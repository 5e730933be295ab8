package broker_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// syncs is how many syncs of logs the shards' disks have done.
func (n *node) syncs(t *testing.T) (total float64) {
	t.Helper()
	for name, v := range n.page(t) {
		if strings.HasPrefix(name, "broker_disk_operations_total{") && strings.Contains(name, `kind="sync"`) {
			total += v
		}
	}
	return total
}

// With flush.messages=1 each acknowledged request has had its sync, from creation on or from the change on; without it none has.
func TestProduceSyncsBeforeItAnswers(t *testing.T) {
	for _, backend := range []string{"auto", "portable"} {
		t.Run(backend, func(t *testing.T) {
			n := own(t, quiet("admin.listener=127.0.0.1:0", "pelton.disk.backend="+backend)...)
			c := n.dial(t)
			durable, plain := topic(t, c, 1, "flush.messages=1"), unique(t)+"-plain"
			makeTopic(t, c, plain, 1)
			grows := func(what, name string, by float64) {
				t.Helper()
				for range 3 {
					before := n.syncs(t)
					mustProduce(c, name, values("v"))
					want(t, "syncs of "+what, n.syncs(t)-before, by)
				}
			}
			grows("a durable topic", durable, 1)
			grows("another topic", plain, 0)
			want(t, "set", change(c, plain, kmsg.IncrementalAlterConfigOpSet, "flush.messages", "1"), 0)
			eventually(t, "the change has come", func() bool {
				before := n.syncs(t)
				mustProduce(c, plain, values("v"))
				return n.syncs(t) > before
			})
			grows("a topic that was made durable", plain, 1)
		})
	}
}
