//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func reading(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

func TestRedisTongueWritesEntriesAndReadsAnswers(t *testing.T) {
	x := &redisTongue{stream: "s"}
	if got := string(x.publish(nil, []byte("ab"))); got != "*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\nv\r\n$2\r\nab\r\n" {
		t.Fatalf("%q", got)
	}
	in := reading("$3\r\n1-0\r\n-OOM no\r\n*2\r\n$3\r\n7-1\r\n*2\r\n$1\r\nv\r\n$2\r\nab\r\n")
	if n, err := x.confirmed(in); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := x.confirmed(in); err == nil || !strings.Contains(err.Error(), "OOM") {
		t.Fatalf("an error must not count as confirmed: %v", err)
	}
	if id, err := x.entry(in); id != "7-1" || err != nil {
		t.Fatal(id, err)
	}
}

func TestNATSTongueTellsAnswersFromErrors(t *testing.T) {
	x := &natsTongue{subject: "s", port: "9"}
	if got := string(x.publish(nil, []byte("ab"))); got != "PUB s _INBOX.pelton.9 2\r\nab\r\n" {
		t.Fatalf("%q", got)
	}
	in := reading("PING\r\nMSG _INBOX.pelton.9 1 2\r\n{}\r\nMSG _INBOX.pelton.9 1 12\r\n{\"error\":{}}\r\n-ERR 'Slow Consumer'\r\n")
	if n, err := x.confirmed(in); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	for range 2 {
		if _, err := x.confirmed(in); err == nil {
			t.Fatal("an error counted as confirmed")
		}
	}
}

func TestRabbitTongueCountsConfirmations(t *testing.T) {
	x := &rabbitTongue{publisher: 1, next: 7}
	frame := x.publish(nil, []byte("ab"))
	if len(frame) != 4+int(binary.BigEndian.Uint32(frame)) || binary.BigEndian.Uint64(frame[13:]) != 7 || !bytes.HasSuffix(frame, []byte("\x00\x00\x00\x02ab")) {
		t.Fatalf("% x", frame)
	}
	confirm := x.frame(rabbitConfirm, append([]byte{1, 0, 0, 0, 3}, make([]byte, 24)...))
	refusal := x.frame(4, []byte{1, 0, 0, 0, 1})
	in := bufio.NewReader(bytes.NewReader(append(append(x.frame(23, nil), confirm...), refusal...)))
	sum := 0
	for range 2 {
		n, err := x.confirmed(in)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if _, err := x.confirmed(in); sum != 3 || err == nil {
		t.Fatalf("%d confirmed, refusal %v", sum, err)
	}
}

// confirms answers each record with its own confirmation, a few at a time.
func TestFillKeepsItsWindowAndCountsEveryRecord(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	done := make(chan int, 1)
	go func() {
		defer there.Close()
		in, records := bufio.NewReader(there), 0
		x := &redisTongue{}
		for records < 100 {
			if _, parts, err := x.value(in); err != nil || parts != 5 {
				break
			}
			for range 5 {
				if _, _, err := x.value(in); err != nil {
					break
				}
			}
			records++
			if records%10 == 0 { // the window is ten: the driver waits for these
				if _, err := io.WriteString(there, strings.Repeat("$3\r\n1-0\r\n", 10)); err != nil {
					break
				}
			}
		}
		done <- records
	}()
	if err := here.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	j := job{window: 10, record: []byte("x")}
	if err := j.fill(&wireConn{here, bufio.NewReader(here)}, &redisTongue{stream: "s"}, 100); err != nil {
		t.Fatal(err)
	}
	if n := <-done; n != 100 {
		t.Fatalf("%d records came", n)
	}
	j = job{conns: 8, streams: 6, records: 800}
	if j.held(0) != 200 || j.held(5) != 100 {
		t.Fatal("the streams hold what their connections send")
	}
}

func TestAbsentRivalsAreNamedWithTheReason(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	b := &bench{natsBin: "/nonexistent/rival", dir: t.TempDir()}
	list, absent, err := b.rivals([]string{"nats", "redis", "rabbitmq", "4.2.0"}, false)
	if err != nil || len(list) != 0 || len(absent) != 3 || !strings.Contains(strings.Join(absent, "\n"), "apt-get install redis-server") {
		t.Fatalf("%v %v %v", list, absent, err)
	}
}
