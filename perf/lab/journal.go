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
	began   bool // the file is there, and ours
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
	if sameSetting(path, old, value) {
		return nil
	}
	if err := j.remember(path, old); err != nil {
		return err
	}
	if err := j.host.Write(path, value); err != nil {
		return fmt.Errorf("%w %s to %q: %w", ErrRefused, path, value, err)
	}
	if now, err := j.host.Read(path); err != nil || !sameSetting(path, now, value) {
		return fmt.Errorf("%w %s to %q: it reads %q afterwards", ErrRefused, path, value, now)
	}
	return nil
}

// remember has a setting's old value safe, and that of its twin, which the change will put to nothing.
func (j *Journal) remember(path, old string) error {
	if j.changeOf(path).Path != "" {
		return nil
	}
	if twin := twinOf(path); twin != "" && old == "0" && j.changeOf(twin).Path == "" {
		was, err := j.host.Read(twin)
		if err != nil {
			return fmt.Errorf("%w %s: %w", ErrRefused, twin, err)
		}
		j.changes = append(j.changes, change{twin, was})
	}
	j.changes = append(j.changes, change{path, old})
	return j.save()
}

// twinOf is the setting that says the same in another unit: the kernel knows one of the two, puts the other to 0 when one is
// written, and takes no 0 for the one in bytes. So what stood at 0 comes back by writing its twin.
func twinOf(path string) string {
	dir, name := filepath.Split(path)
	if dir != "/proc/sys/vm/" {
		return ""
	}
	switch name {
	case "dirty_bytes", "dirty_background_bytes", "overcommit_kbytes":
		return dir + name[:strings.LastIndex(name, "_")] + "_ratio"
	case "dirty_ratio", "dirty_background_ratio":
		return dir + strings.TrimSuffix(name, "ratio") + "bytes"
	case "overcommit_ratio":
		return dir + "overcommit_kbytes"
	}
	return ""
}

// sameSetting is true for two ways to write one value: masks of processors come back with zeros in front and commas.
func sameSetting(path, a, b string) bool {
	switch filepath.Base(path) {
	case "smp_affinity", "rps_cpus", "xps_cpus":
		plain := func(s string) string { return strings.TrimLeft(strings.ToLower(strings.ReplaceAll(s, ",", "")), "0") }
		return plain(a) == plain(b)
	}
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// save writes the journal and has it on the disk before it returns. The first time there must be none: two runs at once would
// each take the other's values for the old ones.
func (j *Journal) save() error {
	b, err := json.Marshal(j.changes)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(j.path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(j.path), filepath.Base(j.path)+".new")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if j.began {
		return os.Rename(f.Name(), j.path)
	}
	if err = os.Link(f.Name(), j.path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w (journal %s, of a run that is going on)", ErrUnrestored, j.path)
	}
	j.began = err == nil
	return err
}

// Restore writes the old values back, newest first, and ends the journal. What cannot be restored stays in it.
func (j *Journal) Restore() error {
	if !j.began {
		return nil // nothing was changed
	}
	var left []change
	var errs error
	for _, c := range slices.Backward(j.changes) {
		if err := j.putBack(c); err != nil {
			left = append([]change{c}, left...)
			errs = errors.Join(errs, fmt.Errorf("restoring %s to %q: %w", c.Path, c.Old, err))
		}
	}
	j.changes = left
	if len(left) > 0 {
		return errors.Join(errs, j.save())
	}
	j.began = false
	if err := os.Remove(j.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Undo puts one setting back, with its twin, while the run goes on.
func (j *Journal) Undo(path string) error {
	for _, c := range slices.Backward(j.changes) {
		if c.Path != path && c.Path != twinOf(path) {
			continue
		}
		if err := j.putBack(c); err != nil {
			return fmt.Errorf("restoring %s to %q: %w", c.Path, c.Old, err)
		}
	}
	return nil
}

// changeOf is a setting's entry; an empty one when it has none.
func (j *Journal) changeOf(path string) change {
	for _, c := range j.changes {
		if c.Path == path {
			return c
		}
	}
	return change{}
}

// stands is true when a setting has its old value, or was never changed.
func (j *Journal) stands(c change) bool {
	if c.Path == "" {
		return true
	}
	now, err := j.host.Read(c.Path)
	return err == nil && sameSetting(c.Path, now, c.Old)
}

// putBack writes an old value and looks whether it is there.
func (j *Journal) putBack(c change) error {
	if c.Old == "0" && strings.HasSuffix(c.Path, "bytes") && twinOf(c.Path) != "" {
		return nil // its twin, which comes next, leaves it so
	}
	if j.stands(c) && j.stands(j.changeOf(twinOf(c.Path))) {
		return nil // what could not be changed cannot be written now either
	}
	if err := j.host.Write(c.Path, c.Old); err != nil {
		return err
	}
	now, err := j.host.Read(c.Path)
	if err == nil && !sameSetting(c.Path, now, c.Old) {
		err = fmt.Errorf("it reads %q afterwards", now)
	}
	return err
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
	j := &Journal{path: path, host: host, began: true}
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
