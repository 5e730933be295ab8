package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func main() {
	a := flag.String("a", "127.0.0.1:9092", "the reference broker")
	b := flag.String("b", "127.0.0.1:9093", "the broker under test")
	known := flag.String("known", "", "a page with a table of allowed differences (docs/DIFFERENCES.md)")
	tables := flag.String("tables", "D", "letters of the tables of that page that apply: D for any broker, K for a reference without ZooKeeper")
	only := flag.String("only", "", "run the probes whose name matches this regular expression")
	without := flag.String("without", "^$", "leave out the probes whose name matches this regular expression")
	show := flag.Bool("v", false, "print every probe")
	flag.Parse()
	os.Exit(run(*a, *b, readKnown(*known, *tables), probeFilter{regexp.MustCompile(*only), regexp.MustCompile(*without)}, *show))
}

// probeFilter chooses probes by name.
type probeFilter struct{ only, without *regexp.Regexp }

func (f probeFilter) takes(name string) bool {
	return f.only.MatchString(name) && !f.without.MatchString(name)
}

func run(a, b string, allowed *known, filter probeFilter, verbose bool) int {
	ref, err := connect(a)
	if err == nil {
		var sut *world
		if sut, err = connect(b); err == nil {
			return contest(ref, sut, allowed, filter, verbose)
		}
	}
	fmt.Fprintln(os.Stderr, "differential:", err)
	return 2
}

// contest runs every probe in every version that both serve, against both.
func contest(ref, sut *world, allowed *known, filter probeFilter, verbose bool) int {
	asked, bad := 0, served(ref, sut, allowed)
	for _, p := range probes() {
		low, high := versions(ref, sut, p)
		for v := low; v <= high; v++ {
			name := fmt.Sprintf("%s v%d %s", kmsg.NameForKey(p.key), v, p.name)
			if !filter.takes(name) {
				continue
			}
			if verbose {
				fmt.Println(name)
			}
			asked++
			for _, d := range ask(ref, sut, p, v) {
				line := fmt.Sprintf("%s: %s: %s | %s", name, strings.TrimPrefix(d.path, "."), d.a, d.b)
				if allowed.allows(line) {
					continue
				}
				bad++
				fmt.Println(line)
			}
		}
	}
	for _, id := range allowed.unused() {
		fmt.Printf("note: the allowed difference %s did not show\n", id)
	}
	fmt.Printf("%d requests, %d differences that are not allowed\n", asked, bad)
	if bad > 0 {
		return 1
	}
	return 0
}

// served checks that the broker under test serves all that the reference serves, of the keys that the probes know.
func served(ref, sut *world, allowed *known) (bad int) {
	keys := map[int16]bool{}
	for _, p := range probes() {
		keys[p.key] = true
	}
	for key := range keys {
		r, inRef := ref.ranges[key]
		s, inSut := sut.ranges[key]
		if inRef && (!inSut || s[0] > r[0] || s[1] < r[1]) {
			line := fmt.Sprintf("ApiVersions: key %d %s: %v | %v", key, kmsg.NameForKey(key), r, s)
			if !allowed.allows(line) {
				bad++
				fmt.Println(line)
			}
		}
	}
	return bad
}

func versions(ref, sut *world, p probe) (low, high int16) {
	r, okR := ref.ranges[p.key]
	s, okS := sut.ranges[p.key]
	if !okR || !okS {
		return 0, -1
	}
	return max(r[0], s[0], p.from), min(r[1], s[1], p.upTo())
}

func ask(ref, sut *world, p probe, v int16) []difference {
	x, errX := p.on(ref, v)
	y, errY := p.on(sut, v)
	if errX != nil || errY != nil {
		if fmt.Sprint(errX) == fmt.Sprint(errY) {
			return nil
		}
		return []difference{{"answer", outcome(errX), outcome(errY)}}
	}
	masked := always()
	for _, m := range p.mask {
		masked[m] = true
	}
	return compare("", plain(ref, x, masked), plain(sut, y, masked))
}

func outcome(err error) string {
	if err == nil {
		return "answered"
	}
	return err.Error()
}

// known are the differences that a page allows.
type known struct {
	ids  []string
	res  []*regexp.Regexp
	used []bool
}

// readKnown takes the rows `| id | `regular expression` | … |` of the tables of a page that apply.
func readKnown(page, tables string) *known {
	k := &known{}
	text, err := os.ReadFile(page)
	if err != nil {
		return k
	}
	row := regexp.MustCompile("(?m)^\\| ([" + tables + "]-[0-9]+) \\| `([^`]+)` \\|")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		k.ids = append(k.ids, m[1])
		k.res = append(k.res, regexp.MustCompile(strings.ReplaceAll(m[2], `\|`, `|`)))
	}
	k.used = make([]bool, len(k.ids))
	return k
}

// allows tells whether the page names a difference.
func (k *known) allows(line string) bool {
	for i, re := range k.res {
		if re.MatchString(line) {
			k.used[i] = true
			return true
		}
	}
	return false
}

func (k *known) unused() (ids []string) {
	for i, u := range k.used {
		if !u {
			ids = append(ids, k.ids[i])
		}
	}
	return ids
}
