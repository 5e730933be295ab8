//go:build linux

package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// Keys of RabbitMQ's stream protocol.
const (
	rabbitDeclare   = 1
	rabbitPublish   = 2
	rabbitConfirm   = 3
	rabbitSubscribe = 7
	rabbitDeliver   = 8
	rabbitCredit    = 9
	rabbitCreate    = 13
	rabbitDelete    = 14
	rabbitPeer      = 17
	rabbitHandshake = 18
	rabbitLogin     = 19
	rabbitTune      = 20
	rabbitOpen      = 21
	rabbitAnswer    = 0x8000
	rabbitExists    = 5 // code: the stream is there
	rabbitMissing   = 2 // code: it is not
)

// rabbitTongue speaks RabbitMQ's stream protocol.
type rabbitTongue struct {
	publisher byte
	next      uint64
	corr      uint32
	open      bool
}

func rabbitText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

// frame is a message with its length in front.
func (t *rabbitTongue) frame(key uint16, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+len(body)))
	b = binary.BigEndian.AppendUint16(b, key)
	return append(binary.BigEndian.AppendUint16(b, 1), body...)
}

// read gives the next message.
func (t *rabbitTongue) read(in *bufio.Reader) (key uint16, body []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	size := int(binary.BigEndian.Uint32(head[:])) - 4
	if size < 0 || size > 64<<20 {
		return 0, nil, fmt.Errorf("rabbitmq: a frame of %d bytes", size)
	}
	body = make([]byte, size)
	_, err = io.ReadFull(in, body)
	return binary.BigEndian.Uint16(head[4:]), body, err
}

// ask sends a request and waits for its answer, whose code may be one of those that are fine.
func (t *rabbitTongue) ask(c *wireConn, key uint16, body []byte, fine ...uint16) error {
	t.corr++
	if _, err := c.Write(t.frame(key, append(binary.BigEndian.AppendUint32(nil, t.corr), body...))); err != nil {
		return err
	}
	for {
		got, answer, err := t.read(c.in)
		if err != nil {
			return err
		}
		if got != key|rabbitAnswer || len(answer) < 6 {
			continue // a notice
		}
		code := binary.BigEndian.Uint16(answer[4:])
		for _, ok := range append(fine, 1) {
			if code == ok {
				return nil
			}
		}
		return fmt.Errorf("rabbitmq: request %d: code %d", key, code)
	}
}

// login goes through the opening: properties, mechanism, password, tuning, virtual host.
func (t *rabbitTongue) login(c *wireConn) error {
	if err := t.ask(c, rabbitPeer, binary.BigEndian.AppendUint32(nil, 0)); err != nil {
		return err
	}
	if err := t.ask(c, rabbitHandshake, nil); err != nil {
		return err
	}
	const secret = "\x00guest\x00guest"
	if err := t.ask(c, rabbitLogin, append(binary.BigEndian.AppendUint32(rabbitText(nil, "PLAIN"), uint32(len(secret))), secret...)); err != nil {
		return err
	}
	for {
		key, body, err := t.read(c.in)
		if err != nil {
			return err
		}
		if key == rabbitTune {
			if _, err := c.Write(t.frame(rabbitTune, body)); err != nil {
				return err
			}
			break
		}
	}
	t.open = true
	return t.ask(c, rabbitOpen, rabbitText(nil, "/"))
}

func (t *rabbitTongue) greet(c *wireConn, stream string) error {
	if !t.open {
		if err := t.login(c); err != nil {
			return err
		}
	}
	if err := t.ask(c, rabbitCreate, binary.BigEndian.AppendUint32(rabbitText(nil, stream), 0), rabbitExists); err != nil {
		return err
	}
	t.publisher++
	return t.ask(c, rabbitDeclare, rabbitText(rabbitText([]byte{t.publisher}, ""), stream))
}

func (t *rabbitTongue) publish(b, record []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(4+1+4+8+4+len(record)))
	b = binary.BigEndian.AppendUint16(b, rabbitPublish)
	b = binary.BigEndian.AppendUint16(b, 1)
	b = append(b, t.publisher)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint64(b, t.next)
	t.next++
	return append(binary.BigEndian.AppendUint32(b, uint32(len(record))), record...)
}

func (t *rabbitTongue) confirmed(in *bufio.Reader) (int, error) {
	key, body, err := t.read(in)
	switch {
	case err != nil:
		return 0, err
	case key == rabbitConfirm && len(body) >= 5:
		return int(binary.BigEndian.Uint32(body[1:])), nil
	case key == 4: // publishing failed
		return 0, fmt.Errorf("rabbitmq: a record was refused: % x", body[:min(20, len(body))])
	}
	return 0, nil
}

// fetch subscribes from the first record on and gives a credit for each chunk that came.
func (t *rabbitTongue) fetch(c *wireConn, stream string, records int) error {
	const first, credits, chunkRecords = 1, 10, 1 + 4
	body := append([]byte{1}, rabbitText(nil, stream)...)
	body = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(body, first), credits)
	if err := t.ask(c, rabbitSubscribe, body); err != nil {
		return err
	}
	for got := 0; got < records; {
		key, body, err := t.read(c.in)
		if err != nil {
			return err
		}
		if key != rabbitDeliver || len(body) < chunkRecords+4 {
			continue
		}
		got += int(binary.BigEndian.Uint32(body[chunkRecords:]))
		if _, err := c.Write(t.frame(rabbitCredit, []byte{1, 0, 1})); err != nil {
			return err
		}
	}
	return nil
}

func (t *rabbitTongue) drop(c *wireConn, stream string) error {
	return t.ask(c, rabbitDelete, rabbitText(nil, stream), rabbitMissing)
}
