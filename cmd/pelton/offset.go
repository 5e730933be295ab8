package main

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// startAt is where consume begins in each partition.
type startAt struct {
	kind   byte // b beginning, e end, a absolute, r that many before the end, t first at or after a time
	number int64
}

// parseStart reads -o: beginning, end, N, -N, @time.
func parseStart(text string) (startAt, error) {
	words := map[string]byte{"beginning": 'b', "earliest": 'b', "start": 'b', "end": 'e', "latest": 'e'}
	low := strings.ToLower(text)
	if kind, ok := words[low]; ok {
		return startAt{kind: kind}, nil
	}
	if at, ok := strings.CutPrefix(text, "@"); ok {
		ms, err := parseTime(at)
		if err != nil {
			return startAt{}, usageError("-o %s: %v", text, err)
		}
		return startAt{kind: 't', number: ms}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 0 {
			return startAt{kind: 'r', number: -n}, nil
		}
		return startAt{kind: 'a', number: n}, nil
	}
	for word := range words {
		if looksLike(low, word) {
			return startAt{}, usageError("-o %s: did you mean %s?", text, word)
		}
	}
	return startAt{}, usageError("-o %s: must be beginning, end, an offset N, -N for the last N, or @time", text)
}

// looksLike reports words of the same letters but for one, or with one left out or added.
func looksLike(a, b string) bool {
	if len(a) < 3 {
		return false
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	tail := 0
	for tail < len(a)-same && tail < len(b)-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return max(len(a), len(b))-same-tail <= 2
}

// offset is the start as the client library wants it.
func (s startAt) offset() kgo.Offset {
	o := kgo.NewOffset()
	switch s.kind {
	case 'e':
		return o.AtEnd()
	case 'a':
		return o.At(s.number)
	case 'r':
		return o.AtEnd().Relative(-s.number)
	case 't':
		return o.AfterMilli(s.number)
	}
	return o.AtStart()
}
