package api

import (
	"encoding/binary"
	"net/netip"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/pelton-broker/pelton/internal/invariant"
	"github.com/pelton-broker/pelton/reactor"
)

// Request is a request of the slow path: everything but Produce and Fetch. Its message is a copy,
// the frame is gone.
type Request struct {
	Key, Version int16
	Corr         int32
	ClientID     string
	Principal    string
	Remote       netip.AddrPort
	Listener     int
	Msg          kmsg.Request

	slot    slot
	session *Session
	home    *reactor.Shard
	startNs int64
	frame   []byte // the encoded answer; empty: none is sent
	replied bool
	// failed are the error codes of the answer.
	failed []int16
	// cost is what the request holds of its shard's budget for decoded requests.
	cost int64
	// direct: the handler runs synchronously on the connection's shard.
	direct bool
	// alone: what the connection sent behind the request waits for its answer.
	alone bool

	user string
	// meter is the client's quota on thread time; usedNs is what was used of it until the request rested, runNs since when it runs.
	meter         metered
	usedNs, runNs int64
	throttleMs    int64 // how long the client has to wait after the answer
}

// Session gives the connection's session to handlers that run on its shard.
func (r *Request) Session() *Session { return r.session }

// Reply answers the request. It must be called exactly once, from any goroutine or shard; for
// rows marked OnConn from within the handler.
func (r *Request) Reply(resp kmsg.Response) { r.ReplyAs(r.Version, resp) }

// ReplyAs answers in another version than the request's, as ApiVersions must for versions it does not know.
func (r *Request) ReplyAs(version int16, resp kmsg.Response) {
	resp.SetVersion(version)
	r.charge(resp)
	r.failed = r.session.local.broker.table.codes[r.Key].failures(reflect.ValueOf(resp).Elem(), nil)
	r.frame = encodeReply(r.Corr, resp, responseFlexible(r.Key, resp))
	r.finish()
}

// NoReply gives up the request's place without an answer.
func (r *Request) NoReply() { r.finish() }

func (r *Request) finish() {
	if r.replied {
		invariant.Broken("api: a request was answered twice", r.Key, r.Version, r.Corr)
	}
	r.replied = true
	if r.direct {
		r.settle()
		return
	}
	r.home.Post(r)
}

// Deliver implements reactor.Message on the connection's shard.
func (r *Request) Deliver(*reactor.Shard) { r.settle() }

func (r *Request) settle() {
	r.giveBack()
	l := r.session.local
	l.observe(r.Key, l.shard.Now()-r.startNs)
	l.countErrors(r.Key, r.failed)
	r.session.mute(r.throttleMs)
	r.session.settle(&r.slot)
	if r.alone {
		r.session.lower()
	}
}

func (r *Request) send(s *Session) {
	if len(r.frame) > 0 {
		s.local.countAnswer(r.Key, int64(len(r.frame)))
		s.conn.Out().Borrow(r.frame, nothing{})
	}
}

func (r *Request) drop(*Session)    {}
func (r *Request) abandon(*Session) {} // its handler ends by itself and is dropped then

// nothing is the releaser of memory that the collector owns.
type nothing struct{}

// Release implements netpoll.Releaser.
func (nothing) Release() {}

// responseFlexible tells whether the response header carries tags; ApiVersions' never does (KIP-511).
func responseFlexible(key int16, resp kmsg.Response) bool {
	return key != int16(kmsg.ApiVersions) && resp.IsFlexible()
}

func encodeReply(corr int32, resp kmsg.Response, flexible bool) []byte {
	b := make([]byte, 8, 256)
	binary.BigEndian.PutUint32(b[4:], uint32(corr))
	if flexible {
		b = append(b, 0)
	}
	b = resp.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
