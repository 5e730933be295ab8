package shell

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

func openACL() []jute.ACL {
	return []jute.ACL{{Perms: jute.PermAll, ID: jute.ID{Scheme: "world", ID: "anyone"}}}
}

// permLetters are in the order in which zkCli prints them.
const permLetters = "cdrwa"

func permBit(c byte) int32 {
	switch c {
	case 'r':
		return jute.PermRead
	case 'w':
		return jute.PermWrite
	case 'c':
		return jute.PermCreate
	case 'd':
		return jute.PermDelete
	case 'a':
		return jute.PermAdmin
	}
	return 0
}

func permText(perms int32) string {
	out := ""
	for i := range len(permLetters) {
		if perms&permBit(permLetters[i]) != 0 {
			out += permLetters[i : i+1]
		}
	}
	return out
}

// parseACL reads scheme:id:perms,…; an id may hold colons itself.
func parseACL(s string) ([]jute.ACL, error) {
	var out []jute.ACL
	for _, e := range strings.Split(s, ",") {
		first, last := strings.IndexByte(e, ':'), strings.LastIndexByte(e, ':')
		if first < 0 || last <= first {
			return nil, fmt.Errorf("%q is no ACL of the form scheme:id:perms", e)
		}
		a := jute.ACL{ID: jute.ID{Scheme: e[:first], ID: e[first+1 : last]}}
		for i := last + 1; i < len(e); i++ {
			bit := permBit(e[i])
			if bit == 0 {
				return nil, fmt.Errorf("%q: unknown permission %q, there are c d r w a", e, e[i:i+1])
			}
			a.Perms |= bit
		}
		out = append(out, a)
	}
	return out, nil
}

func (k *call) getACL() error {
	r, err := k.onPath(jute.OpGetACL, nil)
	if err != nil {
		return err
	}
	list := r.ACL()
	st := r.Stat()
	k.o.acl(list, k.statIf(&st))
	return r.Err()
}

func (k *call) setACL() error {
	list, err := parseACL(k.args[1])
	if err != nil {
		return err
	}
	v, err := k.versionFlag()
	if err != nil {
		return err
	}
	path, err := k.path()
	if err != nil {
		return err
	}
	one := func(p string) error {
		r, err := k.c.call(jute.OpSetACL, jute.AppendInt(jute.AppendACL(jute.AppendText(nil, p), list), v))
		if err == nil {
			st := r.Stat()
			k.o.done("set", k.c.strip(p), k.statIf(&st))
		}
		return err
	}
	if k.has("R") {
		return k.walk(path, one)
	}
	return one(path)
}

const quotaRoot = "/zookeeper/quota"

func (k *call) listQuota() error {
	path, err := k.path()
	if err != nil {
		return err
	}
	if !k.o.json {
		k.o.line("absolute path is %s%s/zookeeper_limits", quotaRoot, path)
	}
	for _, n := range []string{"zookeeper_limits", "zookeeper_stats"} {
		r, err := k.c.call(jute.OpGetData, jute.AppendBool(jute.AppendText(nil, quotaRoot+path+"/"+n), false))
		if errors.Is(err, jute.NoNode) {
			return fmt.Errorf("quota for %s does not exist", k.args[0])
		}
		if err != nil {
			return err
		}
		label := map[string]string{"zookeeper_limits": "Output quota for ", "zookeeper_stats": "Output stat for "}[n]
		k.o.note(label + k.args[0] + " " + string(r.Buffer()))
	}
	return nil
}

// setQuota makes the nodes above the limits as needed.
func (k *call) setQuota() error {
	path, err := k.path()
	if err != nil {
		return err
	}
	pick := func(flag string) string {
		if v, ok := k.flags[flag]; ok {
			return v
		}
		return "-1"
	}
	limits := "count=" + pick("n") + ",bytes=" + pick("b") + "=;byteHardLimit=" + pick("B") + ";countHardLimit=" + pick("N")
	at := quotaRoot
	for _, part := range strings.Split(path[1:], "/") {
		at += "/" + part
		if err := k.make(at, nil); err != nil && !errors.Is(err, jute.NodeExists) {
			return err
		}
	}
	err = k.make(at+"/zookeeper_limits", []byte(limits))
	if errors.Is(err, jute.NodeExists) {
		_, err = k.c.call(jute.OpSetData, jute.AppendInt(jute.AppendBuffer(jute.AppendText(nil, at+"/zookeeper_limits"), []byte(limits)), -1))
	} else if err == nil {
		err = k.make(at+"/zookeeper_stats", []byte("count=0,bytes=0"))
	}
	if err == nil {
		k.o.done("set", k.args[0], nil)
	}
	return err
}

func (k *call) make(path string, data []byte) error {
	b := jute.AppendACL(jute.AppendBuffer(jute.AppendText(nil, path), data), openACL())
	_, err := k.c.call(jute.OpCreate, jute.AppendInt(b, 0))
	return err
}

func (k *call) delQuota() error {
	path, err := k.path()
	if err != nil {
		return err
	}
	for _, n := range []string{"/zookeeper_limits", "/zookeeper_stats"} {
		_, err := k.c.call(jute.OpDelete, jute.AppendInt(jute.AppendText(nil, quotaRoot+path+n), -1))
		if err != nil && !errors.Is(err, jute.NoNode) {
			return err
		}
	}
	k.o.done("deleted", k.args[0], nil)
	return nil
}
