//go:build linux

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pelton-broker/pelton/internal/task"
)

// options are the flags of every program; each uses its own.
type options struct {
	listen     string
	dir        string
	sync       bool
	batch      bool
	threads    int
	readBytes  int
	fileBytes  int64
	reply      int
	epoll      bool
	frameBytes int
	append     int
	named      bool
}

// counts are what a program did, for its last line.
type counts struct{ frames, bytes atomic.Int64 }

// program serves one connection until the peer closes it.
type program interface {
	serve(fd int, id int) error
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say which program: sink, source, pingpong or echo")
	}
	o := options{}
	fs := flag.NewFlagSet("floor "+args[0], flag.ContinueOnError)
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0", "IPv4 address and port")
	fs.StringVar(&o.dir, "dir", os.TempDir(), "directory of the files written or sent")
	fs.BoolVar(&o.sync, "sync", false, "sink: fdatasync after each frame, before its ack")
	fs.BoolVar(&o.batch, "batch", false, "sink: one pwrite and one ack write for all frames of one read")
	fs.IntVar(&o.threads, "threads", 256, "connections served at once, each by a thread of its own; more wait in the backlog")
	fs.IntVar(&o.readBytes, "read", 256<<10, "sink: bytes per read")
	fs.Int64Var(&o.fileBytes, "file", 128<<20, "source: bytes of the cached file")
	fs.BoolVar(&o.named, "named", false, "source: the file keeps its name, source-PID.log in -dir, so that its pages can be dropped from outside")
	fs.IntVar(&o.reply, "reply", 0, "source: bytes of each answer (default 1 MiB); echo: bytes of each answer (default: the frame's)")
	fs.BoolVar(&o.epoll, "epoll", false, "pingpong: one thread and epoll instead of a thread per connection")
	fs.IntVar(&o.frameBytes, "frame", 64, "pingpong: bytes of a message")
	fs.IntVar(&o.append, "append", 0, "pingpong: bytes appended to a file of the connection before each answer, with one pwrite")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	if err := withoutPreemption(); err != nil {
		return err
	}
	n := &counts{}
	group := task.NewGroup()
	var err error
	var port int
	switch args[0] {
	case "echo":
		port, err = startEcho(o, n, group)
	case "pingpong", "sink", "source":
		port, err = startRaw(args[0], o, n, group)
	default:
		err = fmt.Errorf("no program %q: sink, source, pingpong or echo", args[0])
	}
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	print(map[string]any{"event": "ready", "program": args[0], "port": port, "pid": os.Getpid()})
	<-stop
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return err
	}
	print(map[string]any{"event": "end", "program": args[0], "frames": n.frames.Load(), "bytes": n.bytes.Load(),
		"user_s": float64(ru.Utime.Nano()) / 1e9, "sys_s": float64(ru.Stime.Nano()) / 1e9})
	return nil // connections still open end with the process
}

// withoutPreemption starts the program again with the runtime's preemption signals off: they would
// cut every blocked call short once in 10 ms.
func withoutPreemption() error {
	const off = "asyncpreemptoff=1"
	if strings.Contains(os.Getenv("GODEBUG"), off) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, append(os.Environ(), "GODEBUG="+off))
}

func print(line map[string]any) {
	b, err := json.Marshal(line)
	if err != nil {
		b = []byte(err.Error())
	}
	os.Stdout.Write(append(b, '\n'))
}

// startRaw starts a program of blocking system calls: the collector is off, nothing preempts, and
// there is a processor for each thread, so that a blocked raw call holds nobody up.
func startRaw(name string, o options, n *counts, group *task.Group) (int, error) {
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(o.threads + 4)
	fd, port, err := listen(o.listen)
	if err != nil {
		return 0, err
	}
	var p program
	switch name {
	case "sink":
		p = &sink{o: o, n: n}
	case "source":
		if p, err = newSource(o, n); err != nil {
			return 0, err
		}
	case "pingpong":
		if o.epoll {
			group.Go("epoll", func(context.Context) {
				runtime.LockOSThread()
				report(pingpongEpoll(fd, o, n))
			})
			return port, nil
		}
		p = &pingpong{o: o, n: n}
	}
	slots := make(chan struct{}, o.threads)
	group.Go("accept", func(context.Context) {
		for id := 0; ; id++ {
			slots <- struct{}{}
			conn, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
			if err != nil {
				report(err)
				return
			}
			group.Go("connection", func(context.Context) {
				runtime.LockOSThread()
				report(p.serve(conn, id))
				report(unix.Close(conn))
				<-slots
			})
		}
	})
	return port, nil
}

func report(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
	}
}
