package txnlog

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// Recovered is the state that the files held.
type Recovered struct {
	Tree     *tree.Tree
	Sessions map[int64]int32 // timeouts in milliseconds of the sessions that are open
	Zxid     int64           // of the last transaction
	// MaxSession is the largest session id ever seen here.
	MaxSession int64
	Snapshot   int64 // zxid of the snapshot it began with, -1 when there was none
	Replayed   int
	Torn       []string // log files with a torn tail that was passed over
	Unsound    []error  // snapshots that were passed over
}

// Recover reads the newest sound snapshot and every transaction after it, and removes snapshots that were never finished. Directories without files
// yield a fresh tree.
func Recover(fs disk.FS, snapDir, logDir string) (*Recovered, error) {
	if err := dropUnfinished(fs, snapDir); err != nil {
		return nil, err
	}
	return recoverFrom(fs, snapDir, logDir, false)
}

// recoverFrom is Recover; readOnly leaves the files as they are, their durability included.
func recoverFrom(fs disk.FS, snapDir, logDir string, readOnly bool) (*Recovered, error) {
	out, err := newestSnapshot(fs, snapDir)
	if err != nil {
		return nil, err
	}
	logs, err := list(fs, logDir, "log")
	if err != nil {
		return nil, err
	}
	from := 0
	for i, l := range logs {
		if l.zxid <= out.Zxid+1 {
			from = i
		}
	}
	for i := from; i < len(logs); i++ {
		if err := out.replay(fs, logs[i].path, i == len(logs)-1 && !readOnly); err != nil {
			return nil, err
		}
	}
	for _, err := range out.Unsound {
		var c *CorruptError
		if errors.As(err, &c) && c.zxid > out.Zxid {
			return nil, fmt.Errorf("%w: the logs end at 0x%x, before %w", ErrGap, out.Zxid, err)
		}
	}
	out.dropOrphans()
	return out, nil
}

// dropUnfinished removes what a killed process had not made whole: a snapshot may be large, and nobody would ever look at it again.
func dropUnfinished(fs disk.FS, dir string) error {
	entries, err := fs.ReadDir(dir)
	if err != nil {
		if isNotExist(err) {
			return nil
		}
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tmpSnapshot+".") || strings.HasPrefix(e.Name(), tmpReceived+".") {
			if err := fs.Remove(dir + "/" + e.Name()); err != nil && !isNotExist(err) {
				return err
			}
		}
	}
	return nil
}

func newestSnapshot(fs disk.FS, dir string) (*Recovered, error) {
	snaps, err := list(fs, dir, "snapshot")
	if err != nil {
		return nil, err
	}
	out := &Recovered{Snapshot: -1}
	for i := len(snaps) - 1; i >= 0; i-- {
		t, sessions, err := loadSnapshot(fs, snaps[i].path, nil)
		if err != nil {
			var c *CorruptError
			if !errors.As(err, &c) {
				return nil, err
			}
			c.zxid = snaps[i].zxid
			out.Unsound = append(out.Unsound, err)
			continue
		}
		t.Zxid = snaps[i].zxid
		out.Tree, out.Sessions, out.Zxid, out.Snapshot = t, sessions, snaps[i].zxid, snaps[i].zxid
		for id := range sessions {
			out.MaxSession = max(out.MaxSession, id)
		}
		return out, nil
	}
	if len(snaps) > 0 {
		// Every log may be needed then, but nothing says whether the first one is still there: the replay finds out.
		out.Unsound = append(out.Unsound, ErrNoSnapshot)
	}
	out.Tree, out.Sessions = tree.New(), map[int64]int32{}
	return out, nil
}

// replay applies one log file.
func (o *Recovered) replay(fs disk.FS, path string, last bool) error {
	f, err := fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = o.replayFile(f)
	if err == nil && last {
		// What a killed process left in the page cache only becomes the server's promise now.
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (o *Recovered) replayFile(f *disk.File) error {
	s, err := newScanner(f)
	if err != nil {
		return err
	}
	if sound, err := s.begin(); err != nil || !sound {
		return err
	}
	seen := int64(0)
	var res tree.Result
	for {
		rec, ok, err := s.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		x := rec.txn
		seen = x.Zxid
		if x.Zxid <= o.Zxid {
			continue
		}
		if !follows(o.Zxid, x.Zxid) {
			return fmt.Errorf("%w: %s goes on with 0x%x after 0x%x", o.gap(), f.Path(), x.Zxid, o.Zxid)
		}
		o.apply(x, &res)
	}
	torn, err := s.tail(seen)
	if torn {
		o.Torn = append(o.Torn, f.Path())
	}
	return err
}

func (o *Recovered) gap() error {
	if o.Snapshot < 0 && o.Replayed == 0 {
		return errors.Join(append([]error{ErrNoSnapshot}, o.Unsound...)...)
	}
	return ErrGap
}

// follows says whether b may come right after a: the next number, or the beginning of a later epoch.
func follows(a, b int64) bool {
	return b == a+1 || b>>32 > a>>32 && b&0xFFFFFFFF <= 1
}

func (o *Recovered) apply(x *tree.Txn, res *tree.Result) {
	switch x.Op {
	case jute.OpCreateSession:
		o.Sessions[x.Session] = x.TimeoutMs
	case jute.OpCloseSession:
		delete(o.Sessions, x.Session)
	}
	o.MaxSession = max(o.MaxSession, x.Session)
	o.Tree.Apply(x, res)
	o.Tree.TakeEvents()
	o.Zxid = x.Zxid
	o.Replayed++
}

// dropOrphans removes ephemerals whose session is gone: none, unless the snapshot was taken between the two.
func (o *Recovered) dropOrphans() {
	var res tree.Result
	for _, id := range o.Tree.Owners() {
		if _, ok := o.Sessions[id]; !ok {
			o.Tree.Apply(&tree.Txn{Op: jute.OpCloseSession, Session: id, Zxid: o.Zxid}, &res)
		}
	}
}
