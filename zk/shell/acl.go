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
			return nil, fmt.Errorf("%s does not have the form scheme:id:perm", e)
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
		return k.walk(path, func(p string) error {
			var code jute.Code
			if err := one(p); !errors.As(err, &code) {
				return err
			}
			k.o.note(explain(code, k.c.strip(p))) // and the others go on
			return nil
		})
	}
	return one(path)
}
