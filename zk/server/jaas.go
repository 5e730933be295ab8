package server

import (
	"errors"
	"fmt"
	"strings"
)

// ErrJAAS is returned by ParseJAAS when the text is no login configuration.
var ErrJAAS = errors.New("zk/server: not a JAAS login configuration")

// ParseJAAS reads the users of a section of a JAAS login configuration: the options user_NAME="password" of its modules.
// found is false when there is no such section.
func ParseJAAS(text, section string) (users map[string]string, found bool, err error) {
	words, err := jaasWords(text)
	if err != nil {
		return nil, false, err
	}
	for len(words) > 0 {
		if len(words) < 2 || words[1].text != "{" || words[1].quoted {
			return nil, false, fmt.Errorf("%w: a section's name and { are missing at %q", ErrJAAS, words[0].text)
		}
		end := jaasEnd(words)
		if end < 0 {
			return nil, false, fmt.Errorf("%w: section %s does not end with };", ErrJAAS, words[0].text)
		}
		if words[0].text == section {
			return jaasUsers(words[2:end]), true, nil
		}
		if words = words[end+1:]; len(words) > 0 && words[0].text == ";" {
			words = words[1:]
		}
	}
	return nil, false, nil
}

func jaasEnd(words []jaasWord) int {
	for i, w := range words {
		if w.text == "}" && !w.quoted {
			return i
		}
	}
	return -1
}

func jaasUsers(words []jaasWord) map[string]string {
	users := map[string]string{}
	for i := 0; i+2 < len(words); i++ {
		if name, ok := strings.CutPrefix(words[i].text, "user_"); ok && words[i+1].text == "=" && !words[i+1].quoted {
			users[name] = words[i+2].text
			i += 2
		}
	}
	return users
}

type jaasWord struct {
	text   string
	quoted bool
}

// jaasWords cuts the text into names, quoted strings and the signs { } = ; without comments.
func jaasWords(s string) ([]jaasWord, error) {
	var out []jaasWord
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case strings.HasPrefix(s[i:], "//") || c == '#':
			i = jaasSkip(s, i, "\n")
		case strings.HasPrefix(s[i:], "/*"):
			i = jaasSkip(s, i, "*/")
		case c == '"' || c == '\'':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 {
				return nil, fmt.Errorf("%w: a quote is not closed", ErrJAAS)
			}
			out = append(out, jaasWord{text: s[i+1 : i+1+end], quoted: true})
			i += end + 2
		case strings.IndexByte("{}=;", c) >= 0:
			out = append(out, jaasWord{text: s[i : i+1]})
			i++
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
		default:
			end := strings.IndexAny(s[i:], " \t\r\n{}=;\"'")
			if end < 0 {
				end = len(s) - i
			}
			out = append(out, jaasWord{text: s[i : i+end]})
			i += end
		}
	}
	return out, nil
}

func jaasSkip(s string, from int, until string) int {
	if n := strings.Index(s[from:], until); n >= 0 {
		return from + n + len(until)
	}
	return len(s)
}
