package shell

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// call is one command being carried out.
type call struct {
	ctx   context.Context
	c     *conn
	o     *printer
	flags map[string]string
	args  []string
}

// verb is one command: how it is written, which flags take a value, what it does.
type verb struct {
	usage  string
	valued string // letters of flags with a value
	least  int    // arguments at least
	run    func(k *call) error
	long   []string // flags of several letters, all with a value
}

// verbs are ZooKeeper's own, and watch, which stays and prints what happens.
func verbs() map[string]verb {
	return map[string]verb{
		"ls":                   {"ls [-s] [-w] [-R] path", "", 1, (*call).ls, nil},
		"get":                  {"get [-s] [-w] [-b] [-x] path\n -b   Output data in base64 format\n -s   Print znode stats additionally\n -w   Watch for changes on the znode\n -x   Output data in hexdump format\n", "", 1, (*call).get, nil},
		"stat":                 {"stat [-w] path", "", 1, (*call).stat, nil},
		"exists":               {"exists [-w] path", "", 1, (*call).stat, nil},
		"create":               {"create [-s] [-e] [-c] [-t ttl] path [data] [acl]", "t", 1, (*call).create, nil},
		"set":                  {"set path data [-s] [-v version] [-b]\n -b         Supply data in base64 format\n -s         Print znode stats additionally\n -v <arg>   Set with an expected version\n", "v", 2, (*call).set, nil},
		"delete":               {"delete [-v version] path", "v", 1, (*call).remove, nil},
		"deleteall":            {"deleteall path [-b batch size]", "b", 1, (*call).removeAll, nil},
		"rmr":                  {"rmr path", "", 1, (*call).removeAll, nil},
		"sync":                 {"sync path", "", 1, (*call).sync, nil},
		"getAcl":               {"getAcl [-s] path", "", 1, (*call).getACL, nil},
		"setAcl":               {"setAcl [-s] [-v version] [-R] path acl", "v", 2, (*call).setACL, nil},
		"addauth":              {"addauth scheme auth", "", 1, (*call).addAuth, nil},
		"getEphemerals":        {"getEphemerals path", "", 0, (*call).getEphemerals, nil},
		"getAllChildrenNumber": {"getAllChildrenNumber path", "", 1, (*call).countAll, nil},
		"whoami":               {"whoami", "", 0, (*call).whoAmI, nil},
		"config":               {"config [-c] [-w] [-s]", "", 0, (*call).config, nil},
		"version":              {"version", "", 0, (*call).version, nil},
		"listquota":            {"listquota path", "", 1, (*call).listQuota, nil},
		"setquota":             {"setquota -n|-b|-N|-B val path", "nbNB", 1, (*call).setQuota, nil},
		"delquota":             {"delquota [-n|-b|-N|-B] path", "", 1, (*call).delQuota, nil},
		"watch":                {"watch [-R] path   (prints events until interrupted)", "", 1, (*call).watch, nil},
		"addWatch":             {"addWatch [-m mode] path # optional mode is one of [PERSISTENT, PERSISTENT_RECURSIVE] - default is PERSISTENT_RECURSIVE", "m", 1, (*call).addWatch, nil},
		"removewatches":        {"removewatches path [-c|-d|-a] [-l]", "", 1, (*call).removeWatches, nil},
		"reconfig":             {"reconfig [-s] [-v version] [[-file path] | [-members serverID=host:port1:port2;port3[,...]*]] | [-add serverId=host:port1:port2;port3[,...]]* [-remove serverId[,...]*]", "v", 0, (*call).reconfig, []string{"add", "remove", "members", "file"}},
	}
}

func (k *call) path() (string, error) {
	p := k.args[0]
	if !strings.HasPrefix(p, "/") {
		return "", errors.New("Path must start with / character")
	}
	if !jute.ValidatePath(p) {
		return "", fmt.Errorf("%q is no path of a node: it begins with a slash, does not end with one and has no empty parts", p)
	}
	return k.c.full(p), nil
}

func (k *call) has(flag string) bool { _, ok := k.flags[flag]; return ok }

func (k *call) versionFlag() (int32, error) {
	v, ok := k.flags["v"]
	if !ok {
		return -1, nil
	}
	n, err := strconv.ParseInt(v, 10, 32)
	return int32(n), err
}

// onPath makes one call whose body begins with the command's path.
func (k *call) onPath(op int32, rest func(b []byte) []byte) (jute.Reader, error) {
	path, err := k.path()
	if err != nil {
		return jute.Reader{}, err
	}
	b := jute.AppendText(nil, path)
	if rest != nil {
		b = rest(b)
	}
	return k.c.call(op, b)
}

func (k *call) watched(b []byte) []byte { return jute.AppendBool(b, k.has("w")) }

func (k *call) ls() error {
	if k.has("R") {
		return k.lsAll()
	}
	r, err := k.onPath(jute.OpGetChildren2, k.watched)
	if err != nil {
		return err
	}
	names := r.Strings()
	sort.Strings(names)
	st := r.Stat()
	k.o.names(names, k.statIf(&st))
	return r.Err()
}

func (k *call) statIf(st *jute.Stat) *jute.Stat {
	if k.has("s") {
		return st
	}
	return nil
}

func (k *call) lsAll() error {
	path, err := k.path()
	if err != nil {
		return err
	}
	var all []string
	err = k.walk(path, func(p string) error { all = append(all, k.c.strip(p)); return nil })
	if err == nil {
		k.o.lines(all)
	}
	return err
}

// walk visits path and all below, parents first.
func (k *call) walk(path string, fn func(string) error) error {
	r, err := k.c.call(jute.OpGetChildren, jute.AppendBool(jute.AppendText(nil, path), false))
	if err != nil {
		return err
	}
	if err := fn(path); err != nil {
		return err
	}
	names := r.Strings()
	sort.Strings(names)
	for _, n := range names {
		if err := k.walk(strings.TrimSuffix(path, "/")+"/"+n, fn); err != nil && !errors.Is(err, jute.NoNode) {
			return err
		}
	}
	return nil
}

func (k *call) get() error {
	r, err := k.onPath(jute.OpGetData, k.watched)
	if err != nil {
		return err
	}
	data := r.Buffer()
	st := r.Stat()
	switch {
	case k.has("b"):
		data = []byte(base64.StdEncoding.EncodeToString(data))
	case k.has("x"):
		data = []byte(strings.TrimSuffix(hex.Dump(data), "\n"))
	}
	k.o.data(data, k.statIf(&st))
	return r.Err()
}

func (k *call) stat() error {
	r, err := k.onPath(jute.OpExists, k.watched)
	if err != nil {
		return err
	}
	st := r.Stat()
	k.o.stat(&st)
	return r.Err()
}

func (k *call) create() error {
	flags, op := int32(0), jute.OpCreate
	if k.has("e") {
		flags |= jute.FlagEphemeral
	}
	if k.has("s") {
		flags |= jute.FlagSequential
	}
	ttl := int64(0)
	switch {
	case k.has("c"):
		flags, op = jute.FlagContainer, jute.OpCreateContainer
	case k.has("t"):
		var err error
		if ttl, err = strconv.ParseInt(k.flags["t"], 10, 64); err != nil {
			return errors.New("-t argument must be a long value")
		}
		flags, op = flags/2+jute.FlagPersistentTTL, jute.OpCreateTTL
	}
	acl := openACL()
	if len(k.args) > 2 {
		var err error
		if acl, err = parseACL(k.args[2]); err != nil {
			return err
		}
	}
	r, err := k.onPath(op, func(b []byte) []byte {
		var data []byte
		if len(k.args) > 1 {
			data = []byte(k.args[1])
		}
		b = jute.AppendInt(jute.AppendACL(jute.AppendBuffer(b, data), acl), flags)
		if op == jute.OpCreateTTL {
			b = jute.AppendLong(b, ttl)
		}
		return b
	})
	if err != nil {
		return err
	}
	k.o.created(k.c.strip(r.String()))
	return r.Err()
}

func (k *call) set() error {
	v, err := k.versionFlag()
	if err != nil {
		return err
	}
	data := []byte(k.args[1])
	if k.has("b") {
		if data, err = base64.StdEncoding.DecodeString(k.args[1]); err != nil {
			return err
		}
	}
	r, err := k.onPath(jute.OpSetData, func(b []byte) []byte { return jute.AppendInt(jute.AppendBuffer(b, data), v) })
	if err != nil {
		return err
	}
	st := r.Stat()
	k.o.done("set", k.args[0], k.statIf(&st))
	return r.Err()
}

func (k *call) remove() error {
	v, err := k.versionFlag()
	if err != nil {
		return err
	}
	if _, err = k.onPath(jute.OpDelete, func(b []byte) []byte { return jute.AppendInt(b, v) }); err == nil {
		k.o.done("deleted", k.args[0], nil)
	}
	return err
}

func (k *call) removeAll() error {
	path, err := k.path()
	if err != nil {
		return err
	}
	var all []string
	if err := k.walk(path, func(p string) error { all = append(all, p); return nil }); err != nil {
		return err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if _, err := k.c.call(jute.OpDelete, jute.AppendInt(jute.AppendText(nil, all[i]), -1)); err != nil && !errors.Is(err, jute.NoNode) {
			return fmt.Errorf("%s: %w", k.c.strip(all[i]), err)
		}
	}
	k.o.done("deleted", k.args[0], nil)
	return nil
}

func (k *call) sync() error {
	_, err := k.onPath(jute.OpSync, nil)
	if err == nil && !k.o.json {
		k.o.note("Sync is OK")
	}
	if err == nil {
		k.o.done("synced", k.args[0], nil)
	}
	return err
}

func (k *call) addAuth() error {
	auth := ""
	if len(k.args) > 1 {
		auth = k.args[1]
	}
	b := jute.AppendText(jute.AppendInt(nil, 0), k.args[0])
	_, err := k.c.call(jute.OpAuth, jute.AppendBuffer(b, []byte(auth)))
	if err == nil {
		k.o.done("added", k.args[0], nil)
	}
	return err
}

func (k *call) getEphemerals() error {
	prefix := "/"
	if len(k.args) > 0 {
		prefix = k.args[0]
	}
	r, err := k.c.call(jute.OpGetEphemerals, jute.AppendText(nil, k.c.full(prefix)))
	if err != nil {
		return err
	}
	paths := r.Strings()
	for i := range paths {
		paths[i] = k.c.strip(paths[i])
	}
	k.o.names(paths, nil)
	return r.Err()
}

func (k *call) countAll() error {
	r, err := k.onPath(jute.OpGetAllChildrenNumber, nil)
	if err != nil {
		return err
	}
	k.o.number(int64(r.Int()))
	return r.Err()
}

func (k *call) whoAmI() error {
	r, err := k.c.call(jute.OpWhoAmI, nil)
	if err != nil {
		return err
	}
	var ids []jute.ID
	for range r.Count(8) {
		ids = append(ids, jute.ID{Scheme: r.String(), ID: r.String()})
	}
	k.o.ids(ids)
	return r.Err()
}

func (k *call) config() error {
	r, err := k.c.call(jute.OpGetData, k.watched(jute.AppendText(nil, "/zookeeper/config")))
	if err != nil {
		return err
	}
	data := r.Buffer()
	if k.has("c") {
		data = clientView(data)
	}
	st := r.Stat()
	k.o.data(data, k.statIf(&st))
	return r.Err()
}

// clientView is what a client needs of a configuration: its version and where clients connect.
func clientView(config []byte) []byte {
	var addrs []string
	version := "0"
	for _, line := range strings.Split(string(config), "\n") {
		if v, ok := strings.CutPrefix(line, "version="); ok {
			version = v
		} else if _, client, ok := strings.Cut(line, ";"); ok {
			addrs = append(addrs, client)
		}
	}
	return []byte(version + " " + strings.Join(addrs, ","))
}

// reconfig changes the members of an ensemble and prints the configuration that follows.
func (k *call) reconfig() error {
	members, err := k.members()
	if err != nil {
		return err
	}
	from := int64(-1)
	if v, ok := k.flags["v"]; ok {
		if from, err = strconv.ParseInt(v, 16, 64); err != nil {
			return err
		}
	}
	b := nullable(nullable(nullable(nil, k.flags["add"]), k.flags["remove"]), members)
	r, err := k.c.call(jute.OpReconfig, jute.AppendLong(b, from))
	if err != nil {
		return err
	}
	data := r.Buffer()
	st := r.Stat()
	if !k.o.json {
		k.o.note("Committed new configuration:")
	}
	k.o.data(data, k.statIf(&st))
	return r.Err()
}

// members is the whole list, of the command or of a file with lines server.N=….
func (k *call) members() (string, error) {
	m := k.flags["members"]
	if path, ok := k.flags["file"]; ok {
		var err error
		if m, err = serverLines(k.ctx, path); err != nil {
			return "", err
		}
	}
	if m == "" && k.flags["add"] == "" && k.flags["remove"] == "" {
		return "", fmt.Errorf("%w: %s", ErrUsage, verbs()["reconfig"].usage)
	}
	return m, nil
}

func nullable(b []byte, s string) []byte {
	if s == "" {
		return jute.AppendInt(b, -1)
	}
	return jute.AppendText(b, s)
}

func (k *call) version() error {
	k.o.note("ZooKeeper CLI version: 3.9.5-pelton")
	return nil
}
