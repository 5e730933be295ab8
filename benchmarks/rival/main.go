// Command rival is a NATS server with JetStream in a process of its own, so that its processor time can be read. It is a module of its own:
// the server's dependencies are none of the broker's.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rival:", err)
		os.Exit(1)
	}
}

func run() error {
	dir := flag.String("dir", "", "directory of the streams")
	port := flag.Int("port", -1, "port; -1: a free one")
	sync := flag.Bool("sync", false, "fsync each message before its answer")
	flag.Parse()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: *port, JetStream: true, StoreDir: *dir, SyncAlways: *sync, NoSigs: true, NoLog: true,
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 64 << 30})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return fmt.Errorf("not ready within 20 s")
	}
	fmt.Printf("{\"event\":\"ready\",\"addr\":%q,\"version\":%q}\n", s.Addr().String(), server.VERSION)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}
