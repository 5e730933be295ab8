//go:build linux

package main

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// op is one operation on one znode.
type op struct{ kind, key, val string }

// answer is what came of it: ok, exists, none, or unknown.
type answer struct{ kind, val string }

// history collects what all clients did.
type history struct {
	begun time.Time
	mu    struct {
		sync.Mutex
		ops     []porcupine.Operation
		unknown int
	}
}

func (h *history) now() int64 { return int64(time.Since(h.begun)) }

func (h *history) add(client int, o op, a answer, call int64) {
	ret := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.kind == "unknown" {
		h.mu.unknown++
		if o.kind == "read" {
			return
		}
		ret = math.MaxInt64
	}
	h.mu.ops = append(h.mu.ops, porcupine.Operation{ClientId: client, Input: o, Output: a, Call: call, Return: ret})
}

func (h *history) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.mu.ops)
}

type znode struct {
	there bool
	val   string
}

func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return znode{} },
		Step: func(st, in, out any) (bool, any) {
			s, o, a := st.(znode), in.(op), out.(answer)
			want, next := "none", s
			if s.there {
				want = "ok"
			}
			switch o.kind {
			case "read":
				return a.kind == want && (!s.there || a.val == s.val), s
			case "create":
				if s.there {
					want = "exists"
				} else {
					want, next = "ok", znode{true, o.val}
				}
			case "set":
				if s.there {
					next.val = o.val
				}
			case "delete":
				next = znode{}
			}
			return a.kind == "unknown" || a.kind == want, next
		},
		Equal:             func(a, b any) bool { return a == b },
		DescribeOperation: func(in, out any) string { return fmt.Sprintf("%v -> %v", in, out) },
	}
}

// check says whether each znode's history could have happened one operation at a time.
func (h *history) check() error {
	by := map[string][]porcupine.Operation{}
	for _, o := range h.mu.ops {
		k := o.Input.(op).key
		by[k] = append(by[k], o)
	}
	undecided := 0
	for key, list := range by {
		switch porcupine.CheckOperationsTimeout(model(), list, 30*time.Second) {
		case porcupine.Illegal:
			for _, o := range list {
				fmt.Printf("%d %d..%d %v -> %v\n", o.ClientId, o.Call, o.Return, o.Input, o.Output)
			}
			return fmt.Errorf("the history of %s, %d operations, is not linearizable", key, len(list))
		case porcupine.Unknown:
			undecided++
		}
	}
	fmt.Printf("%d operations on %d znodes, %d of unknown outcome: linearizable", len(h.mu.ops), len(by), h.mu.unknown)
	if undecided > 0 {
		fmt.Printf(" but for %d znodes that were not decided in time", undecided)
	}
	fmt.Println()
	return nil
}
