package server

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/internal/disk"
)

// breaking is a disk whose durable writes fail from some moment on.
type breaking struct {
	disk.Disk
	broken *atomic.Bool
	err    error
}

func (b breaking) Reap(dst []*disk.Op) []*disk.Op {
	from := len(dst)
	dst = b.Disk.Reap(dst)
	for _, op := range dst[from:] {
		if b.broken.Load() && op.Durable {
			op.Err = b.err
		}
	}
	return dst
}

// A write to the log that fails ends the server loudly: nobody is told that his write is safe, nobody connects any more, the owner is told,
// and the next start has everything that was answered.
func TestServerEndsWhenItsLogFails(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		t.Run(cause.Error(), func(t *testing.T) {
			dir := t.TempDir()
			broken := &atomic.Bool{}
			fatal := make(chan error, 1)
			s := start(t, dir, func(o *Options) {
				o.WrapDisk = func(d disk.Disk) disk.Disk { return breaking{d, broken, cause} }
				o.Fatal = func(err error) { fatal <- err }
			})
			addr := s.Addr().String()
			c, _ := dial(t, s)
			defer c.Close()
			for i := range 10 {
				must[string](t)(c.Create(fmt.Sprintf("/safe-%d", i), nil, 0, zk.WorldACL(zk.PermAll)))
			}
			broken.Store(true)
			if _, err := c.Create("/lost", nil, 0, zk.WorldACL(zk.PermAll)); err == nil {
				t.Fatal("a write that failed was answered as done")
			}
			select {
			case err := <-fatal:
				if !errors.Is(err, cause) {
					t.Fatalf("told %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the owner was not told")
			}
			if nc, err := net.Dial("tcp", addr); err == nil {
				nc.Close()
				t.Fatal("it still listens")
			}
			if err := s.Stop(); !errors.Is(err, cause) {
				t.Fatalf("stop: %v", err)
			}
			s = start(t, dir, nil)
			defer stop(t, s)
			again, _ := dial(t, s)
			defer again.Close()
			for i := range 10 {
				if there, _, err := again.Exists(fmt.Sprintf("/safe-%d", i)); err != nil || !there {
					t.Fatalf("/safe-%d is lost: %v", i, err)
				}
			}
		})
	}
}
