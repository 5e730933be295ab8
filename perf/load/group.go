package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/task"
)

// members is a consumer group at work.
type members struct {
	s       *stage
	from    time.Time
	first   atomic.Int64 // ns from the start to the first record of anybody
	joins   atomic.Int64 // times that a member was given partitions
	seen    atomic.Int64
	polls   *live
	mu      sync.Mutex
	next    map[int32]int64 // by partition: the offset behind the last one seen
	lost    int64
	doubled int64
	stats   *Stats
}

// consumeInGroup shares the topic among members of a group. They commit when partitions leave them, so nothing comes twice unless somebody
// is thrown out; what does is counted, and so is what does not come.
func (s *stage) consumeInGroup(ctx context.Context) (*Result, error) {
	o := s.o
	m := &members{s: s, next: map[int32]int64{}, stats: newStats(nil), polls: &live{}}
	var want int64
	for _, p := range s.partitions {
		m.next[p] = s.starts[p]
		if o.From == "end" {
			m.next[p] = s.ends[p]
		}
		want += s.ends[p] - m.next[p]
	}
	clients := make([]*kgo.Client, o.Connections)
	defer func() {
		for _, c := range clients {
			if c != nil {
				c.CloseAllowingRebalance()
			}
		}
	}()
	for i := range clients {
		var err error
		if clients[i], err = m.join(); err != nil {
			return nil, err
		}
	}
	r := newResult(o)
	if err := r.watch(ctx, m.polls, func() (Outcome, error) { return m.run(ctx, clients, want) }); err != nil {
		return nil, err
	}
	r.Notes = append(r.Notes, fmt.Sprintf("group %s of %d members: first record after %v, partitions given out %d times", o.Group, len(clients),
		time.Duration(m.first.Load()).Round(time.Millisecond), m.joins.Load()))
	err := forget(ctx, clients, o.Group)
	if m.lost+m.doubled > 0 && o.Verify {
		err = errors.Join(err, fmt.Errorf("%w: %d records did not come, %d came again", ErrCounts, m.lost, m.doubled))
	}
	if o.Verify && o.From == "beginning" && o.Duration == 0 && o.Records == 0 && r.Records != want {
		err = errors.Join(err, fmt.Errorf("%w: %d records came, the log holds %d", ErrCounts, r.Records, want))
	}
	return r, err
}

func (m *members) join() (*kgo.Client, error) {
	o := m.s.o
	at := kgo.NewOffset().AtStart()
	if o.From == "end" {
		at = kgo.NewOffset().AtEnd()
	}
	return kgo.NewClient(kgo.SeedBrokers(o.Bootstrap), kgo.ClientID(clientID), kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(o.Topic), kgo.ConsumeResetOffset(at),
		kgo.FetchMaxBytes(int32(o.FetchBytes)), kgo.FetchMaxPartitionBytes(int32(o.FetchBytes)), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { m.joins.Add(1) }),
		kgo.OnPartitionsRevoked(func(ctx context.Context, c *kgo.Client, _ map[string][]int32) { _ = c.CommitUncommittedOffsets(ctx) }))
}

// run polls until all that was there has come, or the time or the count is over.
func (m *members) run(ctx context.Context, clients []*kgo.Client, want int64) (Outcome, error) {
	o := m.s.o
	m.from = time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.Duration > 0 {
		ctx, cancel = context.WithTimeout(ctx, o.Duration)
		defer cancel()
	}
	enough := func() bool {
		n := m.seen.Load()
		return o.Records > 0 && n >= o.Records || o.From == "beginning" && o.Duration == 0 && n >= want
	}
	group := task.NewGroup()
	defer group.Stop()
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Add(1)
		group.Go("member", func(context.Context) {
			defer wg.Done()
			for !enough() && errs[i] == nil && ctx.Err() == nil {
				errs[i] = m.poll(ctx, c)
			}
			cancel() // the others wait for records that do not come
		})
	}
	wg.Wait()
	m.stats.Records = m.seen.Load()
	return Outcome{Stats: m.stats, Elapsed: time.Since(m.from)}, errors.Join(errs...)
}

func (m *members) poll(ctx context.Context, c *kgo.Client) error {
	began := time.Now()
	fetches := c.PollFetches(ctx)
	defer c.AllowRebalance()
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, context.Canceled) && !errors.Is(e.Err, context.DeadlineExceeded) {
			return fmt.Errorf("fetch from partition %d: %w", e.Partition, e.Err)
		}
	}
	n, size := m.take(fetches)
	if n == 0 {
		return nil
	}
	m.first.CompareAndSwap(0, int64(time.Since(m.from)))
	m.polls.count(size)
	m.polls.observe(int64(time.Since(began)))
	m.mu.Lock()
	m.stats.observe(int64(time.Since(began)))
	m.stats.Requests++
	m.stats.Bytes += size
	m.mu.Unlock()
	m.seen.Add(n)
	return nil
}

// take counts records and looks whether each partition's go on where its last ones ended.
func (m *members) take(fetches kgo.Fetches) (n, size int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		n, size = n+1, size+int64(len(r.Key)+len(r.Value))
		due := m.next[r.Partition]
		switch {
		case r.Offset < due:
			m.doubled++
			return
		case r.Offset > due:
			m.lost += r.Offset - due
		}
		m.next[r.Partition] = r.Offset + 1
	})
	return n, size
}

// forget has the members leave and deletes the group, whose offsets nobody wants; one with members of others stays.
func forget(ctx context.Context, clients []*kgo.Client, group string) error {
	for _, c := range clients {
		c.AllowRebalance()
		if err := c.LeaveGroupContext(ctx); err != nil {
			return fmt.Errorf("leaving group %s: %w", group, err)
		}
	}
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(ctx, clients[0])
	if err != nil {
		return fmt.Errorf("deleting group %s: %w", group, err)
	}
	for _, g := range resp.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil && !errors.Is(err, kerr.NonEmptyGroup) && !errors.Is(err, kerr.GroupIDNotFound) {
			return fmt.Errorf("deleting group %s: %w", group, err)
		}
	}
	return nil
}
