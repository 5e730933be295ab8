package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var (
	// ErrRefused is returned when this machine cannot change a setting; the message says which and why.
	ErrRefused = errors.New("lab: this machine cannot change")
	// ErrUnrestored is returned when a journal of an earlier run is still there: its settings come first.
	ErrUnrestored = errors.New("lab: an earlier run did not restore its settings: pelton lab restore")
)

// Host is the machine's settings as files; tests have one in memory.
type Host interface {
	Read(path string) (string, error)
	Write(path, value string) error
	Find(pattern string) ([]string, error) // the settings that a pattern fits
}

// Machine is the real host.
type Machine struct{}

// Read gives a setting's value; where a file lists its choices, the chosen one.
func (Machine) Read(path string) (string, error) {
	if point, ok := strings.CutPrefix(path, "mount:"); ok {
		return mountOption(point)
	}
	b, err := os.ReadFile(path)
	v := strings.TrimSpace(string(b))
	if _, rest, ok := strings.Cut(v, "["); ok {
		if chosen, _, ok := strings.Cut(rest, "]"); ok {
			v = chosen
		}
	}
	return strings.Join(strings.Fields(v), " "), err
}

// Write sets a value.
func (Machine) Write(path, value string) error {
	if point, ok := strings.CutPrefix(path, "mount:"); ok {
		return remount(point, value)
	}
	return os.WriteFile(path, []byte(value), 0)
}

// Find lists the settings that a pattern fits.
func (Machine) Find(pattern string) ([]string, error) {
	if strings.HasPrefix(pattern, "mount:") {
		return []string{pattern}, nil
	}
	return filepath.Glob(pattern)
}

// change is a setting that was changed and the value it had.
type change struct {
	Path string `json:"path"`
	Old  string `json:"old"`
}

// Journal keeps the old values of changed settings on disk, from before the change until after its restoring.
type Journal struct {
	path    string
	host    Host
	changes []change
}

// OpenJournal starts a journal at path; there must be none.
func OpenJournal(path string, host Host) (*Journal, error) {
	if _, err := os.Stat(path); err == nil {
		return nil, fmt.Errorf("%w (journal %s)", ErrUnrestored, path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return &Journal{path: path, host: host}, nil
}

// Set changes a setting, its old value being safe first. A value that does not take is refused.
func (j *Journal) Set(path, value string) error {
	old, err := j.host.Read(path)
	if err != nil {
		return fmt.Errorf("%w %s: %w", ErrRefused, path, err)
	}
	if old == value {
		return nil
	}
	if !slices.ContainsFunc(j.changes, func(c change) bool { return c.Path == path }) {
		j.changes = append(j.changes, change{path, old})
		if err := j.save(); err != nil {
			return err
		}
	}
	if err := j.host.Write(path, value); err != nil {
		return fmt.Errorf("%w %s to %q: %w", ErrRefused, path, value, err)
	}
	if now, err := j.host.Read(path); err != nil || now != value {
		return fmt.Errorf("%w %s to %q: it reads %q afterwards", ErrRefused, path, value, now)
	}
	return nil
}

// save writes the journal and has it on the disk before it returns.
func (j *Journal) save() error {
	b, err := json.Marshal(j.changes)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(j.path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(j.path + ".new")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(j.path+".new", j.path)
}

// Restore writes the old values back, newest first, and ends the journal. What cannot be restored stays in it.
func (j *Journal) Restore() error {
	var left []change
	var errs error
	for _, c := range slices.Backward(j.changes) {
		if err := j.host.Write(c.Path, c.Old); err != nil {
			left = append([]change{c}, left...)
			errs = errors.Join(errs, fmt.Errorf("restoring %s to %q: %w", c.Path, c.Old, err))
		}
	}
	j.changes = left
	if len(left) > 0 {
		return errors.Join(errs, j.save())
	}
	if err := os.Remove(j.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RestoreFrom restores what a run that ended badly has left. It returns the paths; none without a journal.
func RestoreFrom(path string, host Host) ([]string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	j := &Journal{path: path, host: host}
	if err := json.Unmarshal(b, &j.changes); err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	var paths []string
	for _, c := range j.changes {
		paths = append(paths, c.Path)
	}
	return paths, j.Restore()
}

// settingPath is the file behind a knob of the machine; empty for the other kinds.
func (k Knob) settingPath() string {
	switch k.Kind {
	case KnobSysctl:
		return "/proc/sys/" + strings.ReplaceAll(k.Name, ".", "/")
	case KnobFile:
		return k.Name
	case KnobBroker, KnobWorkload, KnobSetting:
	}
	return ""
}
