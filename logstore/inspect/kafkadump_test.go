package inspect

import (
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/internal/tools/golden"
)

// goldenDir unpacks the directory that a Kafka of this version left, and makes the place it lies in the current one.
func goldenDir(t *testing.T, version, state string) {
	t.Helper()
	dir := t.TempDir()
	golden.Unpack(t, filepath.Join("..", "testdata", "golden", "kafka-"+version, state+".tar.gz"), dir)
	t.Chdir(dir)
}

func goldenVersions() []string {
	return []string{"0.8.2.2", "0.9.0.1", "0.10.2.2", "2.2.2", "3.9.1", "4.2.0"}
}

// filesUnder lists files with one of the suffixes below data, sorted, whose directory begins with the prefix.
func filesUnder(t *testing.T, prefix string, suffixes ...string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("data", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, s := range suffixes {
			if strings.HasSuffix(path, s) && strings.HasPrefix(path, "data/"+prefix) {
				out = append(out, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(out)
	return out
}

func TestKafkaDumpIsDumpLogSegments(t *testing.T) {
	recorded := map[string]string{}
	golden.Each(t, filepath.Join("testdata", "dumps-3.9.1.tar.gz"), func(name string, _ int64, r io.Reader) {
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		recorded[name] = string(b)
	})
	str, err := DecoderFor("org.apache.kafka.tools.api.StringDecoder")
	if err != nil {
		t.Fatal(err)
	}
	plain := Plain(str, str)
	runs := map[string]struct {
		d        KafkaDump
		prefix   string
		suffixes []string
	}{
		"deep":    {KafkaDump{Deep: true, Parse: plain}, "", []string{".log"}},
		"plain":   {KafkaDump{}, "", []string{".log"}},
		"index":   {KafkaDump{}, "", []string{".index", ".timeindex", ".snapshot", ".txnindex"}},
		"verify":  {KafkaDump{VerifyOnly: true}, "", []string{".index", ".timeindex"}},
		"sanity":  {KafkaDump{SanityOnly: true}, "", []string{".index", ".timeindex"}},
		"offsets": {KafkaDump{Deep: true, Parse: Offsets()}, "__consumer_offsets", []string{".log"}},
		"txns":    {KafkaDump{Deep: true, Parse: TxnLog()}, "__transaction_state", []string{".log"}},
		"skip":    {KafkaDump{Deep: true, Parse: plain, SkipMetadata: true}, "plain-none-0", []string{".log"}},
		"max":     {KafkaDump{MaxBytes: 3000}, "plain-none-0", []string{".log"}},
	}
	compared := 0
	for _, version := range goldenVersions() {
		for _, state := range []string{"clean", "crashed"} {
			t.Run(version+"/"+state, func(t *testing.T) {
				goldenDir(t, version, state)
				for name, run := range runs {
					key := version + "-" + state + "." + name
					if _, ok := recorded[key+".rc"]; !ok {
						continue
					}
					var out, faults bytes.Buffer
					d := run.d
					d.FS, d.Out, d.Err = disk.OS(), &out, &faults
					files := dumped(recorded[key+".out"])
					if len(files) == 0 || (name != "sanity" && len(files) != len(filesUnder(t, run.prefix, run.suffixes...))) {
						t.Fatalf("%s: %d files were dumped, others are there", key, len(files))
					}
					err := d.Run(files)
					if failed := strings.TrimSpace(recorded[key+".rc"]) != "0"; failed != (err != nil) {
						t.Errorf("%s: error %v, Kafka's exit code was %s", name, err, recorded[key+".rc"])
					}
					sameLines(t, name, out.String(), recorded[key+".out"])
					here, _ := filepath.Abs(".")
					sameLines(t, name+" errors", sortLines(strings.ReplaceAll(faults.String(), here+"/", "DIR/")), sortLines(recorded[key+".err"]))
					compared++
				}
			})
		}
	}
	if compared < 90 {
		t.Errorf("%d outputs were compared; there are more", compared)
	}
}

// dumped are the files that a recorded output is about.
func dumped(out string) (files []string) {
	for _, line := range strings.Split(out, "\n") {
		if file, ok := strings.CutPrefix(line, "Dumping "); ok {
			files = append(files, file)
		}
	}
	return files
}

// sortLines is for what Kafka prints in the order of a hash table.
func sortLines(s string) string {
	lines := strings.Split(s, "\n")
	sort.Strings(lines)
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func sameLines(t *testing.T, name, got, want string) {
	t.Helper()
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			t.Errorf("%s, line %d:\n have %q\n want %q", name, i+1, x, y)
			return
		}
	}
}
