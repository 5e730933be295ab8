package run

import (
	"context"

	"github.com/pelton-broker/pelton/zk/client"
)

// logDirEventPrefix begins the names of the znodes that tell of failed log directories.
const logDirEventPrefix = "log_dir_event_"

// ReportLogDirFailure tells the controller that a log directory of this broker has failed, by a znode that the active one removes.
func (c *Controller) ReportLogDirFailure(ctx context.Context) error {
	return c.do(ctx, func(ctx context.Context) error { return c.loop.reportLogDir(ctx) })
}

func (l *loop) reportLogDir(ctx context.Context) error {
	note := struct {
		Version int   `json:"version"`
		Broker  int32 `json:"broker"`
		Event   int   `json:"event"`
	}{1, l.c.id, 1}
	path, err := l.zk.Create(ctx, pathLogDirEvents+"/"+logDirEventPrefix, encode(note), client.Sequential)
	if err != nil {
		return err
	}
	l.o.Log.Info("the failure of a log directory was reported", "path", path)
	if !l.active {
		return nil
	}
	return l.store.deleteAll(ctx, []string{path}) // it was for us
}
