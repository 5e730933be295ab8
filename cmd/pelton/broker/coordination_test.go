package broker_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sys/unix"

	"github.com/pelton-broker/pelton/internal/disk"
	"github.com/pelton-broker/pelton/zk/ensemble"
)

// coordinationKind says what the brokers under test coordinate by: "embedded", which is the default, "ensemble", three servers of ours in
// processes of their own, or "zookeeper", an Apache ZooKeeper 3.9.5. The tests are the same.
const coordinationKind = "PELTON_TEST_COORDINATION"

// serverBinary names the pelton that is an ensemble's member.
const serverBinary = "PELTON_BIN"

func kindOfCoordination() string {
	if kind := os.Getenv(coordinationKind); kind != "" {
		return kind
	}
	return "embedded"
}

// outside is the outside coordination that the tests of a run share.
var outside struct {
	once sync.Once
	*coordination
	err error
}

// places numbers the brokers that share an outside coordination: each has a chroot of its own.
var places atomic.Int64

// coordinate points a broker's settings at the coordination of this run.
func coordinate(keys map[string]string) map[string]string {
	if kindOfCoordination() == "embedded" {
		return keys
	}
	outside.once.Do(func() {
		outside.coordination, outside.err = startCoordination(kindOfCoordination())
	})
	if outside.err != nil {
		fmt.Fprintln(os.Stderr, "no coordination:", outside.err)
		os.Exit(1) // no test can run
	}
	keys["zookeeper.connect"] = outside.connect(fmt.Sprint("/node-", places.Add(1)))
	return keys
}

// coordination is an ensemble of ours or an Apache ZooKeeper, in processes that can be killed and stopped.
type coordination struct {
	kind    string
	dir     string
	addrs   []string // of clients
	servers []coordinationServer
	key     []byte // of an ensemble
	starts  chan func()
}

type coordinationServer struct {
	cmd *exec.Cmd
	pid int
}

func startCoordination(kind string) (*coordination, error) {
	dir, err := os.MkdirTemp("", "pelton-coordination")
	if err != nil {
		return nil, err
	}
	c := &coordination{kind: kind, dir: dir, starts: make(chan func())}
	go func() {
		// Servers die with the thread that started them, and the runtime ends threads at will: this one stays as long as they shall.
		runtime.LockOSThread()
		for start := range c.starts {
			start()
		}
	}()
	n := 1
	switch kind {
	case "zookeeper":
	case "ensemble":
		n = 3
	default:
		err = fmt.Errorf("%s=%s: it is embedded, ensemble or zookeeper", coordinationKind, kind)
	}
	ports, portsErr := freePorts(3 * n)
	c.servers = make([]coordinationServer, n)
	for i := range n {
		c.addrs = append(c.addrs, fmt.Sprint("127.0.0.1:", ports[i]))
	}
	if err = errors.Join(err, portsErr); err == nil && kind == "ensemble" {
		err = c.configure(ports)
	}
	if err == nil {
		err = c.startAll()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// freePorts are ports that nobody has now.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return make([]int, n), err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// configure writes the one zoo.cfg of an ensemble; each server runs in a directory of its own.
func (c *coordination) configure(ports []int) error {
	var b strings.Builder
	b.WriteString("tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=data\nmaxClientCnxns=0\nautopurge.purgeInterval=0\npelton.ensemble.keyFile=key\n")
	for i := range c.servers {
		fmt.Fprintf(&b, "server.%d=127.0.0.1:%d:%d;127.0.0.1:%d\n", i+1, ports[3+i], ports[6+i], ports[i])
	}
	c.key = make([]byte, 32)
	if _, err := rand.Read(c.key); err != nil {
		return err
	}
	c.key = base64.StdEncoding.AppendEncode(nil, c.key)
	err := errors.Join(os.WriteFile(filepath.Join(c.dir, "key"), c.key, 0o600), os.WriteFile(filepath.Join(c.dir, "zoo.cfg"), []byte(b.String()), 0o644))
	for i := range c.servers {
		data := filepath.Join(c.dir, strconv.Itoa(i), "data")
		err = errors.Join(err, os.MkdirAll(data, 0o755), os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(i+1)), 0o644))
	}
	return err
}

// connect is the value of zookeeper.connect.
func (c *coordination) connect(chroot string) string { return strings.Join(c.addrs, ",") + chroot }

// startAll starts every server that does not run and returns when they serve.
func (c *coordination) startAll() error {
	for i := range c.servers {
		if err := c.start(i); err != nil {
			return err
		}
	}
	for until := time.Now().Add(4 * answerWithin); ; {
		serving := 0
		for _, a := range c.addrs {
			if mode(a) != "" {
				serving++
			}
		}
		if serving == len(c.addrs) {
			return nil
		}
		if time.Now().After(until) {
			log, _ := os.ReadFile(filepath.Join(c.dir, "0", "log"))
			return fmt.Errorf("%d of %d coordination servers serve: %s", serving, len(c.addrs), log)
		}
	}
}

// mode is what a server says it is; empty while it does not serve.
func mode(addr string) string {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(conn, "srvr")
	b, _ := io.ReadAll(conn) // what came before an error is looked at
	_, mode, _ := strings.Cut(string(b), "Mode: ")
	mode, _, _ = strings.Cut(mode, "\n")
	return mode
}

func (c *coordination) start(i int) error {
	s := &c.servers[i]
	if s.pid != 0 {
		return nil
	}
	if c.kind == "zookeeper" {
		dir := filepath.Join(c.dir, "apache")
		_, port, _ := net.SplitHostPort(c.addrs[i])
		script := filepath.Join("..", "..", "..", "internal", "tools", "apache")
		if out, err := exec.Command(script, "start", "zookeeper", "3.9.5", port, dir).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err == nil {
			s.pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err
	}
	bin := os.Getenv(serverBinary)
	if bin == "" {
		bin = filepath.Join("..", "..", "..", "bin", "pelton")
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir := filepath.Join(c.dir, strconv.Itoa(i))
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(bin, "zk", "server", filepath.Join(c.dir, "zoo.cfg"))
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = dir, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	c.starts <- func() { started <- s.cmd.Start() }
	if err := <-started; err != nil {
		return err
	}
	s.pid = s.cmd.Process.Pid
	return nil
}

// kill ends server i as a crash would, and returns when its process is gone.
func (c *coordination) kill(i int) {
	s := &c.servers[i]
	if s.pid == 0 {
		return
	}
	gone, err := unix.PidfdOpen(s.pid, 0) // Apache's is no child of ours
	_ = syscall.Kill(s.pid, syscall.SIGKILL)
	if err == nil {
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(gone), Events: unix.POLLIN}}, int(answerWithin.Milliseconds()))
		_ = unix.Close(gone)
	}
	if s.cmd != nil {
		_ = s.cmd.Wait() // it was killed
	}
	for syscall.Kill(s.pid, 0) == nil { // whoever is its parent takes note of its end
		runtime.Gosched()
	}
	*s = coordinationServer{}
}

// signal reaches every server.
func (c *coordination) signal(sig syscall.Signal) {
	for _, s := range c.servers {
		if s.pid != 0 {
			_ = syscall.Kill(s.pid, sig)
		}
	}
}

func (c *coordination) close() {
	c.signal(syscall.SIGCONT)
	for i := range c.servers {
		c.kill(i)
	}
	close(c.starts)
	os.RemoveAll(c.dir)
}

// coordinator is a client of whatever coordinates a broker, and the path that is the broker's root there.
func (n *node) coordinator(t *testing.T) (*zk.Conn, string) {
	t.Helper()
	servers, root := n.coordinatedBy()
	conn, _, err := zk.Connect(servers, answerWithin, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn, root
}

func (n *node) coordinatedBy() (servers []string, root string) {
	connect := n.keys["zookeeper.connect"]
	if connect == "" {
		connect = n.ready.ZooKeeper
	}
	hosts, chroot, found := strings.Cut(connect, "/")
	if found {
		root = "/" + chroot
	}
	return strings.Split(hosts, ","), root
}

// password is what the owner of a session knows, worked out from what the servers keep.
func (n *node) password(t *testing.T, c *coordination, session int64) []byte {
	t.Helper()
	if c != nil && c.kind == "zookeeper" {
		return apachesPassword(session)
	}
	var secret []byte
	if c != nil {
		key, err := ensemble.ReadKey(disk.OS(), filepath.Join(c.dir, "key"))
		if err != nil {
			t.Fatal(err)
		}
		secret = (&ensemble.Config{Key: key}).SessionSecret()
	} else {
		var err error
		if secret, err = os.ReadFile(filepath.Join(n.keys["pelton.zookeeper.data.dir"], "version-2", "session.key")); err != nil {
			t.Fatal(err)
		}
	}
	h := hmac.New(sha256.New, secret)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(session)))
	return h.Sum(nil)[:16]
}

// apachesPassword is 16 bytes of java.util.Random begun with the session's id and a number that never changes.
func apachesPassword(session int64) []byte {
	const mult, mask, fixed = 0x5DEECE66D, 1<<48 - 1, 0xB3415C00
	seed := (uint64(session) ^ fixed ^ mult) & mask
	var out []byte
	for range 4 {
		seed = (seed*mult + 0xB) & mask
		out = binary.LittleEndian.AppendUint32(out, uint32(seed>>16))
	}
	return out
}
