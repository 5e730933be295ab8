package api

import (
	"errors"
	"maps"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/reactor"
	"github.com/pelton-broker/pelton/reactor/quota"
)

var (
	// errThrottled is returned when a client that still owes partitions asks for changes of more.
	errThrottled = errors.New("the client has changed more partitions than its quota allows; try again after the time that the answer tells")
	// errUnsupported is returned for a kind of entity that this broker does not know.
	errUnsupported = errors.New("api: not supported")
	// errConnectionRate closes a connection of an address that opens more of them than its quota allows.
	errConnectionRate = errors.New("api: the address opens connections faster than its quota allows")
)

// metered is a meter and what it may reach; the zero value means that no quota applies.
type metered struct {
	meter *quota.Meter
	bound float64
}

// charge adds what was used and returns how many milliseconds the client has to wait.
func (m metered) charge(value float64, nowMs int64) int64 {
	if m.meter == nil {
		return 0
	}
	return m.meter.Charge(m.bound, value, nowMs)
}

// chargeTime charges thread time as percent of one thread. Whoever is over waits for one window at most, as in Kafka.
func (m metered) chargeTime(ns, nowMs int64) int64 {
	if m.meter == nil {
		return 0
	}
	return min(m.meter.Charge(m.bound, percent(ns), nowMs), m.meter.WindowMs())
}

// percent is thread time as the quota of requests counts it: one thread for one second is 100.
func percent(ns int64) float64 { return float64(ns) * 100 / 1e9 }

// usage is what a session knows of the quotas on its client. It is worked out anew when the quotas or the client's name have changed.
type usage struct {
	limits  *quota.Limits
	client  string
	produce metered
	fetch   metered
	request metered
	// mutedNs is until when the connection is not read, 0 when it is.
	mutedNs int64
	unmute  reactor.Timer
}

// user is who the session is, as quotas name users.
func (s *Session) user() string { return "ANONYMOUS" }

// identify finds the quotas of the client that a request names. Without quotas it only looks.
func (s *Session) identify(client []byte) {
	u := &s.usage
	limits := s.local.broker.limits.Load()
	if limits == u.limits && (limits == nil || string(client) == u.client) {
		return
	}
	u.limits, u.client = limits, string(client)
	u.produce = s.meter(u.produce, quota.Produce)
	u.fetch = s.meter(u.fetch, quota.Fetch)
	u.request = s.meter(u.request, quota.Request)
}

// meter gives a meter back and takes the one that counts now.
func (s *Session) meter(old metered, kind quota.Kind) (m metered) {
	book := s.local.broker.book
	tag, bound, ok := s.usage.limits.Find(kind, s.user(), s.usage.client)
	if ok {
		m = metered{book.Hold(tag, s.local.shard.Now()/1e6), bound}
	}
	book.Drop(old.meter)
	return m
}

// dropUsage gives the meters of a session back that is over.
func (s *Session) dropUsage() {
	u := &s.usage
	s.local.shard.Disarm(&u.unmute)
	for _, m := range []metered{u.produce, u.fetch, u.request} {
		if m.meter != nil {
			s.local.broker.book.Drop(m.meter)
		}
	}
	u.produce, u.fetch, u.request = metered{}, metered{}, metered{}
}

// mute stops reading from a connection whose client has used more than it may. What was read from it already waits too.
func (s *Session) mute(ms int64) {
	if ms <= 0 || s.closed {
		return
	}
	u := &s.usage
	now := s.local.shard.Now()
	if now+ms*1e6 <= u.mutedNs {
		return
	}
	if u.mutedNs == 0 {
		s.raise()
		if !s.paused {
			s.paused = true
			s.conn.Pause()
		}
		u.unmute.Fire = s.unmuted
	}
	u.mutedNs = now + ms*1e6
	s.local.shard.Arm(&u.unmute, ms*1e6)
}

func (s *Session) unmuted(*reactor.Shard) {
	s.usage.mutedNs = 0
	s.lower()
}

// clocked is the time for measuring what a request costs; 0 unless its client has a quota on that.
func (s *Session) clocked() int64 {
	if s.usage.request.meter == nil {
		return 0
	}
	return s.local.shard.Clock().Mono()
}

// charge counts an answered request against its client's quotas and says how long that one has to wait.
func (p *produce) charge() {
	p.throttleMs = 0
	u := &p.sess.usage
	if u.limits == nil || p.sess.closed {
		return
	}
	nowMs := p.local.shard.Now() / 1e6
	wait := u.produce.charge(float64(len(p.frame.B)), nowMs)
	if p.req.Acks != 0 { // otherwise Kafka has sent nothing that could tell
		wait = max(wait, u.request.chargeTime(p.usedNs, nowMs))
	}
	p.throttleMs = int32(wait)
	p.sess.mute(wait)
}

// boundByQuota keeps a fetch from asking for more than its client may have in all windows: it would only be made to wait for it.
func (f *fetch) boundByQuota() {
	m := f.sess.usage.fetch
	if m.meter == nil || f.ofBroker() {
		return
	}
	f.req.MaxBytes = min(f.req.MaxBytes, int32(min(m.meter.Most(m.bound), math.MaxInt32)))
	f.req.MinBytes = min(f.req.MinBytes, f.req.MaxBytes, f.local.broker.Options().FetchMaxBytes)
}

// ofBroker tells whether another broker of the cluster replicates: quotas are for clients.
func (f *fetch) ofBroker() bool {
	id := f.req.ReplicaID
	return id >= 0 && id != f.local.broker.Options().BrokerID && f.local.broker.Image().Broker(id) != nil
}

// charge counts an answer against its client's quotas. One that is too much is not sent: the client hears how long it has to wait, and its
// session stays as it is, so that it asks for the same again. A session that this request would have opened is not opened.
func (f *fetch) charge() {
	f.throttleMs = 0
	u := &f.sess.usage
	if u.limits == nil || f.sess.closed || f.ofBroker() {
		return
	}
	nowMs := f.local.shard.Now() / 1e6
	size := float64(f.size())
	wait := max(u.request.chargeTime(f.usedNs, nowMs), u.fetch.charge(size, nowMs))
	if wait == 0 {
		return
	}
	if u.fetch.meter != nil {
		u.fetch.meter.Add(-size, nowMs)
	}
	f.throttleMs = int32(wait)
	if f.full && f.session != nil {
		f.local.dropSession(f.session.id)
		f.session, f.sid = nil, 0
	}
	f.sess.mute(wait)
}

// Sizes of what stands around the records in an answer, for counting: what version 12 and later have, within a few bytes.
const (
	fetchHeadBytes      = 24
	fetchPartitionBytes = 40
	fetchTopicBytes     = 20
	fetchAbortedBytes   = 16
)

// size is about what the answer has in bytes; the records count exactly.
func (f *fetch) size() int64 {
	n := int64(fetchHeadBytes)
	name := ""
	for i := range f.parts {
		p := &f.parts[i]
		if !f.news(p) {
			continue
		}
		if p.name != name {
			n += fetchTopicBytes
			name = p.name
		}
		n += fetchPartitionBytes + p.send + int64(len(p.res.Aborted))*fetchAbortedBytes
	}
	return n
}

// clocked is the time on the pool or the shard for a request of the slow path; 0 unless its client has a quota on that.
func (r *Request) clocked() int64 {
	if r.meter.meter == nil {
		return 0
	}
	return r.session.local.broker.clock.Mono()
}

// run starts the request's clock, rest stops it.
func (r *Request) run() { r.runNs = r.clocked() }

func (r *Request) rest() {
	if r.runNs != 0 {
		r.usedNs += max(0, r.clocked()-r.runNs)
		r.runNs = 0
	}
}

// charge counts the request against its client's quota and tells the answer how long that one has to wait.
func (r *Request) charge(resp kmsg.Response) {
	if r.meter.meter != nil {
		r.rest()
		r.throttleMs = max(r.throttleMs, r.meter.chargeTime(r.usedNs, r.session.local.broker.clock.Mono()/1e6))
	}
	if set, ok := resp.(kmsg.SetThrottleResponse); ok && r.throttleMs > 0 {
		set.SetThrottle(int32(r.throttleMs))
	}
}

// mutation is the quota on what a request changes of topics, in partitions; nil when there is none.
type mutation struct {
	metered
	broker *Broker // not by way of the session: once the request is answered, that may be on its way to another shard
	r      *Request
	// strict: nothing is changed while the client owes; the requests of older versions are let through, and the client waits after them.
	strict bool
}

// mutationOf finds the quota on changes of topics. From strictFrom on a client that owes is refused.
func (b *Broker) mutationOf(r *Request, strictFrom int16) *mutation {
	tag, bound, ok := b.limits.Load().Find(quota.Mutation, r.user, r.ClientID)
	if !ok {
		return nil
	}
	return &mutation{metered{b.book.Hold(tag, b.clock.Mono()/1e6), bound}, b, r, r.Version >= strictFrom}
}

// record counts partitions that are about to change; an error refuses them.
func (m *mutation) record(partitions int) error {
	if m == nil {
		return nil
	}
	wait, taken := m.meter.Take(m.bound, float64(partitions), m.strict, m.broker.clock.Mono()/1e6)
	m.r.throttleMs = max(m.r.throttleMs, wait)
	if !taken {
		return errThrottled
	}
	return nil
}

// close gives the meter back.
func (m *mutation) close() {
	if m != nil {
		m.broker.book.Drop(m.meter)
	}
}

// takeQuotas takes the client quotas of an image.
func (b *Broker) takeQuotas(img *meta.Image) {
	if maps.EqualFunc(b.quotas, img.Quotas, maps.Equal[map[string]string, map[string]string]) {
		return
	}
	b.quotas = img.Quotas
	limits, bad := quota.NewLimits(img.Quotas)
	for _, text := range bad {
		b.log.Warn("a client quota cannot be read and counts as none", "quota", text)
	}
	b.limits.Store(limits)
}

// greet holds up a connection whose address opens more of them than it may: it is not read, and closed when the time is over, so that who
// tries again at once gains nothing.
func (b *Broker) greet(s *Session, c *netpoll.Conn) {
	tag, bound, ok := b.limits.Load().Address(c.Remote.Addr())
	if !ok {
		return
	}
	m := metered{b.book.Hold(tag, s.local.shard.Now()/1e6), bound}
	defer b.book.Drop(m.meter)
	nowMs := s.local.shard.Now() / 1e6
	wait := min(m.charge(1, nowMs), m.meter.WindowMs())
	if wait == 0 {
		return
	}
	m.meter.Add(-1, nowMs) // it does not count: it is not served
	s.mute(wait)
	s.usage.unmute.Fire = func(*reactor.Shard) { c.Close(errConnectionRate) }
}
