package server

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/zk/txnlog"
)

var (
	// errTooOften is returned when a snapshot is asked for while one is written, or before admin.snapshot.intervalInMS is over.
	errTooOften = errors.New("zk/server: a snapshot was taken a moment ago, or is being written")
	// errAbandoned is returned for a snapshot that ended before it was whole: the server stops, or its state came from the leader.
	errAbandoned = errors.New("zk/server: the snapshot was given up")
)

// snapshotTaken is what came of a snapshot that somebody waits for.
type snapshotTaken struct {
	zxid int64
	err  error
}

// adminSnapshot takes a snapshot and sends it, for the superuser alone: unlike Apache's, which asks for all permissions on the root, that is for anybody
// as long as nobody has changed its list.
func (s *Server) adminSnapshot(w http.ResponseWriter, r *http.Request) {
	given := r.Header.Get("Authorization")
	if given == "" {
		adminFails(w, http.StatusUnauthorized, "Auth info is missing for the command")
		return
	}
	scheme, credential, _ := strings.Cut(given, " ")
	if s.o.SuperDigest == "" || scheme != "digest" || subtle.ConstantTimeCompare([]byte(DigestID(credential)), []byte(s.o.SuperDigest)) != 1 {
		adminFails(w, http.StatusUnauthorized, "Not authenticated")
		return
	}
	taken := s.takeSnapshot()
	switch {
	case errors.Is(taken.err, errTooOften):
		adminFails(w, http.StatusTooManyRequests, taken.err.Error())
	case taken.err != nil:
		adminFails(w, http.StatusInternalServerError, taken.err.Error())
	default:
		s.sendSnapshot(w, taken.zxid, r.URL.Query().Get("streaming") != "false")
	}
}

func adminFails(w http.ResponseWriter, status int, text string) {
	var b strings.Builder
	appendPretty(&b, object{{"command", "snapshot"}, {"error", text}}, "")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, b.String())
}

// takeSnapshot has the loop begin one and waits until it is whole.
func (s *Server) takeSnapshot() snapshotTaken {
	c := make(chan snapshotTaken, 1)
	_, err := ask(s, func(l *loop) struct{} {
		switch since := l.nowMs - l.snap.askedMs; {
		case l.mute("snapshot"):
			c <- snapshotTaken{err: errNotServing}
		case l.snap.busy || l.snap.askedMs != 0 && since < int64(l.o.Admin.SnapshotEveryMs):
			c <- snapshotTaken{err: errTooOften}
		default:
			l.snap.asked, l.snap.askedMs = c, l.nowMs
			l.beginSnapshot()
		}
		return struct{}{}
	})
	if err != nil {
		return snapshotTaken{err: err}
	}
	select {
	case t := <-c:
		return t
	case <-s.done:
		return snapshotTaken{err: errEnded}
	}
}

// sendSnapshot sends the file, with its zxid and size in headers of the names that Apache gives them.
func (s *Server) sendSnapshot(w http.ResponseWriter, zxid int64, body bool) {
	f, err := s.o.FS.OpenFile(filepath.Join(s.o.DataDir, txnlog.Sub, "snapshot."+strconv.FormatInt(zxid, 16)), os.O_RDONLY, 0)
	if err != nil {
		adminFails(w, http.StatusInternalServerError, err.Error())
		return
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		adminFails(w, http.StatusInternalServerError, err.Error())
		return
	}
	h := w.Header()
	h["last_zxid"], h["snapshot_size"] = []string{fmt.Sprintf("0x%x", zxid)}, []string{strconv.FormatInt(size, 10)}
	if !body {
		h.Set("Content-Type", "application/json")
		var b strings.Builder
		appendPretty(&b, object{{"command", "snapshot"}, {"error", nil}}, "")
		_, _ = io.WriteString(w, b.String())
		return
	}
	// A large one takes longer than an answer may; it is the superuser's, and one at a time.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	_, _ = io.Copy(w, io.NewSectionReader(f, 0, size))
}
