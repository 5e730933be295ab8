package server

import (
	"crypto/rand"
	"io"
	"log/slog"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/ensemble"
)

// Options are ZooKeeper's settings under its names. Zero fields get ZooKeeper's defaults.
type Options struct {
	DataDir    string // dataDir: snapshots, below version-2
	DataLogDir string // dataLogDir: transaction logs; DataDir when empty
	ClientAddr string // host:port; port 0 picks a free one

	TickTimeMs          int // tickTime, 3000 in Apache's code, 2000 in its sample: 2000
	MinSessionTimeoutMs int // minSessionTimeout, 2 ticks
	MaxSessionTimeoutMs int // maxSessionTimeout, 20 ticks
	SnapCount           int // snapCount: transactions between snapshots, 100000
	MaxClientCnxns      int // maxClientCnxns: connections from one address; 0 is 60, negative no limit
	MaxCnxns            int // maxCnxns: connections in all, 0 no limit
	JuteMaxBuffer       int // jute.maxbuffer: the longest frame taken, 1048575
	SnapRetain          int // autopurge.snapRetainCount, 3
	// PurgeHours is autopurge.purgeInterval; 0 purges after every snapshot when Embedded, else never.
	PurgeHours int
	Embedded   bool

	// FourLetterWhitelist is 4lw.commands.whitelist, comma separated: "srvr" when empty, "*" for all.
	FourLetterWhitelist string
	// SuperDigest is zookeeper.DigestAuthenticationProvider.superDigest: user:hash that may do everything.
	SuperDigest string
	// ExtendedTypes is zookeeper.extendedTypesEnabled: TTL nodes.
	ExtendedTypes bool
	// EnforceQuota is zookeeper.enforceQuota: hard limits refuse writes instead of only being watched.
	EnforceQuota bool
	SkipACL      bool // skipACL=yes
	// Schemes are those beyond digest and ip that ACLs may name: sasl and x509, by authProvider.*.
	Schemes []string
	// TLS is the secure client port.
	TLS TLSOptions
	// SSLQuorum is sslQuorum: the members of an ensemble talk by TLS, with the settings ssl.quorum.*.
	SSLQuorum bool
	QuorumTLS TLSOptions
	// X509SuperUser is X509AuthenticationProvider.superUser: the subject whose certificate makes the superuser.
	X509SuperUser string
	// JAASFile is java.security.auth.login.config, and JAASSection the section in it that holds the users: Server when empty.
	JAASFile, JAASSection string
	// Admin is the admin server, and the page of metrics.
	Admin AdminOptions
	// SASLUsers are the names and passwords of the Server section of the JAAS file; none switches SASL off.
	SASLUsers map[string]string
	// SuperUser is zookeeper.superUser: the name that is the superuser once SASL has proven it.
	SuperUser string
	// AllowFailedSASL is allowSaslFailedClients: who fails goes on without a name.
	AllowFailedSASL bool
	// RequiredSchemes are enforce.auth.schemes: a connection must have proven one of them before it may ask anything.
	RequiredSchemes []string
	enforceAuth     bool
	enforceSchemes  string
	ServerID        int // myid, in session ids

	// Ensemble makes the server a member of one; nil when it is alone.
	Ensemble *ensemble.Config

	FS    disk.FS
	Clock clock.Clock
	Log   *slog.Logger
	Disk  disk.Options
	// WrapDisk stands between the log and its disk: tests break writes with it.
	WrapDisk func(disk.Disk) disk.Disk
	// Random is where the secret of session passwords comes from; crypto/rand when nil.
	Random io.Reader
	// Descriptors tells how many files are open and how many may be; nil when nobody knows.
	Descriptors func() (open, most int)
	// Environment is what envi tells besides the version; nil when nobody knows.
	Environment func() [][2]string
	// Fatal is told when the server cannot go on: its log has failed. Nil logs only.
	Fatal func(error)
}

const (
	// DefaultTickTimeMs is tickTime when zoo.cfg says nothing of it.
	DefaultTickTimeMs = 2000
	defaultSnapCount  = 100_000
	defaultCnxns      = 60
	defaultMaxBuffer  = 1048575
	defaultRetain     = 3
	// defaultAdminSnapMs is admin.snapshot.intervalInMS: how far apart snapshots over HTTP are.
	defaultAdminSnapMs = 300_000
)

func (o *Options) setDefaults() {
	pick := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	pick(&o.TickTimeMs, DefaultTickTimeMs)
	pick(&o.MinSessionTimeoutMs, 2*o.TickTimeMs)
	pick(&o.MaxSessionTimeoutMs, 20*o.TickTimeMs)
	pick(&o.SnapCount, defaultSnapCount)
	pick(&o.JuteMaxBuffer, defaultMaxBuffer)
	pick(&o.SnapRetain, defaultRetain)
	if o.MaxClientCnxns == 0 {
		o.MaxClientCnxns = defaultCnxns
	}
	o.MaxClientCnxns = max(o.MaxClientCnxns, 0)
	if o.enforceAuth {
		o.RequiredSchemes = append(o.RequiredSchemes, splitList(o.enforceSchemes)...)
	}
	if o.DataLogDir == "" {
		o.DataLogDir = o.DataDir
	}
	if o.FourLetterWhitelist == "" {
		o.FourLetterWhitelist = "srvr"
	}
	if o.FS == nil {
		o.FS = disk.OS()
	}
	if o.Clock == nil {
		o.Clock = clock.NewReal()
	}
	if o.Descriptors == nil {
		o.Descriptors = func() (int, int) { return 0, 0 }
	}
	if o.Environment == nil {
		o.Environment = func() [][2]string {
			return [][2]string{{"java.version", "none"}, {"java.vendor", "pelton"}, {"os.name", "Linux"}}
		}
	}
	pick(&o.Admin.SnapshotEveryMs, defaultAdminSnapMs)
	if o.Admin.CommandURL == "" {
		o.Admin.CommandURL = "/commands"
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}
