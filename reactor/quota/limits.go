package quota

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/controller/meta"
)

// Kind is what a quota is on.
type Kind uint8

// The kinds of quotas.
const (
	Produce  Kind = iota // bytes of produce requests per second
	Fetch                // bytes of fetch answers per second
	Request              // percent of one thread's time
	Mutation             // partitions made and removed per second
	Connect              // connections of an address per second
	kinds
)

// keyOf is the setting that sets a kind.
func keyOf(k Kind) string {
	switch k {
	case Produce:
		return "producer_byte_rate"
	case Fetch:
		return "consumer_byte_rate"
	case Request:
		return "request_percentage"
	case Mutation:
		return "controller_mutation_rate"
	case Connect, kinds:
	}
	return "connection_creation_rate"
}

// Limits are all quotas that are set. They never change; nil are none.
type Limits struct {
	set  [kinds]map[meta.QuotaEntity]float64
	byIP map[netip.Addr]float64
}

// NewLimits reads the quotas of an image: nil when none is set. bad names those that cannot be read.
func NewLimits(quotas map[meta.QuotaEntity]map[string]string) (l *Limits, bad []string) {
	for e, set := range quotas {
		for k := Kind(0); k < kinds; k++ {
			text, is := set[keyOf(k)]
			if !is || (k == Connect) != (e.IP != "") {
				continue
			}
			bound, err := strconv.ParseFloat(text, 64)
			if err != nil || bound < 0 || bound != bound {
				bad = append(bad, fmt.Sprintf("%s=%q of %+v", keyOf(k), text, e))
				continue
			}
			if l == nil {
				l = &Limits{byIP: map[netip.Addr]float64{}}
			}
			if l.set[k] == nil {
				l.set[k] = map[meta.QuotaEntity]float64{}
			}
			l.set[k][e] = bound
			if addr, err := netip.ParseAddr(e.IP); k == Connect && err == nil {
				l.byIP[addr.Unmap()] = bound
			}
		}
	}
	return l, bad
}

// Tag names a meter: a user, a client, or a client of a user; or an address.
type Tag struct {
	Kind         Kind
	User, Client string
	IP           netip.Addr
}

// Find is the quota of a client of a user, and what its use is counted under. The first that is set counts: of the user and the client, of
// the user's clients by default, of the user, of the client whoever uses it, of all users' clients by default, of users by default; then
// those that name no user: of the client, of clients by default. A default is a quota for each one that it covers, not for all together.
func (l *Limits) Find(k Kind, user, client string) (tag Tag, bound float64, ok bool) {
	if l == nil || len(l.set[k]) == 0 {
		return tag, 0, false
	}
	u, c := Encode(user), Encode(client)
	for _, try := range [...]struct {
		e            meta.QuotaEntity
		user, client bool
	}{
		{meta.QuotaEntity{User: u, Client: c}, true, true},
		{meta.QuotaEntity{User: u, Client: meta.DefaultEntity}, true, true},
		{meta.QuotaEntity{User: u}, true, false},
		{meta.QuotaEntity{User: meta.DefaultEntity, Client: c}, true, true},
		{meta.QuotaEntity{User: meta.DefaultEntity, Client: meta.DefaultEntity}, true, true},
		{meta.QuotaEntity{User: meta.DefaultEntity}, true, false},
		{meta.QuotaEntity{Client: c}, false, true},
		{meta.QuotaEntity{Client: meta.DefaultEntity}, false, true},
	} {
		if try.client && client == "" {
			continue // a client without a name is no client: only quotas of users cover it
		}
		if bound, ok = l.set[k][try.e]; !ok {
			continue
		}
		tag.Kind = k
		if try.user {
			tag.User = user
		}
		if try.client {
			tag.Client = client
		}
		return tag, bound, true
	}
	return tag, 0, false
}

// Address is the bound on new connections of an address.
func (l *Limits) Address(ip netip.Addr) (tag Tag, bound float64, ok bool) {
	if l == nil || len(l.set[Connect]) == 0 {
		return tag, 0, false
	}
	ip = ip.Unmap()
	if bound, ok = l.byIP[ip]; !ok {
		bound, ok = l.set[Connect][meta.QuotaEntity{IP: meta.DefaultEntity}]
	}
	return Tag{Kind: Connect, IP: ip}, bound, ok
}

// Encode writes a name as the znodes have it.
func Encode(name string) string {
	return strings.NewReplacer("+", "%20", "~", "%7E").Replace(url.QueryEscape(name))
}

// Decode is the opposite of Encode; the default entity and what is no encoding stay as they are.
func Decode(node string) string {
	if node == meta.DefaultEntity {
		return node
	}
	name, err := url.PathUnescape(node)
	if err != nil {
		return node
	}
	return name
}
