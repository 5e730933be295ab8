package conformance

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// request builds the body of one request from its words.
func request(verb string, a args) (int32, []byte) {
	path := textOf(a.path("0"))
	watch := a["1"] == "watch" || a["watch"] == "1"
	switch verb {
	case "create", "create2", "createContainer", "createTTL":
		op := map[string]int32{"create": jute.OpCreate, "create2": jute.OpCreate2, "createContainer": jute.OpCreateContainer, "createTTL": jute.OpCreateTTL}[verb]
		b := jute.AppendBuffer(path, a.bytes("data"))
		if a["acl"] == "null" {
			b = jute.AppendInt(b, -1)
		} else {
			b = jute.AppendACL(b, a.acl())
		}
		def := int64(0)
		if op == jute.OpCreateContainer {
			def = 4
		} else if op == jute.OpCreateTTL {
			def = 5
		}
		b = jute.AppendInt(b, int32(a.num("flags", def)))
		if op == jute.OpCreateTTL {
			b = jute.AppendLong(b, a.num("ttl", 60000))
		}
		return op, b
	case "delete":
		return jute.OpDelete, jute.AppendInt(path, int32(a.num("version", -1)))
	case "deleteContainer":
		return jute.OpDeleteContainer, path
	case "check":
		return jute.OpCheck, jute.AppendInt(path, int32(a.num("version", -1)))
	case "exists", "getData", "getChildren", "getChildren2":
		op := map[string]int32{"exists": jute.OpExists, "getData": jute.OpGetData, "getChildren": jute.OpGetChildren, "getChildren2": jute.OpGetChildren2}[verb]
		return op, jute.AppendBool(path, watch)
	case "setData":
		return jute.OpSetData, jute.AppendInt(jute.AppendBuffer(path, a.bytes("data")), int32(a.num("version", -1)))
	case "getACL":
		return jute.OpGetACL, path
	case "setACL":
		if a["acl"] == "null" {
			return jute.OpSetACL, jute.AppendInt(jute.AppendInt(path, -1), int32(a.num("version", -1)))
		}
		return jute.OpSetACL, jute.AppendInt(jute.AppendACL(path, a.acl()), int32(a.num("version", -1)))
	case "sync":
		return jute.OpSync, path
	case "ping":
		return jute.OpPing, nil
	case "close":
		return jute.OpCloseSession, nil
	case "auth":
		b := jute.AppendInt(nil, int32(a.num("type", 0)))
		return jute.OpAuth, jute.AppendBuffer(jute.AppendText(b, a["0"]), a.bytes("cred"))
	case "addWatch":
		return jute.OpAddWatch, jute.AppendInt(path, int32(a.num("mode", 0)))
	case "checkWatches":
		return jute.OpCheckWatches, jute.AppendInt(path, int32(a.num("type", 3)))
	case "removeWatches":
		return jute.OpRemoveWatches, jute.AppendInt(path, int32(a.num("type", 3)))
	case "getEphemerals":
		return jute.OpGetEphemerals, path
	case "getAllChildrenNumber":
		return jute.OpGetAllChildrenNumber, path
	case "whoAmI":
		return jute.OpWhoAmI, nil
	case "setWatches", "setWatches2":
		return setWatches(verb, a)
	case "multi", "multiRead":
		return multi(verb, a)
	case "reconfig":
		b := jute.AppendText(nil, a["joining"])
		b = jute.AppendText(jute.AppendText(b, a["leaving"]), a["members"])
		return jute.OpReconfig, jute.AppendLong(b, -1)
	case "op":
		n, err := strconv.Atoi(a["0"])
		if err != nil {
			panic(err)
		}
		return int32(n), a.bytes("body")
	}
	panic("unknown verb " + verb)
}

// textOf encodes path bytes as they are; nil is null.
func textOf(b []byte) []byte { return jute.AppendBuffer(nil, b) }

// setWatches: data=~/a,~/b exist=… child=… persistent=… recursive=… since=N (relative to now when "now").
func setWatches(verb string, a args) (int32, []byte) {
	op := jute.OpSetWatches
	since := int64(1) << 60
	if v := a["since"]; v != "" && v != "now" {
		since = a.num("since", 0)
	}
	b := jute.AppendLong(nil, since)
	lists := []string{"data", "exist", "child"}
	if verb == "setWatches2" {
		op = jute.OpSetWatches2
		lists = append(lists, "persistent", "recursive")
	}
	for _, k := range lists {
		var paths []string
		if a[k] != "" {
			paths = strings.Split(strings.ReplaceAll(a[k], "~", "/t"), ",")
		}
		b = jute.AppendTexts(b, paths)
	}
	return op, b
}

// multi: the operations as "verb/path/key=value/…" would clash with paths, so they are separated by "+": create:~/a:data=x+setData:~/a:version=3.
func multi(verb string, a args) (int32, []byte) {
	op := jute.OpMulti
	if verb == "multiRead" {
		op = jute.OpMultiRead
	}
	for key := range a {
		if key != "0" && key != "end" {
			panic("a multi whose operations are read as " + key)
		}
	}
	var b []byte
	if ops := a["0"]; ops != "" {
		for _, text := range strings.Split(ops, "+") {
			f := strings.Split(text, ":")
			sub, body := request(f[0], parseArgs(f[1:]))
			b = jute.AppendMultiHeader(b, sub, false, -1)
			b = append(b, body...)
		}
	}
	if a["end"] == "none" {
		return op, b
	}
	return op, jute.AppendMultiHeader(b, -1, true, -1)
}

// cases splits a script into its cases: "== name" begins one, "#" a comment.
func cases(script string) (names []string, lines map[string][]string) {
	lines = map[string][]string{}
	name := ""
	for _, l := range strings.Split(script, "\n") {
		l = strings.TrimSpace(l)
		switch {
		case l == "" || strings.HasPrefix(l, "#"):
		case strings.HasPrefix(l, "== "):
			name = l[3:]
			if _, twice := lines[name]; twice {
				panic(fmt.Sprintf("case %q twice", name))
			}
			names = append(names, name)
			lines[name] = nil
		default:
			lines[name] = append(lines[name], l)
		}
	}
	return names, lines
}
