package ensemble

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/internal/disk"
)

// Config is what zoo.cfg says of the ensemble, and which of its servers this one is.
type Config struct {
	MyID    uint64
	Servers []Server
	// Key is what the members prove to each other; nil when Mutual.
	Key []byte
	// TLS covers the links; nil leaves them in the clear, proven by the key alone.
	TLS *PeerTLS
	// Mutual says that there is no key: certificates alone prove who a member is, for the host in its server line.
	Mutual bool

	TickTimeMs           int
	InitLimit, SyncLimit int // in ticks
	ReconfigEnabled      bool
	StandaloneOff        bool // standaloneEnabled=false
	ListenOnAllIPs       bool // quorumListenOnAllIPs
	KeepEntries          int
	// File is the configuration file that the servers were read from; a reconfig is written beside it and named in it. Empty for none.
	File string
}

// Me is this server's own line.
func (c *Config) Me() Server {
	for _, s := range c.Servers {
		if s.ID == c.MyID {
			return s
		}
	}
	return Server{}
}

// Check says what is wrong with the configuration.
func (c *Config) Check() error {
	if err := checkServers(c.Servers); err != nil {
		return err
	}
	if c.Me().Host == "" {
		return fmt.Errorf("%w: it says %d, and there is no server.%d in the configuration", ErrMyID, c.MyID, c.MyID)
	}
	if c.TickTimeMs <= 0 || c.InitLimit <= 0 || c.SyncLimit <= 0 {
		return fmt.Errorf("%w: an ensemble needs tickTime, initLimit and syncLimit, each above 0", ErrConfig)
	}
	if !c.Mutual && len(c.Key) < minKey {
		return fmt.Errorf("%w: pelton.ensemble.keyFile must name a file of at least %d bytes, the same on every server; head -c 32 /dev/urandom | base64 makes one. With sslQuorum=true certificates do instead", ErrKey, minKey)
	}
	return nil
}

// ReadMyID reads the file myid of a data directory.
func ReadMyID(fs disk.FS, dataDir string) (uint64, error) {
	b, err := fs.ReadFile(dataDir + "/myid")
	if err != nil {
		return 0, fmt.Errorf("%w: %s/myid must hold the number of this server: %w", ErrMyID, dataDir, err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n > 255 {
		return 0, fmt.Errorf("%w: %s/myid holds %q, not a number from 0 to 255", ErrMyID, dataDir, strings.TrimSpace(string(b)))
	}
	return n, nil
}

// ReadKey reads the ensemble's key. White space around it does not count, so that an editor's last line end does not.
func ReadKey(fs disk.FS, path string) ([]byte, error) {
	info, err := fs.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%w: %s can be read by everybody; chmod 600 it", ErrKey, path)
	}
	b, err := fs.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	b = bytes.TrimSpace(b)
	if len(b) < minKey {
		return nil, fmt.Errorf("%w: %s holds %d bytes, at least %d are needed", ErrKey, path, len(b), minKey)
	}
	return b, nil
}

const (
	ticksPerTick   = 20 // raft's ticks in one of ZooKeeper's
	leastTickMs    = 25
	electionTicks  = 10
	heartbeatTicks = 2
	keepEntries    = 10_000
)

func (c *Config) raftTickMs() int64 { return int64(max(c.TickTimeMs/ticksPerTick, leastTickMs)) }

// SessionSecret is what session passwords are made with: every member must make the same. A Mutual ensemble has none here, its members agree on one.
func (c *Config) SessionSecret() []byte { return proof(c.Key, "session passwords") }
