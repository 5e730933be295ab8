package interop

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Corpus is a file of real text: the sources of the Go toolchain, line by line, each line with the place it comes from and a number.
type Corpus struct {
	Path  string
	Lines int
	Bytes int64
	Sum   [sha256.Size]byte
}

// maxLine leaves out the few generated lines that no client would send as one record with its defaults.
const maxLine = 64 << 10

// WriteCorpus makes a corpus of at least size bytes out of the files below root. Lines hold no carriage return and no tab at their
// start, which console tools would take for separators of their own.
func WriteCorpus(path, root string, size int64) (c Corpus, err error) {
	f, err := os.Create(path)
	if err != nil {
		return c, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(f, sum), 1<<20)
	c.Path = path
	for round := 0; c.Bytes < size; round++ {
		before := c.Bytes
		if err := corpusRound(&c, w, root, size, round); err != nil {
			return c, err
		}
		if c.Bytes == before {
			return c, fmt.Errorf("no Go sources below %s", root)
		}
	}
	if err := w.Flush(); err != nil {
		return c, err
	}
	copy(c.Sum[:], sum.Sum(nil))
	return c, nil
}

func corpusRound(c *Corpus, w *bufio.Writer, root string, size int64, round int) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") {
			return err
		}
		if c.Bytes >= size {
			return filepath.SkipAll
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, p)
		for i, line := range strings.Split(strings.ReplaceAll(string(text), "\r", ""), "\n") {
			if len(line) > maxLine {
				continue
			}
			n, err := fmt.Fprintf(w, "%d:%s:%d: %s\n", round, name, i+1, line)
			if err != nil {
				return err
			}
			c.Lines++
			c.Bytes += int64(n)
		}
		return nil
	})
}
