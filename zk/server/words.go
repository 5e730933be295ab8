package server

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/netpoll"
	"github.com/pelton-broker/pelton/zk/tree"
)

// version is what words show: exporters and clients parse its shape, and go by the number.
const version = "3.9.5-pelton, built on 2026-02-11 20:18 UTC"

// defaultTraceMask is what gtmk shows of a server that nobody told another.
const defaultTraceMask = 306

// words is the whitelist of four-letter words.
type words struct {
	all  bool
	some map[string]bool
}

func newWords(list string) words {
	w := words{some: map[string]bool{}}
	for _, s := range strings.Split(list, ",") {
		if s = strings.TrimSpace(s); s == "*" {
			w.all = true
		} else if s != "" {
			w.some[s] = true
		}
	}
	return w
}

// OnRaw implements netpoll.Handler: the first four bytes of a connection are a command or the length of a frame.
// As a length every command would be beyond any limit.
func (l *loop) OnRaw(c *netpoll.Conn, first []byte) bool {
	word := string(first)
	answer := l.wordFunc(word)
	if answer == nil {
		return false
	}
	p := c.User.(*peer)
	p.state = ending
	p.stats.received++
	l.stats.received++
	text := word + " is not executed because it is not in the whitelist.\n"
	if l.words.all || l.words.some[word] {
		text = notServing
		if !l.silent(word) {
			text = answer()
		}
	}
	copy(c.Out().Append(len(text)), text)
	p.hangUp(errWord)
	return true
}

// wordFunc is what answers a word, nil for what is none.
func (l *loop) wordFunc(word string) func() string {
	fixed := func(s string) func() string { return func() string { return s } }
	switch word {
	case "ruok":
		return fixed("imok")
	case "isro":
		return fixed("rw")
	case "gtmk":
		return fixed(strconv.FormatInt(l.traceMask, 10))
	case "stmk":
		return fixed("") // the new mask comes after the word: that the connection carries no more
	case "srvr":
		return l.wordServer
	case "stat":
		return func() string { return l.wordStat() }
	case "srst":
		return func() string { l.stats.reset(l.nowMs); return "Server stats reset.\n" }
	case "crst":
		return func() string { l.resetPeers(); return "Connection stats reset.\n" }
	case "conf":
		return l.wordConf
	case "cons":
		return func() string { return l.wordConnections(true) + "\n" }
	case "dirs":
		return l.wordDirs
	case "dump":
		return l.wordDump
	case "envi":
		return l.wordEnv
	case "hash":
		return fixed("") // one line for each digest that was kept: none
	case "mntr":
		return l.wordMonitor
	case "wchs":
		return l.wordWatches
	case "wchc":
		return func() string { return l.wordWatchesBy(true) }
	case "wchp":
		return func() string { return l.wordWatchesBy(false) }
	}
	return nil
}

func (l *loop) resetPeers() {
	for p := range l.peers {
		p.stats.stats = stats{}
	}
}

func (l *loop) wordServer() string {
	return "Zookeeper version: " + version + "\n" + l.wordStats()
}

func (l *loop) wordStat() string {
	return "Zookeeper version: " + version + "\nClients:\n" + l.wordConnections(false) + "\n" + l.wordStats()
}

func (l *loop) wordStats() string {
	return fmt.Sprintf("Latency min/avg/max: %d/%s/%d\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
		l.stats.minMs, javaFloat(l.stats.avgMs()), l.stats.maxMs, l.stats.received, l.stats.sent, len(l.peers), l.stats.outstanding, l.tree.Zxid, l.mode(), l.nodeCount()) + l.proposalSizes()
}

// javaFloat prints as Java does what was rounded to four places.
func javaFloat(f float64) string {
	s := strings.TrimRight(fmt.Sprintf("%.4f", f), "0")
	if strings.HasSuffix(s, ".") {
		s += "0"
	}
	return s
}

// sorted lists the peers by the age of their connections.
func (l *loop) sorted() []*peer {
	out := make([]*peer, 0, len(l.peers))
	for p := range l.peers {
		out = append(out, p)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].c.ID < out[j].c.ID })
	return out
}

func (l *loop) wordConnections(long bool) string {
	var b strings.Builder
	for _, p := range l.sorted() {
		ops := 0
		if p.sess != nil {
			ops = 1
		}
		fmt.Fprintf(&b, " /%s[%d](queued=%d,recved=%d,sent=%d", p.c.Remote, ops, len(p.queue)-p.head, p.stats.received, p.stats.sent)
		if long && p.sess != nil {
			fmt.Fprintf(&b, ",sid=0x%x,lop=%s,est=%d,to=%d,lcxid=0x%x,lzxid=0x%x,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d", uint64(p.sess.ID), p.stats.lastOp,
				p.stats.sinceMs, p.sess.TimeoutMs, uint32(p.stats.lastXid), uint64(p.stats.lastZxid), p.stats.lastAtMs, p.stats.lastMs, p.stats.minMs, int64(p.stats.avgMs()), p.stats.maxMs)
		}
		b.WriteString(")\n")
	}
	return b.String()
}

func (l *loop) wordConf() string {
	_, port, _ := strings.Cut(l.srv.Addr().String(), "]:")
	if port == "" {
		port = fmt.Sprint(l.srv.Addr().Port())
	}
	secure := -1
	if a := l.srv.SecureAddr(); a.IsValid() {
		secure = int(a.Port())
	}
	return fmt.Sprintf("clientPort=%s\nsecureClientPort=%d\ndataDir=%s\ndataDirSize=%d\ndataLogDir=%s\ndataLogSize=%d\ntickTime=%d\nmaxClientCnxns=%d\nminSessionTimeout=%d\nmaxSessionTimeout=%d\nclientPortListenBacklog=-1\nserverId=%d\n",
		port, secure, l.snap.dir, l.dirBytes(l.snap.dir), l.snap.logDir, l.dirBytes(l.snap.logDir), l.o.TickTimeMs, l.o.MaxClientCnxns, l.o.MinSessionTimeoutMs, l.o.MaxSessionTimeoutMs, l.o.ServerID) + l.membership()
}

// dirBytes is the size of the files in a directory: a few calls of the file system, only for whoever is on the whitelist.
func (l *loop) dirBytes(dir string) int64 {
	entries, err := l.o.FS.ReadDir(dir)
	if err != nil {
		return 0
	}
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !e.IsDir() {
			total += info.Size()
		}
	}
	return total
}

func (l *loop) wordDirs() string {
	return fmt.Sprintf("datadir_size: %d\nlogdir_size: %d\n", l.dirBytes(l.snap.dir), l.dirBytes(l.snap.logDir))
}

func (l *loop) wordDump() string {
	var b strings.Builder
	b.WriteString("SessionTracker dump:\n" + l.dumpSessions() + "ephemeral nodes dump:\n")
	owners := l.tree.Owners()
	fmt.Fprintf(&b, "Sessions with Ephemerals (%d):\n", len(owners))
	for _, id := range owners {
		fmt.Fprintf(&b, "0x%x:\n", uint64(id))
		for _, path := range l.tree.Ephemerals(id) {
			fmt.Fprintf(&b, "\t%s\n", path)
		}
	}
	fmt.Fprintf(&b, "Connections dump:\nConnections Sets (1)/(%d):\n%d expire at %s:\n", len(l.peers), len(l.peers), javaDate(l.wallMs+int64(l.o.TickTimeMs)))
	for _, p := range l.sorted() {
		id := int64(0)
		if p.sess != nil {
			id = p.sess.ID
		}
		fmt.Fprintf(&b, "\tip: /%s sessionId: 0x%x\n", p.c.Remote, uint64(id))
	}
	return b.String()
}

// dumpSessions lists the sessions by the time they end, or, where they are the leader's to end, by their ids.
func (l *loop) dumpSessions() string {
	var b strings.Builder
	if l.ens != nil && l.mode() != "leader" {
		open := l.openSessions()
		fmt.Fprintf(&b, "Global Sessions(%d):\n", len(open))
		for _, id := range slices.Sorted(maps.Keys(open)) {
			fmt.Fprintf(&b, "0x%x\t%dms\n", uint64(id), open[id])
		}
		return b.String()
	}
	sets := 0
	l.sessions.Buckets(func(ms int64, ids []int64) {
		sets++
		fmt.Fprintf(&b, "%d expire at %s:\n", len(ids), javaDate(l.wallMs+ms-l.nowMs))
		for _, id := range ids {
			fmt.Fprintf(&b, "\t0x%x\n", uint64(id))
		}
	})
	return fmt.Sprintf("Session Sets (%d)/(%d):\n", sets, l.sessions.Len()) + b.String()
}

func (l *loop) wordEnv() string {
	var b strings.Builder
	b.WriteString("Environment:\nzookeeper.version=" + version + "\n")
	for _, e := range l.o.Environment() {
		b.WriteString(e[0] + "=" + e[1] + "\n")
	}
	return b.String()
}

func (l *loop) wordWatches() string {
	watchers, paths, watches := l.tree.DataWatchCounts()
	return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", watchers, paths, watches)
}

func (l *loop) wordWatchesBy(session bool) string {
	by := map[string][]string{}
	l.tree.EachDataWatch(func(path string, who tree.Watcher) {
		p := who.(*peer)
		key, value := path, fmt.Sprintf("0x%x", uint64(p.sess.ID))
		if session {
			key, value = value, key
		}
		by[key] = append(by[key], value)
	})
	keys := make([]string, 0, len(by))
	for k := range by {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		sort.Strings(by[k])
		b.WriteString(k + "\n\t" + strings.Join(by[k], "\n\t") + "\n")
	}
	b.WriteString("\n")
	return b.String()
}

// wordMonitor has the names and the layout that exporters read: with the page of metrics on, Apache prints what that has.
func (l *loop) wordMonitor() string {
	var b strings.Builder
	put := func(name string, v any) { fmt.Fprintf(&b, "zk_%s\t%v\n", name, v) }
	put("version", version)
	put("server_state", l.mode())
	list := l.metrics()
	for i := len(list) - 1; i >= 0; i-- { // gauges first, as Apache has them
		m := &list[i]
		if l.o.Admin.Metrics {
			for _, r := range m.rows("") {
				put(r.name+r.labels, r.value)
			}
			continue
		}
		m.putShort(put)
	}
	l.peerState(put)
	return b.String()
}

// putShort prints a metric as the default provider does.
func (m *metric) putShort(put func(string, any)) {
	if m.set {
		for _, k := range m.keys {
			one := metric{name: k.key + "_" + m.name, value: k.value, summary: k.summary, wide: m.wide}
			one.putShort(put)
		}
		return
	}
	switch {
	case m.summary != nil:
		m.putSummary(put)
	case strings.HasPrefix(m.name, "avg_") || m.name == "connection_drop_probability":
		put(m.name, javaFloat(m.value))
	default:
		put(m.name, int64(m.value))
	}
}

// putSummary prints a summary as the default provider does.
func (m *metric) putSummary(put func(string, any)) {
	s := m.summary
	put("avg_"+m.name, javaFloat(s.avg()))
	put("min_"+m.name, s.least)
	put("max_"+m.name, s.most)
	put("cnt_"+m.name, s.count)
	put("sum_"+m.name, s.sum)
	if m.wide {
		put("p50_"+m.name, s.quantile(0.5))
		put("p95_"+m.name, s.quantile(0.95))
		put("p99_"+m.name, s.quantile(0.99))
		put("p999_"+m.name, s.quantile(0.999))
	}
}
