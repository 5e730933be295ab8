package txnlog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelton-broker/pelton/internal/disk"
)

// Import reads the snapshots and logs of another server, Apache's of 3.4 to 3.9 among them, and writes what they amount to as one snapshot
// into an empty directory. The source is only read. Sessions come along, so that the time of their ephemerals runs from the first start.
func Import(fs disk.FS, snapDir, logDir, to string) (*Recovered, error) {
	for _, prefix := range []string{"snapshot", "log"} {
		if old, err := list(fs, to, prefix); err != nil || len(old) > 0 {
			return nil, errors.Join(err, fmt.Errorf("%w: %s", ErrOccupied, to))
		}
	}
	if err := refuseCompressed(fs, snapDir); err != nil {
		return nil, err
	}
	snaps, err := list(fs, snapDir, "snapshot")
	if err != nil {
		return nil, err
	}
	logs, err := list(fs, logDir, "log")
	if err != nil {
		return nil, err
	}
	if len(snaps)+len(logs) == 0 {
		return nil, fmt.Errorf("%w: there are no snapshots in %s and no logs in %s", ErrNoSnapshot, snapDir, logDir)
	}
	rec, err := recoverFrom(fs, snapDir, logDir, true)
	if err != nil {
		return nil, err
	}
	snap := BeginSnapshot(rec.Tree, rec.Sessions)
	snap.Zxid = rec.Zxid
	w, err := NewSnapshotWriter(fs, to, rec.Zxid)
	if err != nil {
		return nil, err
	}
	var piece []byte
	for done := false; !done; {
		piece, done = snap.Piece(piece[:0], importPiece)
		if err := w.Write(piece); err != nil {
			w.Abandon()
			return nil, err
		}
	}
	return rec, w.Finish()
}

// importPiece is how much of the tree is serialised at once.
const importPiece = 1 << 20

func refuseCompressed(fs disk.FS, dir string) error {
	entries, err := fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, "snapshot.") && (strings.HasSuffix(n, ".gz") || strings.HasSuffix(n, ".snappy")) {
			return fmt.Errorf("%w: %s", ErrCompressed, n)
		}
	}
	return nil
}
