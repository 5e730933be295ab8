package meta

import "maps"

// DefaultEntity stands for every user, client or address that has no quota of its own.
const DefaultEntity = "<default>"

// QuotaEntity names whom a set of client quotas is for. Names are as the znodes have them: URL-encoded users and clients, so that
// DefaultEntity can be no client's own name; empty where the entity does not name that part.
type QuotaEntity struct{ User, Client, IP string }

// SetQuota sets the quotas of one entity; empty removes them.
func (b *Builder) SetQuota(e QuotaEntity, set map[string]string) {
	if maps.Equal(b.next.Quotas[e], set) {
		return
	}
	if !b.quotas {
		b.next.Quotas, b.quotas = maps.Clone(b.next.Quotas), true
	}
	if b.next.Quotas == nil {
		b.next.Quotas = map[QuotaEntity]map[string]string{}
	}
	if b.changed = true; len(set) == 0 {
		delete(b.next.Quotas, e)
		return
	}
	b.next.Quotas[e] = maps.Clone(set)
}

// sameQuotas compares the client quotas of two images.
func (m *Image) sameQuotas(o *Image) bool {
	return maps.EqualFunc(m.Quotas, o.Quotas, maps.Equal[map[string]string, map[string]string])
}
