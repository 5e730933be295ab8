package server

import (
	"time"

	"github.com/pelton-broker/pelton/zk/jute"
)

// stats are the server's counters, shown by four-letter words.
type stats struct {
	startMs        int64 // monotonic, of the last reset
	received, sent uint64
	outstanding    int
	expired        uint64 // sessions
	refused        uint64 // connect requests for sessions that are gone, or with a wrong password
	authFailed     uint64
	snapshots      uint64
	count          uint64 // requests answered
	sumMs          uint64
	minMs, maxMs   int64
}

func (s *stats) reset(nowMs int64) {
	*s = stats{startMs: nowMs, outstanding: s.outstanding}
}

func (s *stats) answered(ms int64) {
	if s.count == 0 || ms < s.minMs {
		s.minMs = ms
	}
	s.maxMs = max(s.maxMs, ms)
	s.sumMs += uint64(ms)
	s.count++
}

func (s *stats) avgMs() float64 {
	if s.count == 0 {
		return 0
	}
	return float64(s.sumMs) / float64(s.count)
}

// peerStats are those of one connection.
type peerStats struct {
	stats
	sinceMs  int64 // wall
	lastOp   string
	lastXid  int32
	lastZxid int64
	lastMs   int64 // how long the last answer took
	lastAtMs int64 // monotonic, when it was given
}

func (s *peerStats) answered(ms, nowMs int64, xid int32, zxid int64) {
	s.stats.answered(ms)
	s.lastXid, s.lastZxid, s.lastMs, s.lastAtMs = xid, zxid, ms, nowMs
}

// javaDate prints a time as Java's Date does, in UTC.
func javaDate(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("Mon Jan 02 15:04:05 UTC 2006")
}

// opName is ZooKeeper's four letters for an operation.
func opName(op int32) string {
	switch op {
	case jute.OpPing:
		return "PING"
	case jute.OpCreateSession:
		return "SESS"
	case jute.OpMulti:
		return "MULT"
	case jute.OpMultiRead:
		return "MLTR"
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateTTL, jute.OpCreateContainer:
		return "CREA"
	case jute.OpDelete, jute.OpDeleteContainer:
		return "DELE"
	case jute.OpSetData:
		return "SETD"
	case jute.OpSetACL:
		return "SETA"
	case jute.OpCloseSession:
		return "CLOS"
	case jute.OpSync:
		return "SYNC"
	case jute.OpExists:
		return "EXIS"
	case jute.OpGetData:
		return "GETD"
	case jute.OpGetACL:
		return "GETA"
	case jute.OpGetChildren, jute.OpGetChildren2:
		return "GETC"
	case jute.OpSetWatches, jute.OpSetWatches2:
		return "SETW"
	case jute.OpAddWatch:
		return "ADDW"
	case jute.OpCheckWatches:
		return "CHKW"
	case jute.OpRemoveWatches:
		return "REMW"
	case jute.OpGetEphemerals:
		return "GETE"
	case jute.OpGetAllChildrenNumber:
		return "GETACN"
	case jute.OpWhoAmI:
		return "HOMI"
	}
	return "NA"
}
