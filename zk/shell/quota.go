package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

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
			k.o.failed("quota for " + k.args[0] + " does not exist.") // no error in zkCli either
			return nil
		}
		if err != nil {
			return err
		}
		label := map[string]string{"zookeeper_limits": "Output quota for ", "zookeeper_stats": "Output stat for "}[n]
		k.o.note(label + k.args[0] + " " + string(r.Buffer()))
	}
	return nil
}

// limits are what a quota says; -1 where it says nothing.
type limits struct{ count, bytes, hardCount, hardBytes int64 }

// of is the number that a flag of setquota and delquota speaks of.
func (l *limits) of(flag string) *int64 {
	return map[string]*int64{"n": &l.count, "b": &l.bytes, "N": &l.hardCount, "B": &l.hardBytes}[flag]
}

func (l limits) text() []byte {
	return fmt.Appendf(nil, "count=%d,bytes=%d=;byteHardLimit=%d;countHardLimit=%d", l.count, l.bytes, l.hardBytes, l.hardCount)
}

func parseLimits(text string) limits {
	l := limits{-1, -1, -1, -1}
	names := map[string]*int64{"count": &l.count, "bytes": &l.bytes, "countHardLimit": &l.hardCount, "byteHardLimit": &l.hardBytes}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
		name, value, _ := strings.Cut(strings.TrimSuffix(part, "="), "=")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && names[name] != nil {
			*names[name] = n
		}
	}
	return l
}

// limits reads those that a path has; found is false when it has none.
func (k *call) limits(at string) (l limits, found bool, err error) {
	r, err := k.c.call(jute.OpGetData, jute.AppendBool(jute.AppendText(nil, at+"/zookeeper_limits"), false))
	if errors.Is(err, jute.NoNode) {
		return parseLimits(""), false, nil
	}
	if err != nil {
		return l, false, err
	}
	return parseLimits(string(r.Buffer())), true, nil
}

func (k *call) putLimits(at string, l limits) error {
	_, err := k.c.call(jute.OpSetData, jute.AppendInt(jute.AppendBuffer(jute.AppendText(nil, at+"/zookeeper_limits"), l.text()), -1))
	return err
}

// setQuota changes what its flags name and leaves the rest. It makes the nodes above the limits as needed.
func (k *call) setQuota() error {
	path, err := k.path()
	if err != nil {
		return err
	}
	if len(k.flags) == 0 {
		return fmt.Errorf("%w: %s", ErrUsage, verbs()["setquota"].usage)
	}
	if _, err := k.c.call(jute.OpExists, jute.AppendBool(jute.AppendText(nil, path), false)); err != nil {
		return err
	}
	at := quotaRoot + strings.TrimSuffix(path, "/")
	l, found, err := k.limits(at)
	if err != nil {
		return err
	}
	for flag, value := range k.flags {
		if to := l.of(flag); to != nil {
			if *to, err = strconv.ParseInt(value, 10, 64); err != nil {
				return fmt.Errorf("-%s argument must be a long value", flag)
			}
		}
	}
	if found {
		err = k.putLimits(at, l)
	} else {
		err = k.makeQuota(path, at, l)
	}
	if err == nil {
		k.o.done("set", k.args[0], nil)
	}
	return err
}

func (k *call) makeQuota(path, at string, l limits) error {
	up := quotaRoot
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		up += "/" + part
		if err := k.make(up, nil); err != nil && !errors.Is(err, jute.NodeExists) {
			return err
		}
	}
	if err := k.make(at+"/zookeeper_limits", l.text()); err != nil {
		return err
	}
	return k.make(at+"/zookeeper_stats", []byte("count=0,bytes=0"))
}

func (k *call) make(path string, data []byte) error {
	b := jute.AppendACL(jute.AppendBuffer(jute.AppendText(nil, path), data), openACL())
	_, err := k.c.call(jute.OpCreate, jute.AppendInt(b, 0))
	return err
}

// delQuota takes back what its flags name; without flags, or when nothing is left, the whole quota goes.
func (k *call) delQuota() error {
	path, err := k.path()
	if err != nil {
		return err
	}
	at := quotaRoot + strings.TrimSuffix(path, "/")
	l, found, err := k.limits(at)
	if err != nil {
		return err
	}
	for flag := range k.flags {
		if to := l.of(flag); to != nil {
			*to = -1
		}
	}
	if found && len(k.flags) > 0 && l != parseLimits("") {
		err = k.putLimits(at, l)
	} else {
		err = k.dropQuota(at)
	}
	if err == nil {
		k.o.done("deleted", k.args[0], nil)
	}
	return err
}

func (k *call) dropQuota(at string) error {
	for _, n := range []string{"/zookeeper_limits", "/zookeeper_stats"} {
		_, err := k.c.call(jute.OpDelete, jute.AppendInt(jute.AppendText(nil, at+n), -1))
		if err != nil && !errors.Is(err, jute.NoNode) {
			return err
		}
	}
	return nil
}
