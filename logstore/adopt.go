package logstore

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/pelton-broker/pelton/internal/disk"
)

// Orphan is a topic whose partitions lie in the log directories while coordination does not know it.
type Orphan struct {
	Topic      string
	TopicID    [16]byte // of partition.metadata; zero when no partition has one
	Partitions []OrphanPartition
	Magic      int8 // highest format of a batch that was looked at; -1 without any
}

// OrphanPartition is one of its directories.
type OrphanPartition struct {
	Partition int32
	Path      string
	Epoch     int32 // highest leader epoch in its files; -1 without any
}

// Count is the number of partitions that the topic must have had.
func (o *Orphan) Count() int32 { return o.Partitions[len(o.Partitions)-1].Partition + 1 }

// Unclaimed marks every partition found whose topic claimed does not know: they are left as they are, and Open makes nothing in their place.
// foreign are directories that are named like partitions and hold no file of a log: nobody's, and left alone too.
func (m *Manager) Unclaimed(claimed func(TopicPartition) bool) (orphans []TopicPartition, foreign []string, err error) {
	for _, tp := range m.Found() {
		if claimed(tp) {
			continue
		}
		m.mu.Lock()
		d, open := m.mu.found[tp], m.mu.logs[tp] != nil
		m.mu.Unlock()
		if open || d.Offline() != nil { // its topic came this moment
			continue
		}
		path := filepath.Join(d.path, tp.String())
		is, err := isPartition(m.opt.FS, path)
		if err != nil {
			return nil, nil, err
		}
		m.mu.Lock()
		m.mu.unclaimed[tp] = path
		if !is {
			delete(m.mu.found, tp)
		}
		m.mu.Unlock()
		m.left(d, tp) // nobody opens it
		if is {
			orphans = append(orphans, tp)
		} else {
			foreign = append(foreign, path)
		}
	}
	return orphans, foreign, nil
}

// UnclaimedPath is the directory of an earlier topic of that name that nobody adopted, "" without one. Any thread.
func (m *Manager) UnclaimedPath(topic string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := ""
	for tp, path := range m.mu.unclaimed {
		if tp.Topic == topic && (first == "" || path < first) {
			first = path
		}
	}
	return first
}

// isPartition reports whether a directory has a log, or what Kafka puts beside one, or is empty: a crash came right after it was made.
func isPartition(f disk.FS, path string) (bool, error) {
	entries, err := f.ReadDir(path)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if _, _, ok := parseFileName(e.Name()); ok || e.Name() == partitionFile || e.Name() == epochFile {
			return true, nil
		}
	}
	return len(entries) == 0, nil
}

// Survey reads what unclaimed partitions say about their topics, by name. It changes nothing. ErrAdopt when two of them say otherwise, or when
// a log directory is offline, since what lies there would be missing.
func (m *Manager) Survey(orphans []TopicPartition) ([]Orphan, error) {
	for _, d := range m.dirs {
		if err := d.Offline(); err != nil {
			return nil, fmt.Errorf("%w: log directory %s is offline, and its partitions would be missing: %w", ErrAdopt, d.path, err)
		}
	}
	topics := map[string]*Orphan{}
	named := map[string]string{} // topic → file that gave its id
	for _, tp := range orphans {
		m.mu.Lock()
		d := m.mu.found[tp]
		m.mu.Unlock()
		if d == nil {
			return nil, fmt.Errorf("%w: %s", ErrNotFound, tp)
		}
		t := topics[tp.Topic]
		if t == nil {
			t = &Orphan{Topic: tp.Topic, Magic: -1}
			topics[tp.Topic] = t
		}
		path := filepath.Join(d.path, tp.String())
		if err := m.surveyID(t, named, path); err != nil {
			return nil, err
		}
		p := OrphanPartition{Partition: tp.Partition, Path: path, Epoch: -1}
		if err := m.surveyLog(t, &p); err != nil {
			return nil, err
		}
		t.Partitions = append(t.Partitions, p)
	}
	out := make([]Orphan, 0, len(topics))
	for _, t := range topics {
		sort.Slice(t.Partitions, func(i, j int) bool { return t.Partitions[i].Partition < t.Partitions[j].Partition })
		out = append(out, *t)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Topic < out[j].Topic })
	return out, nil
}

// Format is the highest format of the batches that Survey would look at, -1 without one.
func (m *Manager) Format(tp TopicPartition) (int8, error) {
	m.mu.Lock()
	d := m.mu.found[tp]
	m.mu.Unlock()
	if d == nil {
		return -1, ErrNotFound
	}
	t, p := Orphan{Magic: -1}, OrphanPartition{Path: filepath.Join(d.path, tp.String())}
	err := m.surveyLog(&t, &p)
	return t.Magic, err
}

// Adopted forgets that partitions were unclaimed: their topic is registered, and Open takes them.
func (m *Manager) Adopted(topic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for tp := range m.mu.unclaimed {
		if tp.Topic != topic {
			continue
		}
		delete(m.mu.unclaimed, tp)
		if d := m.mu.found[tp]; d != nil && !d.clean {
			d.recover.join(tp)
		}
	}
}

// surveyID compares a partition's topic id with that of the topic's other partitions.
func (m *Manager) surveyID(t *Orphan, named map[string]string, dir string) error {
	path := filepath.Join(dir, partitionFile)
	b, err := m.opt.FS.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(b) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	id, err := decodePartition(b)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrAdopt, path, err)
	}
	if other := named[t.Topic]; other != "" && id != t.TopicID {
		return fmt.Errorf("%w: %s has topic id %s, %s has %s", ErrAdopt, other, base64.RawURLEncoding.EncodeToString(t.TopicID[:]),
			path, base64.RawURLEncoding.EncodeToString(id[:]))
	}
	t.TopicID, named[t.Topic] = id, path
	return nil
}

// surveyLog looks at the first batch of every segment, and in the last one at every batch behind its last index entry.
func (m *Manager) surveyLog(t *Orphan, p *OrphanPartition) error {
	entries, err := m.opt.FS.ReadDir(p.Path)
	if err != nil {
		return err
	}
	if b, err := m.opt.FS.ReadFile(filepath.Join(p.Path, epochFile)); err == nil {
		if list, err := decodeEpochs(b); err == nil && len(list) > 0 { // a damaged one is made anew when the log is opened
			p.Epoch = list[len(list)-1].Epoch
		}
	}
	var logs []int64
	for _, e := range entries {
		if base, suffix, ok := parseFileName(e.Name()); ok && suffix == sufLog {
			logs = append(logs, base)
		}
	}
	sort.Slice(logs, func(i, j int) bool { return logs[i] < logs[j] })
	for i, base := range logs {
		if err := m.surveySegment(t, p, base, i == len(logs)-1); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) surveySegment(t *Orphan, p *OrphanPartition, base int64, last bool) error {
	stem := filepath.Join(p.Path, fileName(base, ""))
	f, err := m.opt.FS.OpenFile(stem+sufLog, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil {
		err = surveyBatches(t, p, f, 0, size, true)
	}
	if err == nil && last {
		from := lastIndexed(m.opt.FS, stem+sufIndex, size)
		err = surveyBatches(t, p, f, from, size, false)
	}
	return errors.Join(err, f.Close())
}

// surveyBatches reads headers. Damage ends it: opening the log judges that, and how it is registered does not depend on it.
func surveyBatches(t *Orphan, p *OrphanPartition, f *disk.File, from, size int64, one bool) error {
	var s scanner
	for s.reset(f, from, size, false); ; {
		e, _, _, err := s.next()
		var bad *CorruptError
		if err == io.EOF || errors.As(err, &bad) {
			return nil
		}
		if err != nil {
			return err
		}
		t.Magic = max(t.Magic, e.Magic)
		if e.Magic == 2 {
			p.Epoch = max(p.Epoch, e.LeaderEpoch)
		}
		if one {
			return nil
		}
	}
}

// lastIndexed is the position that the last entry of an offset index names; 0 when the file gives none that can be right.
func lastIndexed(f disk.FS, path string, size int64) int64 {
	b, err := f.ReadFile(path)
	if err != nil {
		return 0
	}
	b = trimZeros(b, offsetEntry)
	if len(b) == 0 {
		return 0
	}
	if pos := int64(binary.BigEndian.Uint32(b[len(b)-4:])); pos < size {
		return pos
	}
	return 0
}
