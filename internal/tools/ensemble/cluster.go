//go:build linux

package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pelton-broker/pelton/internal/tools/loopdisk"
)

// cluster is three servers, each in a network namespace of its own when that is allowed.
type cluster struct {
	dir      string
	command  string
	base     int // first port
	spaces   bool
	patience time.Duration // how long the servers may take to form an ensemble
	volumes  []volume      // none where there are no loop devices
	procs    [3]*exec.Cmd
	stopped  [3]bool
}

const (
	bridge  = "peltonbr"
	network = "10.215.7."
)

func newCluster(dir, command string, base int, patience time.Duration) (*cluster, error) {
	c := &cluster{dir: dir, command: command, base: base, patience: patience}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "key"), []byte(hex.EncodeToString(key)), 0o600); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		fmt.Println("partitions are left out: network namespaces need root")
	} else if err := c.makeSpaces(); err != nil {
		fmt.Println("partitions are left out: no network namespaces:", err)
		c.dropSpaces()
	} else {
		c.spaces = true
	}
	if err := c.makeVolumes(); err != nil {
		return nil, err
	}
	for i := range 3 {
		if err := c.configure(i); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// makeVolumes gives each server a disk of its own that can be cut off.
func (c *cluster) makeVolumes() error {
	if os.Geteuid() != 0 {
		fmt.Println("power cuts are left out: loop devices need root")
		return nil
	}
	for i := range 3 {
		v, err := newVolume(c.dir, i)
		c.volumes = append(c.volumes, v)
		if err != nil {
			c.dropVolumes()
			if errors.Is(err, loopdisk.ErrMissing) {
				fmt.Println("power cuts are left out:", err)
				return nil
			}
			return err
		}
	}
	return nil
}

func (c *cluster) dropVolumes() {
	for _, v := range c.volumes {
		v.Free()
	}
	c.volumes = nil
}

// cut takes the power from servers: their processes end, and what they had not made durable is gone. Then they start again.
func (c *cluster) cut(servers ...int) error {
	for _, i := range servers {
		c.kill(i)
	}
	for _, i := range servers {
		if err := c.volumes[i].cut(); err != nil {
			return err
		}
		if err := c.start(i); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) host(i int) string {
	if c.spaces {
		return fmt.Sprint(network, i+1)
	}
	return "127.0.0.1"
}

func (c *cluster) client(i int) string { return net.JoinHostPort(c.host(i), fmt.Sprint(c.base+i)) }

func (c *cluster) configure(i int) error {
	data := filepath.Join(c.dir, fmt.Sprint("d", i))
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tickTime=1000\ninitLimit=10\nsyncLimit=5\ndataDir=%s\nclientPort=%d\nclientPortAddress=%s\n4lw.commands.whitelist=*\nadmin.enableServer=false\nmaxClientCnxns=0\nsnapCount=20000\npelton.ensemble.keyFile=%s\n",
		data, c.base+i, c.host(i), filepath.Join(c.dir, "key"))
	for j := range 3 {
		fmt.Fprintf(&b, "server.%d=%s:%d:%d\n", j+1, c.host(j), c.base+10+j, c.base+20+j)
	}
	if err := os.WriteFile(filepath.Join(data, "myid"), fmt.Append(nil, i+1), 0o644); err != nil {
		return err
	}
	if c.volumes != nil {
		if err := c.volumes[i].sync(); err != nil {
			return err
		}
	}
	return os.WriteFile(c.config(i), []byte(b.String()), 0o644)
}

func (c *cluster) config(i int) string { return filepath.Join(c.dir, fmt.Sprintf("zoo%d.cfg", i)) }

// start runs server i.
func (c *cluster) start(i int) error {
	words := strings.Fields(strings.ReplaceAll(c.command, "{cfg}", c.config(i)))
	if c.spaces {
		// Not ip netns exec: that would make a mount namespace too, which goes on holding a disk that was cut off.
		words = append([]string{"nsenter", "--net=/run/netns/" + space(i)}, words...)
	}
	log, err := os.OpenFile(filepath.Join(c.dir, fmt.Sprintf("log%d", i)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	p := exec.Command(words[0], words[1:]...)
	p.Stdout, p.Stderr = log, log
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.Start(); err != nil {
		return err
	}
	c.procs[i] = p
	return nil
}

func (c *cluster) signal(i int, s syscall.Signal) {
	if p := c.procs[i]; p != nil {
		_ = syscall.Kill(-p.Process.Pid, s)
	}
}

// kill ends server i as a power cut of its process would.
func (c *cluster) kill(i int) {
	if p := c.procs[i]; p != nil {
		c.signal(i, syscall.SIGKILL)
		_ = p.Wait()
		c.procs[i] = nil
	}
}

// role asks a server what it is; empty when it does not serve.
func (c *cluster) role(i int) string {
	conn, err := net.DialTimeout("tcp", c.client(i), time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	_, _ = conn.Write([]byte("srvr"))
	var b bytes.Buffer
	_, _ = b.ReadFrom(conn)
	_, mode, _ := strings.Cut(b.String(), "Mode: ")
	mode, _, _ = strings.Cut(mode, "\n")
	return mode
}

// wait returns when all three serve.
func (c *cluster) wait() error {
	for until := time.Now().Add(c.patience); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		roles := c.role(0) + " " + c.role(1) + " " + c.role(2)
		if strings.Count(roles, "follower") == 2 && strings.Contains(roles, "leader") {
			return nil
		}
	}
	return fmt.Errorf("the servers form no ensemble within %s: %q, %q, %q; with -keep their logs stay in %s", c.patience, c.role(0), c.role(1), c.role(2), c.dir)
}

func (c *cluster) leader() int {
	for i := range 3 {
		if c.role(i) == "leader" {
			return i
		}
	}
	return 0
}

// close ends everything.
func (c *cluster) close() {
	for i := range 3 {
		c.signal(i, syscall.SIGCONT)
		c.kill(i)
	}
	if c.spaces {
		c.dropSpaces()
	}
	c.dropVolumes()
}

func space(i int) string { return fmt.Sprint("pelton", i+1) }

func all(lines ...string) error {
	for _, l := range lines {
		if err := loopdisk.Run(strings.Fields(l)...); err != nil {
			return err
		}
	}
	return nil
}

// makeSpaces makes a namespace for each server and a bridge between them and the clients.
func (c *cluster) makeSpaces() error {
	c.dropSpaces()
	if err := all("ip link add "+bridge+" type bridge", "ip addr add "+network+"254/24 dev "+bridge, "ip link set "+bridge+" up"); err != nil {
		return err
	}
	for i := range 3 {
		in := "ip netns exec " + space(i) + " "
		veth := fmt.Sprint("peltonv", i+1)
		if err := all("ip netns add "+space(i), "ip link add "+veth+" type veth peer name eth0 netns "+space(i), "ip link set "+veth+" master "+bridge+" up",
			in+"ip addr add "+network+fmt.Sprint(i+1)+"/24 dev eth0", in+"ip link set eth0 up", in+"ip link set lo up"); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) dropSpaces() {
	for i := range 3 {
		_ = loopdisk.Run("ip", "netns", "del", space(i))
		_ = loopdisk.Run("ip", "link", "del", fmt.Sprint("peltonv", i+1))
	}
	_ = loopdisk.Run("ip", "link", "del", bridge)
}

// split separates server i from the other two, or joins it again; its clients still reach it.
func (c *cluster) split(i int, apart bool) {
	verb := "del"
	if apart {
		verb = "add"
	}
	for j := range 3 {
		if j == i {
			continue
		}
		_ = loopdisk.Run("ip", "netns", "exec", space(i), "ip", "route", verb, "blackhole", network+fmt.Sprint(j+1)+"/32")
		_ = loopdisk.Run("ip", "netns", "exec", space(j), "ip", "route", verb, "blackhole", network+fmt.Sprint(i+1)+"/32")
	}
}
