package shell

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pelton-broker/pelton/zk/jute"
)

// printer writes results as zkCli does, or one JSON value per result.
type printer struct {
	w    io.Writer
	json bool
	err  error // of the first write that failed
}

func (p *printer) line(format string, a ...any) {
	if _, err := fmt.Fprintf(p.w, format+"\n", a...); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *printer) value(v any) {
	b, err := json.Marshal(v)
	if err != nil && p.err == nil {
		p.err = err
		return
	}
	p.line("%s", b)
}

// statJSON has the names of ZooKeeper's Stat.
type statJSON struct {
	Czxid          int64 `json:"czxid"`
	Mzxid          int64 `json:"mzxid"`
	Ctime          int64 `json:"ctime"`
	Mtime          int64 `json:"mtime"`
	Version        int32 `json:"version"`
	Cversion       int32 `json:"cversion"`
	Aversion       int32 `json:"aversion"`
	EphemeralOwner int64 `json:"ephemeralOwner"`
	DataLength     int32 `json:"dataLength"`
	NumChildren    int32 `json:"numChildren"`
	Pzxid          int64 `json:"pzxid"`
}

func (p *printer) stat(s *jute.Stat) {
	if p.json {
		p.value(statJSON(*s))
		return
	}
	when := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("Mon Jan 02 15:04:05 UTC 2006") }
	p.line("cZxid = 0x%x\nctime = %s\nmZxid = 0x%x\nmtime = %s\npZxid = 0x%x\ncversion = %d\ndataVersion = %d\naclVersion = %d\nephemeralOwner = 0x%x\ndataLength = %d\nnumChildren = %d",
		s.Czxid, when(s.Ctime), s.Mzxid, when(s.Mtime), s.Pzxid, s.Cversion, s.Version, s.Aversion, uint64(s.EphemeralOwner), s.DataLength, s.NumChildren)
}

func (p *printer) statPart(s *jute.Stat) *statJSON {
	if s == nil {
		return nil
	}
	v := statJSON(*s)
	return &v
}

func (p *printer) names(v []string, st *jute.Stat) {
	if p.json {
		if v == nil {
			v = []string{}
		}
		if st == nil {
			p.value(v)
		} else {
			p.value(map[string]any{"children": v, "stat": p.statPart(st)})
		}
		return
	}
	p.line("[%s]", strings.Join(v, ", "))
	if st != nil {
		p.stat(st)
	}
}

func (p *printer) lines(v []string) {
	if p.json {
		p.value(v)
		return
	}
	for _, s := range v {
		p.line("%s", s)
	}
}

func (p *printer) data(b []byte, st *jute.Stat) {
	if p.json {
		out := map[string]any{"data": nil}
		switch {
		case b == nil:
		case utf8.Valid(b):
			out["data"] = string(b)
		default:
			out["base64"] = b
		}
		if st != nil {
			out["stat"] = p.statPart(st)
		}
		p.value(out)
		return
	}
	text := string(b)
	if b == nil {
		text = "null"
	}
	p.line("%s", text)
	if st != nil {
		p.stat(st)
	}
}

func (p *printer) created(path string) {
	if p.json {
		p.value(map[string]string{"created": path})
		return
	}
	p.line("Created %s", path)
}

// done tells programs what a verb did of which zkCli says nothing; st is nil unless it was asked for.
func (p *printer) done(what, subject string, st *jute.Stat) {
	switch {
	case p.json && st != nil:
		p.value(map[string]any{what: subject, "stat": p.statPart(st)})
	case p.json:
		p.value(map[string]string{what: subject})
	case st != nil:
		p.stat(st)
	}
}

// failed prints the error of one command of many.
func (p *printer) failed(sentence string) {
	if p.json {
		p.value(map[string]string{"error": sentence})
		return
	}
	p.line("%s", sentence)
}

func (p *printer) number(n int64) { p.line("%d", n) }

func (p *printer) note(s string) {
	if p.json {
		p.value(s)
		return
	}
	p.line("%s", s)
}

func (p *printer) ids(v []jute.ID) {
	if p.json {
		out := make([]map[string]string, 0, len(v))
		for _, id := range v {
			out = append(out, map[string]string{"scheme": id.Scheme, "user": id.ID})
		}
		p.value(out)
		return
	}
	p.line("Auth scheme: User")
	for _, id := range v {
		p.line("%s: %s", id.Scheme, id.ID)
	}
}

func (p *printer) acl(v []jute.ACL, st *jute.Stat) {
	if p.json {
		list := make([]map[string]string, 0, len(v))
		for _, a := range v {
			list = append(list, map[string]string{"scheme": a.Scheme, "id": a.ID.ID, "perms": permText(a.Perms)})
		}
		if st == nil {
			p.value(list)
		} else {
			p.value(map[string]any{"acl": list, "stat": p.statPart(st)})
		}
		return
	}
	for _, a := range v {
		p.line("'%s,'%s\n: %s", a.Scheme, a.ID.ID, permText(a.Perms))
	}
	if st != nil {
		p.stat(st)
	}
}

func (p *printer) event(e event) {
	if p.json {
		p.value(e)
		return
	}
	p.line("\nWATCHER::\n\nWatchedEvent state:SyncConnected type:%s path:%s zxid: %d", e.Type, e.Path, e.Zxid)
}
