package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/pelton-broker/pelton/zk/jute"
)

// Run executes one command: HOST:PORT[/chroot], then the command and its words. --json anywhere prints JSON.
func Run(ctx context.Context, args []string, out io.Writer) error {
	return RunInput(ctx, args, strings.NewReader(""), out)
}

// lineBytes bounds a command that is read: what a server takes as data, a megabyte by default, has room in it in any form.
const lineBytes = 4 << 20

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
	if len(rest) > 1 {
		defer c.close()
		return errors.Join(exec(ctx, c, o, rest[1:]), o.err)
	}
	p := &prompted{ctx: ctx, c: c, o: o, where: rest[0]}
	defer p.close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineBytes)
	for o.err == nil {
		more := false
		p.meanwhile(func() { more = lines.Scan() })
		if !more || !p.line(lines.Text()) {
			break
		}
	}
	return errors.Join(lines.Err(), o.err)
}

func exec(ctx context.Context, c *conn, o *printer, words []string) error {
	all := verbs()
	if words[0] == "help" {
		o.lines(usages(all))
		return nil
	}
	v, ok := all[words[0]]
	if !ok {
		return said{"Command not found: Command not found " + words[0], ErrUnknown}
	}
	k := &call{ctx: ctx, c: c, o: o, flags: map[string]string{}}
	if !k.parse(&v, words[1:]) {
		return fmt.Errorf("%w: %s", ErrUsage, v.usage)
	}
	err := v.run(k)
	var code jute.Code
	if errors.As(err, &code) {
		subject := ""
		if len(k.args) > 0 {
			subject = k.args[0]
		}
		return said{explain(code, subject), err}
	}
	return err
}

// usages lists every command as it is written.
func usages(all map[string]verb) []string {
	names := []string{"close", "connect host:port", "history", "printwatches on|off", "quit", "redo cmdno"}
	for _, v := range all {
		first, _, _ := strings.Cut(v.usage, "\n")
		names = append(names, first)
	}
	sort.Strings(names)
	return names
}

// said is an error with zkCli's sentence for it.
type said struct {
	text string
	err  error
}

// Error implements error.
func (s said) Error() string { return s.text + ": " + s.err.Error() }

// Unwrap implements errors.
func (s said) Unwrap() error { return s.err }

// parse tells flags from arguments; false when the verb cannot be run with them.
func (k *call) parse(v *verb, words []string) bool {
	for i := 0; i < len(words); i++ {
		name, dash := strings.CutPrefix(words[i], "-")
		valued := len(name) == 1 && strings.Contains(v.valued, name) || len(name) > 1 && slices.Contains(v.long, name)
		switch {
		case !dash || !valued && len(name) != 1:
			k.args = append(k.args, words[i])
		case !valued:
			k.flags[name] = ""
		case i+1 == len(words):
			return false
		default:
			i++
			k.flags[name] = words[i]
		}
	}
	return len(k.args) >= v.least
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
		return "KeeperErrorCode = No such watcher for " + path
	case jute.ReconfigDisabled:
		return "KeeperErrorCode = Reconfig is disabled"
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
