package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pelton-broker/pelton/internal/task"
	"github.com/pelton-broker/pelton/perf/lab"
	"github.com/pelton-broker/pelton/perf/load"
)

// labCommand runs experiments on settings.
func labCommand(std streams) *cobra.Command {
	c := &cobra.Command{
		Use:     "lab",
		Short:   "Find out what a setting of the broker or the kernel does, with intervals",
		Example: "  pelton lab run examples/lab/disk-backend.yaml --html report.html   # the file says what is varied",
	}
	var f labFlags
	var settingsDir string
	var settingsJSON, restoreJSON bool
	run := &cobra.Command{
		Use:     "run FILE",
		Short:   "Run an experiment and say what each knob does",
		Example: "  pelton lab run examples/lab/disk-backend.yaml --html report.html --csv runs.csv",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runLab(cmd.Context(), args[0], f, std) },
	}
	run.Flags().BoolVar(&f.json, "json", false, "print JSON")
	run.Flags().StringVar(&f.html, "html", "", "write a report to this file")
	run.Flags().StringVar(&f.csv, "csv", "", "write every run to this file")
	run.Flags().StringVar(&f.dir, "dir", "", "directory of the brokers' data, on the disk to be measured (default: a temporary one)")
	run.Flags().IntVar(&f.repetitions, "repetitions", 0, "instead of the file's")
	run.Flags().DurationVar(&f.duration, "duration", 0, "of each run, instead of the file's; without a warm-up then")
	settings := &cobra.Command{
		Use:     "settings",
		Example: "  pelton lab settings --dir /var/lib/pelton   # its disk and mount are meant",
		Short:   "List the names that a knob of kind setting may have, what each turns, and how it stands here or why it cannot be turned",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return printSettings(std, settingsDir, settingsJSON) },
	}
	settings.Flags().StringVar(&settingsDir, "dir", os.TempDir(), "directory whose disk and mount are meant")
	settings.Flags().BoolVar(&settingsJSON, "json", false, "print JSON")
	restore := &cobra.Command{
		Use:     "restore",
		Example: "  pelton lab restore",
		Short:   "Put back the settings that a run that ended badly has left changed",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			paths, err := lab.RestoreFrom(labJournal(), lab.Machine{})
			if restoreJSON {
				return errors.Join(err, printJSON(std.out, map[string]any{"restored": append([]string{}, paths...)}))
			}
			for _, p := range paths {
				fmt.Fprintln(std.out, "restored", p)
			}
			return err
		},
	}
	restore.Flags().BoolVar(&restoreJSON, "json", false, "print JSON")
	return family(c, run, settings, restore)
}

// settingView is one setting as programs read it.
type settingView struct {
	Name  string `json:"name"`
	Key   string `json:"key,omitempty"`
	Paths string `json:"paths,omitempty"`
	Here  string `json:"here,omitempty"`
	Help  string `json:"help"`
}

// printSettings lists all names with what stands here, so that nobody must run an experiment to learn what this machine refuses.
func printSettings(std streams, dir string, asJSON bool) error {
	views := []settingView{}
	all, at := lab.Settings(), lab.PlaceOf(dir)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		v := settingView{Name: name, Key: s.Key, Paths: s.Paths, Help: s.Help}
		if s.Paths != "" {
			v.Here = lab.Here(name, lab.Machine{}, at)
		}
		views = append(views, v)
	}
	if asJSON {
		return printJSON(std.out, views)
	}
	t := newTable("SETTING", "TURNS", "HERE", "VALUES")
	for _, v := range views {
		t.add(v.Name, v.Key+v.Paths, v.Here, v.Help)
	}
	return t.print(std.out)
}

// labFlags are the flags of lab run.
type labFlags struct {
	json           bool
	html, csv, dir string
	repetitions    int
	duration       time.Duration
}

// labJournal is where old values of changed settings are kept until they are back.
func labJournal() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "pelton", "lab-journal.json")
}

func runLab(ctx context.Context, file string, f labFlags, std streams) error {
	e, err := lab.Load(file)
	if err != nil {
		return usageError("%v", err)
	}
	if f.repetitions > 0 {
		if err := e.SetRepetitions(f.repetitions); err != nil {
			return usageError("%v", err)
		}
	}
	if f.duration > 0 {
		e.SetDuration(f.duration)
	}
	if f.dir == "" {
		if f.dir, err = os.MkdirTemp("", "pelton-lab-"); err != nil {
			return err
		}
		defer os.RemoveAll(f.dir)
	}
	binary := e.Binary
	if binary == "" {
		if binary, err = os.Executable(); err != nil {
			return err
		}
		if err := e.CheckKeys(knownKey); err != nil {
			return usageError("%v", err)
		}
	}
	runtime.LockOSThread() // brokers die with the thread that started them
	group := task.NewGroup()
	defer group.Stop()
	bench := &lab.Bench{Binary: binary, Dir: f.dir, Log: io.Discard, Group: group}
	r := &lab.Runner{Measure: bench.Measure, Probe: bench.Probe, Host: lab.Machine{}, JournalPath: labJournal(), At: lab.PlaceOf(f.dir), Progress: std.err}
	machine, began := load.MachineWords(f.dir), time.Now()
	out, err := r.Run(ctx, e)
	if err != nil {
		return err
	}
	out.Machine, out.Made = machine, fmt.Sprintf("%s, in %v", began.Format("2006-01-02 15:04 MST"), time.Since(began).Round(time.Second))
	return f.tell(out, std)
}

// knownKey refuses a key that the broker does not know or does not use, and a value that it does not take.
func knownKey(key, value string) error {
	_, warnings, err := serverFlags{overrides: []string{key + "=" + value}}.load()
	for _, w := range warnings {
		if w.Key == key && !strings.HasPrefix(w.Text, "taken as ") {
			return fmt.Errorf("%s: %s (docs/CONFIG.md lists the keys)", key, w.Text)
		}
	}
	return err
}

// tell prints what was found and writes the files that were asked for.
func (f labFlags) tell(out *lab.Outcome, std streams) (err error) {
	if f.json {
		err = printJSON(std.out, viewOfExperiment(out))
	} else {
		err = out.Text(std.out)
	}
	for _, file := range []struct {
		path  string
		write func(io.Writer) error
	}{{f.html, out.HTML}, {f.csv, out.CSV}} {
		if file.path != "" {
			err = errors.Join(err, labFile(file.path, file.write))
		}
	}
	return err
}

func labFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
