package api

import (
	"sync/atomic"

	"github.com/pelton-broker/pelton/controller/group"
	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/reactor/coord"
	"github.com/pelton-broker/pelton/reactor/wire"
)

// groupCall takes a coordinator's answer back to a handler. It is called once, on whichever goroutine has the answer.
type groupCall struct{ fn func(a group.Answer) }

// Answer implements coord.Caller.
func (c *groupCall) Answer(a group.Answer) { c.fn(a) }

// answerTo is the Ref of an input whose answer is a T.
func answerTo[T group.Answer](fn func(a T)) group.Ref {
	return &groupCall{fn: func(a group.Answer) { fn(a.(T)) }}
}

// askGroup gives an input to the coordinator of a group; one that is not here refuses in the input's own way.
func (b *Broker) askGroup(id string, in group.Input) {
	b.OnCoordinator(id, func(c *coord.Host, _ wire.Code) {
		if c != nil {
			c.Do(in)
			return
		}
		r := group.Refuse(in, group.ErrNotCoordinator)
		r.To.(coord.Caller).Answer(r.Answer)
	})
}

// gather waits for several answers that come on several shards, each into a slot of its own.
type gather struct {
	left atomic.Int32
	done func()
}

// newGather calls done after n calls of one, at once for none.
func newGather(n int, done func()) *gather {
	g := &gather{done: done}
	g.left.Store(int32(n) + 1)
	g.one()
	return g
}

func (g *gather) one() {
	if g.left.Add(-1) == 0 {
		g.done()
	}
}

// namedTopic finds a topic by name or, from the version on that has ids instead, by id.
func (r *Route) namedTopic(byID bool, name string, id [16]byte) (*topicRoute, wire.Code) {
	if byID {
		if t := r.byID[meta.ID(id)]; t != nil {
			return t, wire.None
		}
		return nil, wire.UnknownTopicID
	}
	if t := r.topics[name]; t != nil {
		return t, wire.None
	}
	return nil, wire.UnknownTopicOrPartition
}

// clientHost is an address as Java prints one, which is what members are described with.
func (r *Request) clientHost() string { return "/" + javaAddress(r.Remote.Addr()) }
