package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/pelton-broker/pelton/internal/task"
)

// prompted is a shell that reads commands: a session, and what was typed so far.
type prompted struct {
	ctx     context.Context
	c       *conn // nil after close, until connect
	o       *printer
	where   string // connect goes there when it is told nothing
	history []string
	quiet   bool // printwatches off
	resting *task.Group
	idle    error // what ended the connection while nothing was asked
}

// historyKept is how many lines history shows.
const historyKept = 11

var errNotConnected = errors.New("Not connected")

// line carries one line out; false ends the shell.
func (p *prompted) line(text string) bool {
	words, err := split(text)
	if err == nil && len(words) == 0 {
		return true
	}
	if err == nil && words[0] == "redo" {
		if text, err = p.again(words); err == nil {
			words, err = split(text)
		}
	}
	p.history = append(p.history, text)
	if err == nil {
		if words[0] == "quit" {
			return false
		}
		err = p.run(words)
	}
	if errors.Is(err, ErrUnknown) && !p.o.json {
		p.o.line("pelton zk shell host:port cmd args\n\t%s", strings.Join(usages(verbs()), "\n\t"))
	}
	if err != nil {
		p.o.failed(sentence(err))
	}
	p.events()
	return true
}

// sentence is what zkCli prints of an error: without the number behind it.
func sentence(err error) string {
	var s said
	if errors.As(err, &s) {
		return s.text
	}
	text := err.Error()
	if errors.Is(err, ErrUsage) {
		text = strings.TrimLeft(strings.TrimPrefix(text, ErrUsage.Error()), ":\n ")
	}
	return text
}

func (p *prompted) again(words []string) (string, error) {
	if len(words) < 2 {
		return "", errors.Join(ErrUsage, errors.New("redo cmdno"))
	}
	n, err := strconv.Atoi(words[1])
	if err != nil || n < 0 || n >= len(p.history) {
		return "", errors.New("Command index out of range")
	}
	return p.history[n], nil
}

// run is exec, and the commands that are about the shell itself.
func (p *prompted) run(words []string) error {
	switch words[0] {
	case "history":
		for i := max(0, len(p.history)-historyKept); i < len(p.history); i++ {
			p.o.note(strconv.Itoa(i) + " - " + p.history[i])
		}
		return nil
	case "printwatches":
		if len(words) > 1 {
			p.quiet = words[1] != "on"
		} else {
			p.o.note("printwatches is " + map[bool]string{true: "off", false: "on"}[p.quiet])
		}
		return nil
	case "close":
		p.close()
		return nil
	case "connect":
		return p.connect(words[1:])
	}
	if p.c == nil {
		return errNotConnected
	}
	err := exec(p.ctx, p.c, p.o, words)
	if broken := (*net.OpError)(nil); errors.As(err, &broken) || errors.Is(err, io.EOF) {
		_ = p.c.c.Close()
		p.c = nil // until connect
		return fmt.Errorf("KeeperErrorCode = ConnectionLoss: %w", err)
	}
	return err
}

// connect ends the session and opens another, on the same server when none is named.
func (p *prompted) connect(words []string) error {
	if len(words) > 0 {
		p.where = words[0]
	}
	p.close()
	c, err := dial(p.ctx, p.where)
	if err == nil {
		p.c = c
	}
	return err
}

func (p *prompted) events() {
	if p.c == nil {
		return
	}
	for _, ev := range p.c.events {
		if !p.quiet {
			p.o.event(ev)
		}
	}
	p.c.events = nil
}

func (p *prompted) close() {
	if p.c != nil {
		p.c.close()
		p.c = nil
	}
}
