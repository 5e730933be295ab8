package run

import (
	"io"
	"log/slog"
	"time"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/zk/client"
)

// Options are what a Controller is given.
type Options struct {
	// ZK says how to reach ZooKeeper: connect string with chroot, timeouts, dialer, credentials.
	ZK client.Options

	// BrokerID is our id; -1 asks for a generated one above ReservedMax when GenerateID is set.
	BrokerID    int32
	GenerateID  bool
	ReservedMax int32 // reserved.broker.max.id; 0 means Kafka's 1000
	// Endpoints are the advertised listeners, with their real ports.
	Endpoints []meta.Endpoint
	Rack      *string
	JMXPort   int32 // written into the registration; 0 means -1, none
	// IBP is inter.broker.protocol.version; empty means 3.9.
	IBP string

	// ClusterID, when not empty, is the id that our data directory belongs to (meta.properties).
	ClusterID string
	// TakeClusterID lets a ZooKeeper that holds no cluster yet become that of ClusterID, instead of refusing it.
	TakeClusterID bool
	// PreviousSession is the ZooKeeper session of the last process that held our data directory, 0 when unknown. What that
	// session still holds is ours to remove: the directory's lock proves that its owner is dead.
	PreviousSession int64
	// OnSession, when set, is told every new session's id before anything is registered under it, so that it can be
	// kept beside the data for PreviousSession.
	OnSession func(id int64)

	// Defaults for CreateTopic with -1.
	DefaultPartitions        int32
	DefaultReplicationFactor int32
	DeleteTopicsDisabled     bool // delete.topic.enable=false
	UncleanElection          bool // unclean.leader.election.enable of the broker; a topic may override it
	// CheckTopicConfig refuses unknown settings and bad values; nil accepts all.
	CheckTopicConfig func(set map[string]string) error
	// CheckNewTopic refuses a name that must not be given to a new topic now; nil accepts all.
	CheckNewTopic func(name string) error
	// CheckBrokerConfig does the same for dynamic broker settings; id is nil for the cluster-wide ones.
	CheckBrokerConfig func(id *int32, set map[string]string) error
	// KnownTopicID returns the id that a topic's logs on this broker carry (partition.metadata), for topics whose znode lost it.
	// It is called from several goroutines.
	KnownTopicID func(topic string) (meta.ID, bool)

	// Publish is called with every new image, in order, from one goroutine, and returns when the partitions of that image
	// are open. It must not call methods of the Controller.
	Publish func(*meta.Image)
	// Lost, when set, tells which partitions of the last published image this broker cannot serve, by topic and in order: their log directory
	// has failed, or their log cannot be opened. It is called from the same goroutine as Publish while we are the active controller, which
	// takes their replicas here for offline.
	Lost func() map[string][]int32
	// Broadcast, when set, is told what changed while we are the active controller, after Publish.
	Broadcast Broadcaster
	// OnSessionLost, when set, is called when the session has expired, before the broker registers anew.
	OnSessionLost func()
	// Fatal is called once with the error after which the broker must end.
	Fatal func(error)

	Clock  clock.Clock // nil means the machine's
	Random io.Reader   // source of ids and of placement; crypto/rand.Reader
	Log    *slog.Logger
	// RetryEvery is the pause before something that ZooKeeper refused is tried again; 0 means one second.
	RetryEvery time.Duration
}

// Broadcaster carries decisions to the other brokers.
type Broadcaster interface {
	// Broadcast is called from the controller's goroutine with the difference between the last two images.
	Broadcast(meta.Delta)
}
