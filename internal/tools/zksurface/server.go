package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pelton-broker/pelton/internal/tools/process"
)

// server is one running server of either kind.
type server struct {
	cmd                    *exec.Cmd
	client, admin, metrics int
	role                   string
}

// group is one server alone or three together.
type group struct {
	kind    string
	dir     string
	servers []*server
}

// digest is that of super:secret, as ZooKeeper wants it.
const digest = "-Dzookeeper.DigestAuthenticationProvider.superDigest=super:lK75jTNcA+U9vtVEw5vB51mj/w4="

// startGroup starts n servers; with three the last one observes. page switches the page of metrics on.
func startGroup(kind, classpath, binary, dir string, n int, page bool) (*group, error) {
	g := &group{kind: kind, dir: dir}
	ports, err := process.FreePorts(5 * n)
	if err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "key")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(key, []byte("the key of this comparison\n"), 0o600); err != nil {
		return nil, err
	}
	for i := range n {
		s := &server{client: ports[5*i+2], admin: ports[5*i+3], metrics: ports[5*i+4]}
		home := filepath.Join(dir, fmt.Sprint(i+1))
		lines := []string{"tickTime=1000", "dataDir=" + home + "/data", "4lw.commands.whitelist=*", "admin.enableServer=true", "admin.serverAddress=127.0.0.1", fmt.Sprintf("admin.serverPort=%d", s.admin)}
		if page {
			lines = append(lines, "metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider", "metricsProvider.httpHost=127.0.0.1", fmt.Sprintf("metricsProvider.httpPort=%d", s.metrics))
		}
		if n == 1 {
			lines = append(lines, fmt.Sprintf("clientPort=%d", s.client), "clientPortAddress=127.0.0.1")
		} else {
			lines = append(lines, "initLimit=10", "syncLimit=5")
			for j := range n {
				role := "participant"
				if j == n-1 {
					role = "observer"
				}
				lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d:%s;127.0.0.1:%d", j+1, ports[5*j], ports[5*j+1], role, ports[5*j+2]))
			}
			if kind == "ours" {
				lines = append(lines, "pelton.ensemble.keyFile="+key)
			}
		}
		if err := os.MkdirAll(home+"/data", 0o755); err != nil {
			return g, err
		}
		if err := os.WriteFile(home+"/data/myid", []byte(fmt.Sprint(i+1)), 0o644); err != nil {
			return g, err
		}
		if err := os.WriteFile(home+"/zoo.cfg", []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			return g, err
		}
		if kind == "ours" {
			s.cmd = exec.Command(binary, "zk", "server", home+"/zoo.cfg")
			s.cmd.Env = append(os.Environ(), "SERVER_JVMFLAGS="+digest)
		} else {
			s.cmd = exec.Command("java", "-Xmx200m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", digest, "-cp", classpath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", home+"/zoo.cfg")
		}
		log, err := os.Create(home + "/log")
		if err != nil {
			return g, err
		}
		s.cmd.Stdout, s.cmd.Stderr, s.cmd.Dir = log, log, home
		err = s.cmd.Start()
		if err = errors.Join(err, log.Close()); err != nil { // the process has its own descriptor
			return g, err
		}
		g.servers = append(g.servers, s)
	}
	return g, g.await()
}

// await waits until every server has a role.
func (g *group) await() error {
	for _, s := range g.servers {
		until := time.Now().Add(150 * time.Second)
		for s.role == "" {
			if m := regexp.MustCompile(`Mode: (\w+)`).FindStringSubmatch(word(s.client, "srvr")); m != nil {
				s.role = m[1]
			}
			if time.Now().After(until) {
				return fmt.Errorf("%s in %s: a server has no role in time", g.kind, g.dir)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return nil
}

func (g *group) stop() {
	if g == nil {
		return
	}
	for _, s := range g.servers {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

func word(port int, w string) string {
	c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), 2*time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := c.Write([]byte(w)); err != nil {
		return ""
	}
	b, _ := io.ReadAll(c)
	return string(b)
}

func get(port int, path string) (string, int) {
	c := http.Client{Timeout: 20 * time.Second}
	r, err := c.Get(fmt.Sprintf("http://127.0.0.1:%d%s", port, path))
	if err != nil {
		return err.Error(), 0
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	return string(b), r.StatusCode
}
