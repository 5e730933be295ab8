//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// redisTongue speaks RESP: a record is an entry of a stream with one field.
type redisTongue struct{ stream string }

func (t *redisTongue) command(b []byte, words ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}

// value reads an answer; of a list it gives the number of its parts.
func (t *redisTongue) value(in *bufio.Reader) (text string, parts int, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", 0, err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", 0, io.ErrUnexpectedEOF
	}
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '-':
		return "", 0, fmt.Errorf("redis: %s", line[1:])
	case '$':
		if n < 0 {
			return "", 0, nil
		}
		b := make([]byte, n+2)
		_, err := io.ReadFull(in, b)
		return string(b[:n]), 0, err
	case '*':
		return "", n, nil
	}
	return line[1:], 0, nil
}

func (t *redisTongue) greet(_ *wireConn, stream string) error {
	t.stream = stream
	return nil
}

func (t *redisTongue) publish(b, record []byte) []byte {
	b = fmt.Appendf(b, "*5\r\n$4\r\nXADD\r\n$%d\r\n%s\r\n$1\r\n*\r\n$1\r\nv\r\n$%d\r\n", len(t.stream), t.stream, len(record))
	return append(append(b, record...), '\r', '\n')
}

func (t *redisTongue) confirmed(in *bufio.Reader) (int, error) {
	_, _, err := t.value(in)
	return 1, err
}

// fetch asks for a thousand entries after the last one that came.
func (t *redisTongue) fetch(c *wireConn, stream string, records int) error {
	last := "-"
	for got := 0; got < records; {
		if _, err := c.Write(t.command(nil, "XRANGE", stream, last, "+", "COUNT", "1000")); err != nil {
			return err
		}
		_, entries, err := t.value(c.in)
		if err != nil {
			return err
		}
		if entries == 0 {
			return fmt.Errorf("redis: the stream ends after %d of %d records", got, records)
		}
		for range entries {
			if last, err = t.entry(c.in); err != nil {
				return err
			}
		}
		got, last = got+entries, "("+last
	}
	return nil
}

// entry reads [id, [field, value]].
func (t *redisTongue) entry(in *bufio.Reader) (id string, err error) {
	for i := range 5 {
		text, _, err := t.value(in)
		if err != nil {
			return "", err
		}
		if i == 1 {
			id = text
		}
	}
	return id, nil
}

func (t *redisTongue) drop(c *wireConn, stream string) error {
	if _, err := c.Write(t.command(nil, "UNLINK", stream)); err != nil {
		return err
	}
	_, _, err := t.value(c.in)
	return err
}
