package shell

import (
	"context"
	"errors"
	"fmt"

	"github.com/pelton-broker/pelton/zk/jute"
)

func (k *call) addWatchOn(mode int32) error {
	_, err := k.onPath(jute.OpAddWatch, func(b []byte) []byte { return jute.AppendInt(b, mode) })
	return err
}

// addWatch sets a lasting watch; its events are printed when they come, by later commands or by watch.
func (k *call) addWatch() error {
	mode := int32(1)
	switch m := k.flags["m"]; m {
	case "", "PERSISTENT_RECURSIVE":
	case "PERSISTENT":
		mode = 0
	default:
		return fmt.Errorf("%w: %s", ErrUsage, verbs()["addWatch"].usage)
	}
	err := k.addWatchOn(mode)
	if err == nil {
		k.o.done("watched", k.args[0], nil)
	}
	return err
}

func (k *call) removeWatches() error {
	kind := int32(3)
	switch {
	case k.has("c"):
		kind = 1
	case k.has("d"):
		kind = 2
	}
	_, err := k.onPath(jute.OpRemoveWatches, func(b []byte) []byte { return jute.AppendInt(b, kind) })
	if err == nil {
		k.o.done("removed", k.args[0], nil)
	}
	return err
}

// watch prints the events of a node, with -R of all below it, until the context ends.
func (k *call) watch() error {
	mode := int32(0)
	if k.has("R") {
		mode = 1
	}
	if err := k.addWatchOn(mode); err != nil {
		return err
	}
	stop := context.AfterFunc(k.ctx, func() { _ = k.c.c.Close() })
	defer stop()
	for {
		ev, err := k.c.await(k.ctx)
		if k.ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return errors.Join(errors.New("the watch ended"), err)
		}
		k.o.event(ev)
	}
}
