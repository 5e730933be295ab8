package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Get returns a znode.
func (c *Client) Get(ctx context.Context, path string) (Node, error) {
	return read(ctx, c, func() (Node, error) {
		data, stat, err := c.wire.Get(c.full(path))
		return Node{data, statOf(stat)}, err
	})
}

// GetW is Get, and arms a watch for the next change of the data unless one is armed already.
func (c *Client) GetW(ctx context.Context, path string) (Node, error) {
	return armed(ctx, c, watch{path, watchData}, c.Get, func() (Node, error) {
		data, stat, _, err := c.wire.GetW(c.full(path))
		return Node{data, statOf(stat)}, err
	})
}

type existence struct {
	stat Stat
	ok   bool
}

// Exists tells whether a znode is there.
func (c *Client) Exists(ctx context.Context, path string) (Stat, bool, error) {
	e, err := c.exists(ctx, path)
	return e.stat, e.ok, err
}

func (c *Client) exists(ctx context.Context, path string) (existence, error) {
	return read(ctx, c, func() (existence, error) {
		ok, stat, err := c.wire.Exists(c.full(path))
		return existence{statOf(stat), ok}, err
	})
}

// ExistsW is Exists, and arms a watch for the znode's creation, change or end.
func (c *Client) ExistsW(ctx context.Context, path string) (Stat, bool, error) {
	e, err := armed(ctx, c, watch{path, watchExists}, c.exists, func() (existence, error) {
		ok, stat, _, err := c.wire.ExistsW(c.full(path))
		return existence{statOf(stat), ok}, err
	})
	return e.stat, e.ok, err
}

// Children lists the names below a znode, in no order.
func (c *Client) Children(ctx context.Context, path string) ([]string, error) {
	return read(ctx, c, func() ([]string, error) {
		names, _, err := c.wire.Children(c.full(path))
		return names, err
	})
}

// ChildrenW is Children, and arms a watch for the next change of the list.
func (c *Client) ChildrenW(ctx context.Context, path string) ([]string, error) {
	return armed(ctx, c, watch{path, watchChildren}, c.Children, func() ([]string, error) {
		names, _, _, err := c.wire.ChildrenW(c.full(path))
		return names, err
	})
}

// armed reads with a watch when none of that kind is armed on the path, and plainly otherwise: the library keeps a
// channel for every arming, so arming again at every read would pile them up. The mark is set before the request,
// since the event may be here before the answer is looked at.
func armed[T any](ctx context.Context, c *Client, w watch, plain func(context.Context, string) (T, error), arm func() (T, error)) (T, error) {
	c.mu.Lock()
	is := c.mu.armed[w]
	c.mu.armed[w] = true
	c.mu.Unlock()
	if is {
		return plain(ctx, w.path)
	}
	v, err := read(ctx, c, arm)
	if err != nil {
		c.mu.Lock()
		delete(c.mu.armed, w)
		c.mu.Unlock()
	}
	return v, err
}

// Create makes a znode and returns its path, which for Sequential ends in a number. Data nil is ZooKeeper's null.
func (c *Client) Create(ctx context.Context, path string, data []byte, mode Mode) (string, error) {
	if len(data) > dataMax {
		return "", fmt.Errorf("%w: %d bytes for %s", ErrTooLarge, len(data), path)
	}
	made, lost, err := write(ctx, c, func() (string, error) {
		return c.wire.Create(c.full(path), data, int32(mode), c.aclFor(path))
	})
	if lost && errors.Is(err, zk.ErrNodeExists) && mode&Sequential == 0 {
		return path, c.isOurs(ctx, path, data, mode)
	}
	return strings.TrimPrefix(made, c.addr.Chroot), err
}

// isOurs looks whether the znode that is there is the one that a lost create was to make.
func (c *Client) isOurs(ctx context.Context, path string, data []byte, mode Mode) error {
	n, err := c.Get(ctx, path)
	if err != nil {
		return err
	}
	same := bytes.Equal(n.Data, data)
	if mode&Ephemeral != 0 {
		same = n.Stat.EphemeralOwner == c.SessionID()
	}
	if !same {
		return ErrNodeExists
	}
	return nil
}

// Ensure makes a persistent znode and its parents where they are missing, all with null data except the last.
func (c *Client) Ensure(ctx context.Context, path string, data []byte) error {
	_, err := c.Create(ctx, path, data, Persistent)
	if errors.Is(err, ErrNoNode) {
		if i := strings.LastIndexByte(path, '/'); i > 0 {
			if err := c.Ensure(ctx, path[:i], nil); err != nil {
				return err
			}
			_, err = c.Create(ctx, path, data, Persistent)
		}
	}
	if errors.Is(err, ErrNodeExists) {
		return nil
	}
	return err
}

// Set writes a znode's data if its version is the given one.
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	if len(data) > dataMax {
		return Stat{}, fmt.Errorf("%w: %d bytes for %s", ErrTooLarge, len(data), path)
	}
	st, lost, err := write(ctx, c, func() (Stat, error) {
		stat, err := c.wire.Set(c.full(path), data, version)
		return statOf(stat), err
	})
	if lost && errors.Is(err, ErrBadVersion) {
		n, gerr := c.Get(ctx, path)
		if gerr == nil && n.Stat.Version == version+1 && bytes.Equal(n.Data, data) {
			return n.Stat, nil
		}
	}
	return st, err
}

// Delete removes a znode if its version is the given one.
func (c *Client) Delete(ctx context.Context, path string, version int32) error {
	_, lost, err := write(ctx, c, func() (struct{}, error) { return struct{}{}, c.wire.Delete(c.full(path), version) })
	if lost && errors.Is(err, ErrNoNode) {
		return nil
	}
	return err
}

// Multi carries out all operations or none. When an attempt was lost with its connection and a repetition failed, the
// error is an ErrUnknownOutcome as well: the first attempt may be what made the second one fail, so look.
func (c *Client) Multi(ctx context.Context, ops ...Op) ([]Result, error) {
	reqs := make([]any, len(ops))
	size := 0
	for i, op := range ops {
		size += len(op.data) + len(op.path)
		switch op.kind {
		case opCreate:
			reqs[i] = &zk.CreateRequest{Path: c.full(op.path), Data: op.data, Acl: c.aclFor(op.path), Flags: int32(op.mode)}
		case opSet:
			reqs[i] = &zk.SetDataRequest{Path: c.full(op.path), Data: op.data, Version: op.version}
		case opDelete:
			reqs[i] = &zk.DeleteRequest{Path: c.full(op.path), Version: op.version}
		case opCheck:
			reqs[i] = &zk.CheckVersionRequest{Path: c.full(op.path), Version: op.version}
		}
	}
	if size > dataMax {
		return nil, fmt.Errorf("%w: a multi of %d bytes", ErrTooLarge, size)
	}
	answers, lost, err := write(ctx, c, func() ([]zk.MultiResponse, error) { return c.wire.Multi(reqs...) })
	results := make([]Result, len(answers))
	for i, a := range answers {
		results[i] = Result{Path: strings.TrimPrefix(a.String, c.addr.Chroot), Stat: statOf(a.Stat), Err: a.Error}
	}
	if err != nil && lost && !errors.Is(err, ErrSessionExpired) && !errors.Is(err, ErrClosed) {
		err = errors.Join(ErrUnknownOutcome, err)
	}
	return results, err
}

// ACL returns who may do what with a znode, as "perms:scheme:id".
func (c *Client) ACL(ctx context.Context, path string) ([]string, error) {
	return read(ctx, c, func() ([]string, error) {
		acl, _, err := c.wire.GetACL(c.full(path))
		out := make([]string, len(acl))
		for i, a := range acl {
			out[i] = fmt.Sprintf("%d:%s:%s", a.Perms, a.Scheme, a.ID)
		}
		return out, err
	})
}
