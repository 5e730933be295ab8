package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	docs := map[string]string{}
	for _, s := range tree(t) {
		if s.Test {
			continue
		}
		if _, seen := docs[s.Dir]; !seen {
			docs[s.Dir] = ""
		}
		if strings.HasSuffix(s.Path, "/doc.go") && s.File.Doc != nil {
			docs[s.Dir] = s.File.Doc.Text()
		}
	}
	for dir, text := range docs {
		for _, heading := range [...]string{"Owns:", "Callers:", "Thread:", "Never:", "Fails:"} {
			if !strings.Contains(text, "\n"+heading+" ") {
				t.Errorf("%s/doc.go has no paragraph %q", dir, heading)
			}
		}
	}
}

// A test named in docs/NONOBVIOUS.md must exist, or the page tells tales.
func TestNonobviousNamesRealTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "NONOBVIOUS.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, s := range tree(t) {
		if s.Test {
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+|Benchmark\w+)\(`).FindAllStringSubmatch(s.Text, -1) {
				have[s.Dir+"."+m[1]] = true
			}
		}
	}
	names := regexp.MustCompile("`([a-z/]+\\.(?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(text), -1)
	for _, m := range names {
		if !have[m[1]] {
			t.Errorf("docs/NONOBVIOUS.md names %s, which is no test", m[1])
		}
	}
}

func TestLinksInDocsLeadSomewhere(t *testing.T) {
	top := root(t)
	var pages []string
	for _, pattern := range [...]string{"*.md", "docs/*.md", "docs/adr/*.md", "benchmarks/*.md"} {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: link to %s leads nowhere", strings.TrimPrefix(page, top+"/"), m[1])
			}
		}
	}
}
