package group

import "encoding/binary"

// computeSubscribed recomputes the topics that the members read. It is nil, unknown, unless the group is of consumers
// and every member's metadata can be read: then no topic counts as unsubscribed.
func (g *group) computeSubscribed() {
	g.subscribed = nil
	if g.protocolType == nil || *g.protocolType != consumerType {
		return
	}
	topics := map[string]struct{}{}
	if len(g.members) > 0 && g.protocol == nil {
		return
	}
	for _, m := range g.members {
		if !subscriptionTopics(m.metadata(*g.protocol), topics) {
			return
		}
	}
	g.subscribed = topics
}

func (g *group) isSubscribed(topic string) bool {
	if g.subscribed == nil {
		return true
	}
	_, ok := g.subscribed[topic]
	return ok
}

// subscriptionTopics adds the topics of a consumer's subscription to out. It reads version 0, which starts every later
// one: version, count, names. False when the bytes are not that.
func subscriptionTopics(b []byte, out map[string]struct{}) bool {
	if len(b) < 6 || int16(binary.BigEndian.Uint16(b)) < 0 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	if n < 0 || int(n) > len(b)/2 {
		return false
	}
	for range n {
		if len(b) < 2 {
			return false
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if b = b[2:]; size < 0 || size > len(b) {
			return false
		}
		out[string(b[:size])] = struct{}{}
		b = b[size:]
	}
	return true
}
