package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Without a quota a request costs a look: nothing is allocated, and no lock is taken, since there is no book to take one in. With book nil
// every step towards a meter would end the test.
func TestNoQuotaCostsNothing(t *testing.T) {
	b := &Broker{}
	l := &Local{broker: b}
	s := &Session{local: l}
	p, f := &produce{sess: s, local: l}, &fetch{sess: s, local: l}
	f.req.MaxBytes = 100
	r := &Request{session: s}
	client := []byte("client")
	answer := kmsg.NewPtrMetadataResponse()
	n := testing.AllocsPerRun(1000, func() {
		s.identify(client)
		p.begunNs = s.clocked()
		p.charge()
		f.boundByQuota()
		f.charge()
		r.run()
		r.rest()
		r.charge(answer)
		s.mute(r.throttleMs)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	if p.begunNs != 0 || p.throttleMs != 0 || f.throttleMs != 0 || f.req.MaxBytes != 100 || answer.ThrottleMillis != 0 {
		t.Error("something was measured or limited")
	}
	if m := b.mutationOf(r, 0); m != nil || m.record(5) != nil {
		t.Error("changes of topics are limited")
	}
}
