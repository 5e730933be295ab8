package run

import (
	"context"
	"errors"
	"slices"

	"github.com/pelton-broker/pelton/zk/client"
)

// store is the tree as the controller writes it. Its writes carry the fence: they fail as a whole once another
// controller has raised /controller_epoch.
type store struct {
	zk *client.Client
	// fence is the version of /controller_epoch that our election left.
	fence int32
}

// fenced carries out ops under the fence.
func (s *store) fenced(ctx context.Context, ops ...client.Op) ([]client.Result, error) {
	ops = slices.Insert(ops, 0, client.CheckOp(pathEpoch, s.fence))
	results, err := s.zk.Multi(ctx, ops...)
	if err == nil {
		return results[1:], nil
	}
	if len(results) > 0 && errors.Is(results[0].Err, client.ErrBadVersion) {
		return nil, errors.Join(errFenced, err)
	}
	return nil, err
}

// createAll makes znodes under the fence, all in flight at once; existing ones are left as they are.
func (s *store) createAll(ctx context.Context, n int, node func(i int) (path string, data []byte)) error {
	return first(s.zk.Each(ctx, n, func(ctx context.Context, i int) error {
		path, data := node(i)
		_, err := s.fenced(ctx, client.CreateOp(path, data, client.Persistent))
		if errors.Is(err, client.ErrNodeExists) {
			return nil
		}
		return err
	}))
}

// deleteAll removes znodes under the fence, all in flight at once; missing ones are no error.
func (s *store) deleteAll(ctx context.Context, paths []string) error {
	return first(s.zk.Each(ctx, len(paths), func(ctx context.Context, i int) error {
		_, err := s.fenced(ctx, client.DeleteOp(paths[i], client.AnyVersion))
		switch {
		case errors.Is(err, client.ErrNoNode):
			return nil
		case errors.Is(err, client.ErrNotEmpty):
			return s.deleteTree(ctx, paths[i])
		}
		return err
	}))
}

// deleteTree removes what somebody else left below a znode, and the znode.
func (s *store) deleteTree(ctx context.Context, path string) error {
	names, err := s.zk.Children(ctx, path)
	if errors.Is(err, client.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.deleteTree(ctx, path+"/"+name); err != nil {
			return err
		}
	}
	if _, err = s.fenced(ctx, client.DeleteOp(path, client.AnyVersion)); errors.Is(err, client.ErrNoNode) {
		return nil
	}
	return err
}

// putConfig replaces a config znode as Kafka does: the check of /controller version 0 fails when a KRaft controller
// has taken the tree over.
func (s *store) putConfig(ctx context.Context, path string, set map[string]string) error {
	data := encodeConfig(set)
	results, err := s.zk.Multi(ctx, client.CheckOp(pathController, 0), client.SetOp(path, data, client.AnyVersion))
	if err == nil {
		return nil
	}
	if len(results) > 0 && results[0].Err != nil && errors.Is(results[0].Err, client.ErrBadVersion) {
		return errors.Join(errFenced, err)
	}
	if !errors.Is(err, client.ErrNoNode) {
		return err
	}
	_, err = s.zk.Create(ctx, path, data, client.Persistent)
	return err
}

// noteChange tells every broker that a config znode has changed.
func (s *store) noteChange(ctx context.Context, entity string) error {
	note := struct {
		Version int    `json:"version"`
		Path    string `json:"entity_path"`
	}{2, entity}
	_, err := s.zk.Create(ctx, pathConfigChanges+"/"+changePrefix, encode(note), client.Sequential)
	return err
}

// config reads a config znode; a missing one is an empty set.
func (s *store) config(ctx context.Context, path string) (map[string]string, error) {
	n, err := s.zk.Get(ctx, path)
	if errors.Is(err, client.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeConfig(path, n.Data)
}

// first returns the first error that tells most: a fence before everything else.
func first(errs []error) error {
	var found error
	for _, err := range errs {
		if errors.Is(err, errFenced) {
			return err
		}
		if found == nil {
			found = err
		}
	}
	return found
}
