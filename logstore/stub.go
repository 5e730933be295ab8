package logstore

import (
	"log/slog"
	"sync/atomic"

	"github.com/pelton-broker/pelton/internal/clock"
	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/logstore/batch"
	"github.com/pelton-broker/pelton/logstore/producer"
)

type Append struct {
	Bytes        []byte
	Info         *batch.Info
	LeaderEpoch  int32
	AppendTimeMs int64
	Durable      bool
	Origin       Origin
	Owner        any

	Base, Last    int64
	LogAppendTime int64
	LogStart      int64
	Duplicate     bool
	Err           error
}
type Origin uint8

const (
	FromClient Origin = iota
	FromCoordinator
	FromLeader
)

type Log struct{ x atomic.Int64 }
type Work interface {
	Run()
	Apply()
}
type Span struct {
	File *disk.File
	Pos  int64
	Len  int64
	Base int64
}

func (s *Span) Release() {}

type Need struct {
	File *disk.File
	Pos  int64
	Len  int
}
type AbortedTxn struct{ ProducerID, FirstOffset, LastOffset, LastStable int64 }
type TopicPartition struct {
	Topic     string
	Partition int32
}
type DirInfo struct {
	Path        string
	Offline     error
	Free, Total int64
	Logs        int
}

func (l *Log) Append(a *Append)   {}
func (l *Log) Turn(nowMs int64)   {}
func (l *Log) OnDisk(op *disk.Op) {}
func (l *Log) TakeDone() *Append  { return nil }
func (l *Log) TakeWork() Work     { return nil }
func (l *Log) Read(from int64, maxBytes int32, upTo int64, minOne bool, out *Span) (need Need, err error) {
	return
}
func (l *Log) LookupTime(ts int64) (offset, timestamp int64, leaderEpoch int32, need Need, err error) {
	return
}
func (l *Log) MaxTimestamp() (offset, timestamp int64, leaderEpoch int32, need Need, err error) {
	return
}
func (l *Log) Start() int64                                             { return 0 }
func (l *Log) End() int64                                               { return 0 }
func (l *Log) HighWatermark() int64                                     { return 0 }
func (l *Log) LastStable() int64                                        { return 0 }
func (l *Log) SetHighWatermark(int64)                                   {}
func (l *Log) FirstUnstable() int64                                     { return -1 }
func (l *Log) RecoveryPoint() int64                                     { return 0 }
func (l *Log) DurableEnd() int64                                        { return 0 }
func (l *Log) SizeBytes() int64                                         { return 0 }
func (l *Log) EndOffsetForEpoch(epoch int32) (e int32, end int64)       { return }
func (l *Log) EpochFor(offset int64) int32                              { return 0 }
func (l *Log) LatestEpoch() int32                                       { return 0 }
func (l *Log) AssignEpoch(epoch int32, startOffset int64)               {}
func (l *Log) DeleteRecordsTo(offset int64) (newStart int64, err error) { return }
func (l *Log) SetOptions(Options)                                       {}
func (l *Log) Options() Options                                         { return Options{} }
func (l *Log) Producers(fn func(producer.State))                        {}
func (l *Log) Retain(nowMs int64)                                       {}
func (l *Log) AbortedIn(from, to int64, dst []AbortedTxn) []AbortedTxn  { return dst }
func (l *Log) Bind(d disk.Disk)                                         {}
func (l *Log) Dir() string                                              { return "" }
func (l *Log) TopicID() [16]byte                                        { return [16]byte{} }
func (l *Log) TopicPartition() TopicPartition                           { return TopicPartition{} }
func (l *Log) Offline() error                                           { return nil }

type Manager struct{}
type ManagerOptions struct {
	Dirs            []string
	FS              disk.FS
	Clock           clock.Clock
	BrokerID        int32
	ClusterID       string
	RecoveryThreads int
	Log             *slog.Logger
	Progress        func(tp TopicPartition, done, total int64)
	OnDirOffline    func(dir string, err error)
}

func OpenManager(o ManagerOptions) (*Manager, error)                                 { return nil, nil }
func (m *Manager) Found() []TopicPartition                                           { return nil }
func (m *Manager) Open(tp TopicPartition, topicID [16]byte, o Options) (*Log, error) { return nil, nil }
func (m *Manager) Delete(tp TopicPartition) error                                    { return nil }
func (m *Manager) Checkpoint() error                                                 { return nil }
func (m *Manager) Sweep()                                                            {}
func (m *Manager) CloseClean() error                                                 { return nil }
func (m *Manager) Dirs() []DirInfo                                                   { return nil }
func (m *Manager) FailDir(dir string, err error)                                     {}
