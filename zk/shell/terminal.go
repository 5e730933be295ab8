package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// Terminal is where a person sits.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	// Raw has it give single keys, and undo as before.
	Raw func() (undo func(), err error)
}

// RunTerminal is RunInput for a person: lines are edited, remembered and completed. Commands run with the terminal as it was, so that ^C ends them.
func RunTerminal(ctx context.Context, args []string, at Terminal, out io.Writer) error {
	if len(args) != 1 {
		return RunInput(ctx, args, at.In, out)
	}
	c, err := dial(ctx, args[0])
	if err != nil {
		return err
	}
	p := &prompted{ctx: ctx, c: c, o: &printer{w: out}, where: args[0]}
	defer p.close()
	e := NewEditor(at.In, at.Out)
	e.Complete = func(before string) []string {
		p.wake()
		defer p.rest()
		return p.complete(before)
	}
	for n := 0; p.o.err == nil; n++ {
		var text string
		var err error
		p.meanwhile(func() { text, err = at.read(e, p.prompt(args[0], n)) })
		if errors.Is(err, io.EOF) {
			return p.o.err
		}
		if err != nil {
			return err
		}
		if !p.line(text) {
			return p.o.err
		}
	}
	return p.o.err
}

func (t Terminal) read(e *Editor, prompt string) (string, error) {
	undo, err := t.Raw()
	if err != nil {
		return "", err
	}
	defer undo()
	return e.Line(prompt)
}

// prompt is zkCli's.
func (p *prompted) prompt(addr string, n int) string {
	state := "CONNECTED"
	if p.c == nil {
		state = "CLOSED"
	} else {
		addr = p.c.server + p.c.chroot
	}
	return fmt.Sprintf("[zk: %s(%s) %d] ", addr, state, n)
}

// complete lists what the last word of a line may become: a command, or a path.
func (p *prompted) complete(before string) []string {
	word := before[strings.LastIndexByte(before, ' ')+1:]
	var all []string
	if word == before {
		all = []string{"close", "connect", "help", "history", "printwatches", "quit", "redo"}
		for name := range verbs() {
			all = append(all, name)
		}
	} else if strings.HasPrefix(word, "/") && p.c != nil {
		dir := word[:strings.LastIndexByte(word, '/')]
		parent := dir
		if parent == "" {
			parent = "/"
		}
		r, err := p.c.call(jute.OpGetChildren, jute.AppendBool(jute.AppendText(nil, p.c.full(parent)), false))
		if err != nil {
			return nil
		}
		for _, name := range r.Strings() {
			all = append(all, dir+"/"+name)
		}
	}
	var out []string
	for _, c := range all {
		if strings.HasPrefix(c, word) {
			out = append(out, c)
		}
	}
	sort.Strings(out)
	return out
}
