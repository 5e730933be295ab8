package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	classpath := flag.String("classpath", "", "of Apache's server, its admin server and its provider for Prometheus")
	binary := flag.String("binary", "bin/pelton", "of ours")
	page := flag.String("page", "docs/COORDINATION.md", "where the differences are told")
	record := flag.Bool("record", false, "write zk/server/testdata/metrics*.txt, which the tests hold ours against")
	keep := flag.Bool("v", false, "print every name")
	flag.Parse()
	if err := run(*classpath, *binary, *page, *record, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "zk-surface:", err)
		os.Exit(1)
	}
}

// names are what a server shows: the place, and the names in it.
type names map[string]map[string]bool

func run(classpath, binary, page string, record, verbose bool) error {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	known, err := differences(page)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zk-surface")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bad, seen := 0, map[int]bool{}
	for _, shape := range []struct {
		n    int
		page bool
	}{{1, true}, {1, false}, {3, true}, {3, false}} {
		var shown [2]map[string]names
		for i, kind := range []string{"apache", "ours"} {
			g, err := startGroup(kind, classpath, binary, filepath.Join(dir, fmt.Sprintf("%s-%d-%v", kind, shape.n, shape.page)), shape.n, shape.page)
			if err == nil {
				shown[i], err = g.collect(shape.page)
			}
			g.stop()
			if err != nil {
				return err
			}
		}
		if record && shape.page {
			if err := recordMetrics(shown[0]); err != nil {
				return err
			}
		}
		for _, line := range compare(shown[0], shown[1]) {
			told := false
			for i, k := range known {
				if k.MatchString(line) {
					told, seen[i] = true, true
				}
			}
			if !told {
				bad++
			}
			if !told || verbose {
				fmt.Println(line)
			}
		}
	}
	for i, k := range known {
		if !seen[i] {
			fmt.Println("note: no longer seen:", k)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d names are on one side only and not told in %s", bad, page)
	}
	fmt.Println("zk-surface: nothing differs but what is told in", page)
	return nil
}

// differences are the rows of the table in the page: the second column is a regular expression.
func differences(page string) ([]*regexp.Regexp, error) {
	b, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	var out []*regexp.Regexp
	for _, m := range regexp.MustCompile("(?m)^\\| Z-[0-9]+ \\| `(.*?)` \\|").FindAllStringSubmatch(string(b), -1) {
		re, err := regexp.Compile(strings.ReplaceAll(m[1], `\|`, `|`))
		if err != nil {
			return nil, err
		}
		out = append(out, re)
	}
	return out, nil
}

// collect gives every server some work, and then looks at everything that it shows.
func (g *group) collect(page bool) (map[string]names, error) {
	var conns []*zk.Conn
	for i, s := range g.servers {
		c, _, err := zk.Connect([]string{fmt.Sprintf("127.0.0.1:%d", s.client)}, 10*time.Second, zk.WithLogInfo(false))
		if err != nil {
			return nil, err
		}
		defer c.Close()
		conns = append(conns, c)
		if err := work(c, i); err != nil {
			return nil, err
		}
	}
	for _, c := range conns { // which of them leads differs from run to run
		for i := range conns {
			if _, _, err := c.Get(fmt.Sprintf("/app%d", i)); err != nil {
				return nil, err
			}
		}
	}
	out := map[string]names{}
	for _, s := range g.servers {
		n := names{}
		for _, w := range strings.Fields("conf cons crst dirs dump envi gtmk hash isro mntr ruok srvr stat stmk wchc wchp wchs srst") {
			n.add("word "+w, wordNames(w, word(s.client, w)))
		}
		for _, c := range strings.Fields(commands) {
			text, status := get(s.admin, "/commands/"+c)
			n.add("admin "+c, append(jsonNames(text), fmt.Sprintf("status %d", status)))
		}
		text, _ := get(s.admin, "/commands")
		n.add("admin list", strings.Split(text, "\n"))
		if page {
			text, _ := get(s.metrics, "/metrics")
			n.add("metrics", metricNames(text))
		}
		out[s.role] = n
	}
	return out, nil
}

const commands = `configuration conf connection_stat_reset connections cons dirs dump environment envi get_trace_mask hash initial_configuration is_read_only
last_snapshot leader monitor mntr observer_connection_stat_reset observers ruok server_stats srvr set_trace_mask stat_reset stats stat system_properties
voting_view watch_summary wchs watches wchc watches_by_path wchp zabstate snapshot restore nonsense`

// work leaves something to see: nodes of several namespaces, a quota, an ephemeral, watches.
func work(c *zk.Conn, i int) error {
	acl := zk.WorldACL(zk.PermAll)
	if err := c.AddAuth("digest", []byte("super:secret")); err != nil {
		return err
	}
	app := fmt.Sprintf("/app%d", i)
	steps := [][2]string{{app, ""}, {app + "/x", "1"}}
	if i == 0 {
		q := "/zookeeper/quota/app0"
		steps = append(steps, [2]string{q, ""}, [2]string{q + "/zookeeper_limits", "count=5,bytes=100=;byteHardLimit=-1;countHardLimit=10"}, [2]string{q + "/zookeeper_stats", "count=2,bytes=1"})
	}
	for _, s := range steps {
		if _, err := c.Create(s[0], []byte(s[1]), 0, acl); err != nil {
			return fmt.Errorf("create %s: %w", s[0], err)
		}
	}
	if _, err := c.Create(fmt.Sprintf("/e%d", i), nil, zk.FlagEphemeral, acl); err != nil {
		return err
	}
	if _, _, _, err := c.GetW(app); err != nil {
		return err
	}
	if _, _, _, err := c.ChildrenW(app); err != nil {
		return err
	}
	_, err := c.Sync("/")
	return err
}

func (n names) add(place string, list []string) {
	set := map[string]bool{}
	for _, name := range list {
		set[name] = true
	}
	n[place] = set
}

// wordNames are the names of mntr's rows, and of other words the lines without what is a value in them.
func wordNames(w, text string) []string {
	var out []string
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch w {
		case "mntr", "envi", "conf":
			line = regexp.MustCompile(`[\t=].*`).ReplaceAllString(regexp.MustCompile(`\{key="\d+"`).ReplaceAllString(line, `{key="N"`), "")
			line = regexp.MustCompile(`quantile$`).ReplaceAllString(line, "quantile}")
		default:
			line = regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} \d+ [0-9:]+ UTC \d+`).ReplaceAllString(line, "DATE")
			line = regexp.MustCompile(`version: .*`).ReplaceAllString(line, "version: V")
			line = regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(line, "X")
			line = regexp.MustCompile(`-?\d+(\.\d+)*`).ReplaceAllString(line, "N")
			line = regexp.MustCompile(`lop=[A-Z]+`).ReplaceAllString(line, "lop=OP")
		}
		out = append(out, line)
	}
	return out
}

func metricNames(text string) []string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			out = append(out, rest)
		}
	}
	return out
}

// jsonNames are the paths of everything in an answer of the admin server.
func jsonNames(text string) []string {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return []string{"no JSON"}
	}
	var out []string
	var walk func(v any, at string)
	walk = func(v any, at string) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				k = regexp.MustCompile(`^-?\d+$|^/(app|e)\d$`).ReplaceAllString(k, "N")
				walk(x, at+"."+regexp.MustCompile(`\{key="\d+"`).ReplaceAllString(k, `{key="N"`))
			}
		case []any:
			for _, x := range v {
				walk(x, at+"[]")
			}
		default:
			out = append(out, at)
		}
	}
	walk(v, "")
	return out
}

func compare(a, b map[string]names) []string {
	var out []string
	for role, places := range a {
		for place, set := range places {
			other := b[role][place]
			for n := range set {
				if !other[n] {
					out = append(out, fmt.Sprintf("%s: %s: only Apache: %s", role, place, n))
				}
			}
			for n := range other {
				if !set[n] {
					out = append(out, fmt.Sprintf("%s: %s: only Pelton: %s", role, place, n))
				}
			}
		}
		if b[role] == nil {
			out = append(out, role+": no server of ours has this role")
		}
	}
	sort.Strings(out)
	return out
}

// recordMetrics keeps Apache's names of the page of metrics.
func recordMetrics(shown map[string]names) error {
	for role, n := range shown {
		var list []string
		for name := range n["metrics"] {
			java := strings.HasPrefix(name, "jvm_") && !strings.HasPrefix(name, "jvm_pause_time_ms") || strings.HasPrefix(name, "process_")
			if !java {
				list = append(list, name)
			}
		}
		sort.Strings(list)
		if err := os.WriteFile("zk/server/testdata/metrics-"+role+".txt", []byte(strings.Join(list, "\n")+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}
