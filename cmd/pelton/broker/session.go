package broker

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/internal/disk"
)

// sessionFileName is kept in the first log directory; Kafka leaves files that it does not know alone.
const sessionFileName = "pelton.session"

// sessionFile remembers the coordination session of this data directory's last owner. After a crash that session still holds the
// broker's registration until it times out; the directory's lock proves that its owner is dead, so it may be taken over at once.
type sessionFile struct {
	fs   disk.FS
	path string
	log  *slog.Logger
}

// read is the last session, 0 when there is none.
func (s sessionFile) read() int64 {
	b, err := s.fs.ReadFile(s.path)
	if err != nil {
		return 0
	}
	id, err := strconv.ParseInt(strings.TrimSpace(string(b)), 16, 64)
	if err != nil {
		s.log.Warn("session file is not a number and is ignored", "path", s.path)
		return 0
	}
	return id
}

// write keeps a session for the next start. Without it a restart after a crash waits for the old session's end.
func (s sessionFile) write(id int64) {
	err := s.fs.MkdirAll(filepath.Dir(s.path))
	if err == nil {
		err = s.fs.WriteFileAtomic(s.path, fmt.Appendf(nil, "%x\n", id))
	}
	if err != nil {
		s.log.Warn("session file not written", "err", err.Error())
	}
}
