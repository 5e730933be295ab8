package run

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/zk/client"
)

// quotaKeys are the settings of users, clients and addresses that are quotas; a user's znode may hold credentials beside them.
func quotaKeys() []string {
	return []string{"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate", "connection_creation_rate"}
}

// quotaEntity reads the name in a path below /config: kind "users", "clients" or "ips", name what follows. ok is false for what
// Kafka never writes.
func quotaEntity(kind, name string) (e meta.QuotaEntity, ok bool) {
	parts := strings.Split(name, "/")
	switch {
	case slices.Contains(parts, ""):
		return e, false
	case kind == "clients" && len(parts) == 1:
		e.Client = name
	case kind == "ips" && len(parts) == 1:
		e.IP = name
	case kind == "users" && len(parts) == 1:
		e.User = name
	case kind == "users" && len(parts) == 3 && parts[1] == "clients":
		e.User, e.Client = parts[0], parts[2]
	default:
		return e, false
	}
	return e, true
}

// quotaPath is an entity's path below /config, as change notifications name it.
func quotaPath(e meta.QuotaEntity) string {
	switch {
	case e.IP != "":
		return "ips/" + e.IP
	case e.User == "":
		return "clients/" + e.Client
	case e.Client == "":
		return "users/" + e.User
	}
	return "users/" + e.User + "/clients/" + e.Client
}

// loadQuotas reads the quotas of everybody.
func (l *loop) loadQuotas(ctx context.Context) error {
	found := map[meta.QuotaEntity]bool{}
	for _, kind := range []string{"clients", "users", "ips"} {
		names, err := l.childrenOf(ctx, "/config/"+kind)
		if err != nil {
			return err
		}
		for _, name := range names {
			if e, ok := quotaEntity(kind, name); ok {
				found[e] = true
			}
			if kind != "users" {
				continue
			}
			inner, err := l.childrenOf(ctx, pathConfigUsers+"/"+name+"/clients")
			if err != nil {
				return err
			}
			for _, c := range inner {
				found[meta.QuotaEntity{User: name, Client: c}] = true
			}
		}
	}
	for e := range l.cur.Quotas {
		found[e] = true // it may be gone
	}
	list := slices.Collect(maps.Keys(found))
	sets := make([]map[string]string, len(list))
	err := first(l.zk.Each(ctx, len(list), func(ctx context.Context, i int) (err error) {
		sets[i], err = l.readQuota(ctx, list[i])
		return err
	}))
	if err != nil {
		return err
	}
	l.update(func(b *meta.Builder) {
		for i, e := range list {
			b.SetQuota(e, sets[i])
		}
	})
	return nil
}

// childrenOf lists a znode's children; a missing one has none.
func (l *loop) childrenOf(ctx context.Context, path string) ([]string, error) {
	names, err := l.zk.Children(ctx, path)
	if errors.Is(err, client.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

func (l *loop) readQuota(ctx context.Context, e meta.QuotaEntity) (map[string]string, error) {
	set, err := l.readConfig(ctx, "/config/"+quotaPath(e))
	if err != nil {
		return nil, err
	}
	return quotasIn(set), nil
}

// quotasIn is the part of a set that is quotas.
func quotasIn(set map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range quotaKeys() {
		if v, is := set[key]; is {
			out[key] = v
		}
	}
	return out
}

// quotaChanged reads one entity again, after a change notification.
func (l *loop) quotaChanged(ctx context.Context, kind, name string) error {
	e, ok := quotaEntity(kind, name)
	if !ok {
		l.o.Log.Warn("a change notification names no entity that has quotas", "kind", kind, "name", name)
		return nil
	}
	set, err := l.readQuota(ctx, e)
	if err != nil {
		return err
	}
	l.update(func(b *meta.Builder) { b.SetQuota(e, set) })
	return nil
}

// alterQuota changes single quotas of an entity: set replaces, drop removes. What else the znode holds stays.
func (l *loop) alterQuota(ctx context.Context, e meta.QuotaEntity, set map[string]string, drop []string) error {
	path := "/config/" + quotaPath(e)
	whole, err := l.store.config(ctx, path)
	if err != nil {
		return err
	}
	next := maps.Clone(whole)
	if next == nil {
		next = map[string]string{}
	}
	maps.Copy(next, set)
	for _, key := range drop {
		delete(next, key)
	}
	if e.User != "" && e.Client != "" { // the only ones whose parents may be missing
		for _, parent := range []string{pathConfigUsers + "/" + e.User, pathConfigUsers + "/" + e.User + "/clients"} {
			if err := l.zk.Ensure(ctx, parent, nil); err != nil {
				return err
			}
		}
	}
	if err := l.store.putConfig(ctx, path, next); err != nil {
		return err
	}
	if err := l.store.noteChange(ctx, quotaPath(e)); err != nil {
		return err
	}
	l.update(func(b *meta.Builder) { b.SetQuota(e, quotasIn(next)) })
	return nil
}

// AlterQuota changes single quotas of an entity and returns after the image that holds them was published.
func (c *Controller) AlterQuota(ctx context.Context, e meta.QuotaEntity, set map[string]string, drop []string) error {
	return c.do(ctx, func(ctx context.Context) error { return c.loop.alterQuota(ctx, e, set, drop) })
}
