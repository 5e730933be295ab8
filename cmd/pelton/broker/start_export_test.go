package broker

import (
	"context"
	"log/slog"

	"github.com/pelton-broker/pelton/internal/config"
	"github.com/pelton-broker/pelton/internal/disk"
)

// StartOn is Start with log directories on another file system.
func StartOn(ctx context.Context, c *config.Broker, log *slog.Logger, fs disk.FS) (*Broker, error) {
	b := newBroker(c, log)
	b.fs = fs
	return b.begin(ctx)
}
