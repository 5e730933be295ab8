package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// Run executes one command: HOST:PORT[/chroot], then the command and its words. --json anywhere prints JSON.
func Run(ctx context.Context, args []string, out io.Writer) error {
	return RunInput(ctx, args, strings.NewReader(""), out)
}

// RunInput is Run, but without a command it reads one per line from in, until its end or "quit", all in one session.
func RunInput(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	o := &printer{w: out}
	var rest []string
	for _, a := range args {
		if a == "--json" {
			o.json = true
		} else {
			rest = append(rest, a)
		}
	}
	if len(rest) == 0 {
		return fmt.Errorf("%w: HOST:PORT[/chroot] [command ...]", ErrUsage)
	}
	c, err := dial(ctx, rest[0])
	if err != nil {
		return err
	}
	defer c.close()
	if len(rest) > 1 {
		return errors.Join(exec(ctx, c, o, rest[1:]), o.err)
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() && o.err == nil {
		words, err := split(lines.Text())
		if err == nil && len(words) == 0 {
			continue
		}
		if err == nil && (words[0] == "quit" || words[0] == "close") {
			return nil
		}
		if err == nil {
			err = exec(ctx, c, o, words)
		}
		if err != nil {
			o.line("%v", err)
		}
		for _, ev := range c.events {
			o.event(ev)
		}
		c.events = nil
	}
	return errors.Join(lines.Err(), o.err)
}

func exec(ctx context.Context, c *conn, o *printer, words []string) error {
	all := verbs()
	if words[0] == "help" {
		names := make([]string, 0, len(all))
		for _, v := range all {
			names = append(names, v.usage)
		}
		sort.Strings(names)
		o.lines(names)
		return nil
	}
	v, ok := all[words[0]]
	if !ok {
		return fmt.Errorf("%w: unknown command %q, try help", ErrUsage, words[0])
	}
	k := &call{ctx: ctx, c: c, o: o, flags: map[string]string{}}
	for i := 1; i < len(words); i++ {
		w := words[i]
		if len(w) != 2 || w[0] != '-' {
			k.args = append(k.args, w)
			continue
		}
		name, value := w[1:], ""
		if strings.Contains(v.valued, name) {
			if i++; i == len(words) {
				return fmt.Errorf("%w: %s", ErrUsage, v.usage)
			}
			value = words[i]
		}
		k.flags[name] = value
	}
	if len(k.args) < v.least {
		return fmt.Errorf("%w: %s", ErrUsage, v.usage)
	}
	err := v.run(k)
	var code jute.Code
	if errors.As(err, &code) {
		subject := ""
		if len(k.args) > 0 {
			subject = k.args[0]
		}
		return fmt.Errorf("%s: %w", explain(code, subject), err)
	}
	return err
}

// explain is zkCli's sentence for an error.
func explain(code jute.Code, path string) string {
	switch code {
	case jute.NoNode:
		return "Node does not exist: " + path
	case jute.NodeExists:
		return "Node already exists: " + path
	case jute.NotEmpty:
		return "Node not empty: " + path
	case jute.NoAuth:
		return "Insufficient permission : " + path
	case jute.BadVersion:
		return "version No is not valid : " + path
	case jute.InvalidACL:
		return "Acl is not valid : " + path
	case jute.BadArguments:
		return "Command arguments are not valid : " + path
	case jute.NoChildrenForEphemerals:
		return "Ephemerals cannot have children: " + path
	case jute.AuthFailed:
		return "Authentication failed"
	case jute.NoWatcher:
		return "No such watcher on " + path
	case jute.SessionExpired:
		return "The session has expired"
	}
	return "refused: " + path
}

// split cuts a line into words; quotes keep spaces together.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, in := byte(0), false
	for i := range len(line) {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '"' || c == '\'':
			quote, in = c, true
		case c == ' ' || c == '\t':
			if in {
				words = append(words, word.String())
				word.Reset()
			}
			in = false
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%w: a quote is not closed", ErrUsage)
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}
