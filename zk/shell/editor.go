package shell

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Editor reads lines from a terminal that gives single keys: arrows, the keys of Emacs that everybody's fingers know, history and completion.
type Editor struct {
	in  *bufio.Reader
	out io.Writer
	// Complete lists what the word that ends at the cursor may become; before is the line up to there.
	Complete func(before string) []string

	prompt  string
	line    []rune
	at      int // of the cursor
	history []string
	place   int    // in history; its length for the line that is being written
	kept    string // that line, while history is looked at
	killed  []rune // what ^K, ^U and ^W took, for ^Y
}

// NewEditor reads keys from in and shows the line on out.
func NewEditor(in io.Reader, out io.Writer) *Editor {
	return &Editor{in: bufio.NewReader(in), out: out}
}

// errInterrupted is what ^C does to a line.
var errInterrupted = errors.New("interrupted")

// Line reads one line. io.EOF is ^D on an empty line, or the end of the terminal.
func (e *Editor) Line(prompt string) (string, error) {
	e.prompt, e.line, e.at, e.place = prompt, e.line[:0], 0, len(e.history)
	e.show()
	for {
		done, err := e.key()
		switch {
		case errors.Is(err, errInterrupted):
			e.write("^C\r\n")
			e.line, e.at, e.place = e.line[:0], 0, len(e.history)
		case err != nil:
			e.write("\r\n")
			return "", err
		case done:
			e.at = len(e.line)
			e.show()
			e.write("\r\n")
			text := string(e.line)
			if strings.TrimSpace(text) != "" && (len(e.history) == 0 || e.history[len(e.history)-1] != text) {
				e.history = append(e.history, text)
			}
			return text, nil
		}
		e.show()
	}
}

func (e *Editor) write(s string) { _, _ = io.WriteString(e.out, s) }

// show draws the line anew.
func (e *Editor) show() {
	back := ""
	if n := len(e.line) - e.at; n > 0 {
		back = strings.Repeat("\b", n)
	}
	e.write("\r" + e.prompt + string(e.line) + "\x1b[K" + back)
}

const ctrl = 0x1f

// key takes one key; true when it ends the line.
func (e *Editor) key() (done bool, err error) {
	r, _, err := e.in.ReadRune()
	if err != nil {
		return false, err
	}
	switch r {
	case '\r', '\n':
		return true, nil
	case 'C' & ctrl:
		return false, errInterrupted
	case 'D' & ctrl:
		if len(e.line) == 0 {
			return false, io.EOF
		}
		e.cut(e.at, e.at+1)
	case 0x7f, 'H' & ctrl:
		e.cut(e.at-1, e.at)
	case '\t':
		e.complete()
	case 0x1b:
		return false, e.escape()
	default:
		e.edit(r)
	}
	return false, nil
}

// edit is a letter, or one of the keys that move and cut.
func (e *Editor) edit(r rune) {
	switch r {
	case 'A' & ctrl:
		e.at = 0
	case 'E' & ctrl:
		e.at = len(e.line)
	case 'B' & ctrl:
		e.at = max(e.at-1, 0)
	case 'F' & ctrl:
		e.at = min(e.at+1, len(e.line))
	case 'K' & ctrl:
		e.kill(e.at, len(e.line))
	case 'U' & ctrl:
		e.kill(0, e.at)
	case 'W' & ctrl:
		e.kill(e.wordStart(), e.at)
	case 'Y' & ctrl:
		e.insert(e.killed)
	case 'P' & ctrl:
		e.recall(e.place - 1)
	case 'N' & ctrl:
		e.recall(e.place + 1)
	case 'L' & ctrl:
		e.write("\x1b[H\x1b[2J")
	default:
		if unicode.IsPrint(r) && r != utf8.RuneError {
			e.insert([]rune{r})
		}
	}
}

// escape takes the rest of a key that sends several bytes.
func (e *Editor) escape() error {
	r, _, err := e.in.ReadRune()
	if err != nil || r != '[' && r != 'O' {
		return err
	}
	number := ""
	for {
		if r, _, err = e.in.ReadRune(); err != nil {
			return err
		}
		if r >= '0' && r <= '9' || r == ';' {
			number += string(r)
			continue
		}
		break
	}
	switch {
	case r == 'A':
		e.recall(e.place - 1)
	case r == 'B':
		e.recall(e.place + 1)
	case r == 'C':
		e.at = min(e.at+1, len(e.line))
	case r == 'D':
		e.at = max(e.at-1, 0)
	case r == 'H' || r == '~' && (number == "1" || number == "7"):
		e.at = 0
	case r == 'F' || r == '~' && (number == "4" || number == "8"):
		e.at = len(e.line)
	case r == '~' && number == "3":
		e.cut(e.at, e.at+1)
	}
	return nil
}

func (e *Editor) insert(text []rune) {
	e.line = append(e.line[:e.at:e.at], append(append([]rune(nil), text...), e.line[e.at:]...)...)
	e.at += len(text)
}

// cut takes a part of the line away, as far as it is there.
func (e *Editor) cut(from, to int) {
	from, to = max(from, 0), min(to, len(e.line))
	if from >= to {
		return
	}
	e.line = append(e.line[:from:from], e.line[to:]...)
	if e.at > from {
		e.at = max(e.at-(to-from), from)
	}
}

func (e *Editor) kill(from, to int) {
	if from < to {
		e.killed = append([]rune(nil), e.line[from:to]...)
		e.cut(from, to)
	}
}

func (e *Editor) wordStart() int {
	i := e.at
	for i > 0 && e.line[i-1] == ' ' {
		i--
	}
	for i > 0 && e.line[i-1] != ' ' {
		i--
	}
	return i
}

// recall shows a line of the history.
func (e *Editor) recall(place int) {
	if place < 0 || place > len(e.history) {
		return
	}
	if e.place == len(e.history) {
		e.kept = string(e.line)
	}
	e.place = place
	text := e.kept
	if place < len(e.history) {
		text = e.history[place]
	}
	e.line = []rune(text)
	e.at = len(e.line)
}

// complete goes on with the word at the cursor as far as all that it may become agree, and lists them when that is no further.
func (e *Editor) complete() {
	if e.Complete == nil {
		return
	}
	before := string(e.line[:e.at])
	word := before[strings.LastIndexByte(before, ' ')+1:]
	list := e.Complete(before)
	if len(list) == 0 {
		return
	}
	common := list[0]
	for _, c := range list[1:] {
		for !strings.HasPrefix(c, common) {
			_, n := utf8.DecodeLastRuneInString(common)
			common = common[:len(common)-n]
		}
	}
	if more, ok := strings.CutPrefix(common, word); ok && more != "" {
		e.insert([]rune(more))
	} else if len(list) > 1 {
		e.write("\r\n" + strings.Join(list, "   ") + "\r\n")
		return
	}
	if len(list) == 1 && !strings.HasPrefix(list[0], "/") {
		e.insert([]rune{' '})
	}
}
