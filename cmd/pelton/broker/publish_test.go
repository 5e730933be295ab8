package broker_test

import "testing"

// An image costs what it changes: making a topic beside one of many partitions is no mail to each of those.
func TestNewTopicDoesNotDisturbOthers(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	big := topic(t, c, 200)
	posts := func() (sum uint64) {
		for _, s := range n.broker.Counters() {
			sum += s.Posts
		}
		return sum
	}
	last := uint64(0)
	eventually(t, "the jobs of the new partitions are done", func() bool {
		before := last
		describe(c, big)
		last = posts()
		return last-before < 10
	})
	before := posts()
	small := big + "-small"
	makeTopic(t, c, small, 1)
	if d := posts() - before; d >= 200 {
		t.Errorf("%d pieces of mail for a topic of one partition beside one of 200", d)
	}
	for _, name := range []string{big, small} {
		want(t, "produce", produceTo(c, name, 0, values("v")).ErrorCode, 0)
	}
	deleteTopic(t, c, big)
	mustProduce(c, small, values("w"))
	makeTopic(t, c, big, 3)
	want(t, "produce after making anew", produceTo(c, big, 2, values("v")).ErrorCode, 0)
}
