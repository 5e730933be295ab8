package txnlog

import "github.com/pelton-broker/pelton/internal/disk"

// Purge deletes all but the newest keep snapshots, and the logs that none of those needs. Returns how many files went.
func Purge(fs disk.FS, snapDir, logDir string, keep int) (int, error) {
	snaps, err := list(fs, snapDir, "snapshot")
	if err != nil || len(snaps) <= keep {
		return 0, err
	}
	oldest := snaps[len(snaps)-keep].zxid
	logs, err := list(fs, logDir, "log")
	if err != nil {
		return 0, err
	}
	// The log that holds oldest+1 may begin before it.
	first := 0
	for i, l := range logs {
		if l.zxid <= oldest+1 {
			first = i
		}
	}
	gone := 0
	for _, f := range append(snaps[:len(snaps)-keep], logs[:first]...) {
		if err := fs.Remove(f.path); err != nil && !isNotExist(err) {
			return gone, err
		}
		gone++
	}
	return gone, nil
}
