//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// natsTongue speaks NATS' line protocol: a record is a message to a subject that a stream keeps, and its answer a message to our inbox.
type natsTongue struct{ subject, port string }

func (t *natsTongue) greet(c *wireConn, stream string) error {
	if t.subject == "" {
		if _, err := c.in.ReadString('\n'); err != nil { // INFO
			return err
		}
		_, port, err := net.SplitHostPort(c.LocalAddr().String()) // a name of our own
		if err != nil {
			return err
		}
		t.port = port
		if _, err := fmt.Fprintf(c, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB %s 1\r\n", t.inbox()); err != nil {
			return err
		}
	}
	t.subject = stream
	err := t.ask(c, "STREAM.CREATE."+stream, fmt.Sprintf(`{"name":%q,"subjects":[%q],"storage":"file","retention":"limits"}`, stream, stream))
	if err != nil && strings.Contains(err.Error(), "already in use") {
		return nil
	}
	return err
}

func (t *natsTongue) inbox() string { return "_INBOX.pelton." + t.port }

// ask calls JetStream and waits for its answer.
func (t *natsTongue) ask(c *wireConn, what, body string) error {
	if _, err := fmt.Fprintf(c, "PUB $JS.API.%s %s %d\r\n%s\r\n", what, t.inbox(), len(body), body); err != nil {
		return err
	}
	answer, err := t.message(c.in)
	if err == nil && bytes.Contains(answer, []byte(`"error"`)) {
		err = fmt.Errorf("nats: %s: %s", what, answer)
	}
	return err
}

// message reads up to the next message and gives its payload.
func (t *natsTongue) message(in *bufio.Reader) ([]byte, error) {
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		switch {
		case bytes.HasPrefix(line, []byte("-ERR")):
			return nil, fmt.Errorf("nats: %s", line)
		case !bytes.HasPrefix(line, []byte("MSG ")):
			continue // PING, PONG, +OK
		}
		line = bytes.TrimRight(line, "\r\n")
		n, err := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
		if err != nil {
			return nil, err
		}
		b := make([]byte, n+2)
		_, err = io.ReadFull(in, b)
		return b[:max(0, len(b)-2)], err
	}
}

func (t *natsTongue) publish(b, record []byte) []byte {
	b = fmt.Appendf(b, "PUB %s _INBOX.pelton.%s %d\r\n", t.subject, t.port, len(record))
	return append(append(b, record...), '\r', '\n')
}

func (t *natsTongue) confirmed(in *bufio.Reader) (int, error) {
	answer, err := t.message(in)
	if err == nil && bytes.Contains(answer, []byte(`"error"`)) {
		err = fmt.Errorf("nats: %s", answer)
	}
	return 1, err
}

// fetch has the stream pushed to the inbox by a consumer without acknowledgements.
func (t *natsTongue) fetch(c *wireConn, stream string, records int) error {
	body := fmt.Sprintf(`{"stream_name":%q,"config":{"deliver_subject":"%s.push","ack_policy":"none","deliver_policy":"all","replay_policy":"instant","mem_storage":true,"inactive_threshold":5000000000}}`, stream, t.inbox())
	if _, err := fmt.Fprintf(c, "SUB %s.push 2\r\n", t.inbox()); err != nil {
		return err
	}
	if err := t.ask(c, "CONSUMER.CREATE."+stream, body); err != nil {
		return err
	}
	for range records {
		if _, err := t.message(c.in); err != nil {
			return err
		}
	}
	return nil
}

func (t *natsTongue) drop(c *wireConn, stream string) error {
	return t.ask(c, "STREAM.DELETE."+stream, "")
}
