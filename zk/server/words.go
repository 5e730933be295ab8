package server

import (
	"strings"

	"github.com/pelton-broker/pelton/netpoll"
)

// words is the whitelist of four-letter words.
type words struct {
	all  bool
	some map[string]bool
}

func newWords(list string) words {
	w := words{some: map[string]bool{}}
	for _, s := range strings.Split(list, ",") {
		if s = strings.TrimSpace(s); s == "*" {
			w.all = true
		} else if s != "" {
			w.some[s] = true
		}
	}
	return w
}

// OnRaw implements netpoll.Handler: the first four bytes of a connection are a command or the length of a frame.
// As a length every command would be beyond any limit.
func (l *loop) OnRaw(c *netpoll.Conn, first []byte) bool {
	word := string(first)
	if !isWord(word) {
		return false
	}
	p := c.User.(*peer)
	p.state = ending
	text := word + " is not executed because it is not in the whitelist.\n"
	if l.words.all || l.words.some[word] {
		text = l.word(word)
	}
	copy(c.Out().Append(len(text)), text)
	c.CloseAfterFlush(errWord)
	return true
}

func isWord(s string) bool {
	return strings.Contains("|conf|cons|crst|dirs|dump|envi|gtmk|hash|isro|mntr|ruok|srst|srvr|stat|stmk|wchc|wchp|wchs|", "|"+s+"|")
}

func (l *loop) word(word string) string {
	switch word {
	case "ruok":
		return "imok"
	case "isro":
		return "rw"
	}
	return ""
}
