package broker

import (
	"os"
	"time"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/reactor"
)

// Ready is the line that a broker prints when it serves; scripts read it.
type Ready struct {
	Event     string   `json:"event"`
	Kafka     string   `json:"kafka"`
	ZooKeeper string   `json:"zookeeper"`
	Admin     string   `json:"admin,omitempty"`
	PID       int      `json:"pid"`
	TookMs    int64    `json:"took_ms"`
	Disk      string   `json:"disk"`
	DiskWhy   []string `json:"disk_reasons,omitempty"`
	Poller    string   `json:"poller"`
	Shards    int      `json:"shards"`
	BrokerID  int32    `json:"broker_id"`
	ClusterID string   `json:"cluster_id"`
}

// Ready tells where the broker serves and how.
func (b *Broker) Ready() Ready {
	r := Ready{Event: "ready", Kafka: b.Addr().String(), ZooKeeper: b.config.Str("zookeeper.connect"), PID: os.Getpid(), TookMs: b.tookMs,
		Disk: "portable", DiskWhy: b.probe.Reasons, Poller: b.config.Str("pelton.poller"), Shards: b.shards, BrokerID: b.cluster.BrokerID(),
		ClusterID: b.cluster.ClusterID()}
	if b.probe.Ring.Granted {
		r.Disk = "uring"
	}
	if b.zk != nil {
		r.ZooKeeper = b.zk.Addr().String()
	}
	if b.admin != nil {
		r.Admin = b.admin.addr()
	}
	return r
}

// probed takes what the kernel granted; every shard's is the same.
func (b *Broker) probed(_ int, p disk.Probe) {
	b.probeOnce.Do(func() {
		b.probe = p
		for _, why := range p.Reasons {
			b.log.Warn("disk backend steps down", "err", why)
		}
	})
}

// slowTurn reports a turn that held up a shard.
func (b *Broker) slowTurn(t reactor.SlowTurn) {
	b.log.Warn("slow turn", "shard", t.Shard, "took", time.Duration(t.TookNs), "stack", string(t.Stack))
}

// limiter is the one bound on connections of all listeners.
func (b *Broker) limiter() *netpoll.Limiter {
	if b.connections == nil {
		b.connections = limiterOf(b.config)
	}
	return b.connections
}

// hostname is what is advertised when no host is configured.
func hostname() string {
	if h, err := os.Hostname(); err == nil {
		return h
	}
	return "localhost"
}
