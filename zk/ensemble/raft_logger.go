package ensemble

import (
	"fmt"
	"log/slog"

	"github.com/pelton-broker/pelton/internal/invariant"
)

// raftLogger is raft's way to the log that was handed in. What raft calls fatal is a broken invariant.
type raftLogger struct{ log *slog.Logger }

func (l raftLogger) Debug(v ...any)            { l.log.Debug("zk raft", "text", fmt.Sprint(v...)) }
func (l raftLogger) Debugf(f string, v ...any) { l.log.Debug("zk raft", "text", fmt.Sprintf(f, v...)) }
func (l raftLogger) Info(v ...any)             { l.log.Debug("zk raft", "text", fmt.Sprint(v...)) }
func (l raftLogger) Infof(f string, v ...any)  { l.log.Debug("zk raft", "text", fmt.Sprintf(f, v...)) }
func (l raftLogger) Warning(v ...any)          { l.log.Info("zk raft", "text", fmt.Sprint(v...)) }
func (l raftLogger) Warningf(f string, v ...any) {
	l.log.Info("zk raft", "text", fmt.Sprintf(f, v...))
}
func (l raftLogger) Error(v ...any)            { l.log.Warn("zk raft", "text", fmt.Sprint(v...)) }
func (l raftLogger) Errorf(f string, v ...any) { l.log.Warn("zk raft", "text", fmt.Sprintf(f, v...)) }
func (l raftLogger) Fatal(v ...any)            { invariant.Broken("zk/ensemble: raft", fmt.Sprint(v...)) }
func (l raftLogger) Fatalf(f string, v ...any) {
	invariant.Broken("zk/ensemble: raft", fmt.Sprintf(f, v...))
}
func (l raftLogger) Panic(v ...any) { invariant.Broken("zk/ensemble: raft", fmt.Sprint(v...)) }
func (l raftLogger) Panicf(f string, v ...any) {
	invariant.Broken("zk/ensemble: raft", fmt.Sprintf(f, v...))
}
