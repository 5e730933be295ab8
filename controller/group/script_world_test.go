package group

import (
	"fmt"
	"strings"
	"testing"
)

// scriptWorld is a machine with its clock and its log.
type scriptWorld struct {
	t       *testing.T
	m       *Machine
	opt     Options
	now     Now
	ids     int
	refs    int
	log     []logged
	waiting []Append
	manual  bool // appends wait for the command appended
	out     strings.Builder
}

type logged struct {
	base int64
	Record
}

// scriptCommands is one handler for each command.
var scriptCommands = map[string]func(w *scriptWorld, a *scriptArgs){
	"options": scriptOptions, "ready": scriptReady, "restart": scriptRestart, "unload": scriptUnload,
	"advance": scriptAdvance, "hold-appends": scriptHoldAppends, "appended": scriptAppended, "log": scriptLog,
	"join": scriptJoin, "sync": scriptSync, "heartbeat": scriptHeartbeat, "leave": scriptLeave,
	"commit": scriptCommit, "fetch": scriptFetch, "describe": scriptDescribe, "list": scriptList,
	"delete-group": scriptDeleteGroup, "delete-offsets": scriptDeleteOffsets, "topics-deleted": scriptTopicsDeleted,
}

func newScriptWorld(t *testing.T) *scriptWorld {
	w := &scriptWorld{t: t, now: Now{WallMs: 1_000_000, MonoMs: 1}, opt: DefaultOptions()}
	w.opt.NewMemberIDSuffix = func() string { w.ids++; return fmt.Sprintf("u%d", w.ids) }
	w.m = New(w.opt)
	return w
}

func (w *scriptWorld) run(line string) {
	name, a := parseArgs(w.t, line)
	h := scriptCommands[name]
	if h == nil {
		w.t.Fatalf("unknown command %q", line)
	}
	h(w, a)
}

func (w *scriptWorld) printf(format string, args ...any) { fmt.Fprintf(&w.out, format, args...) }

// ref names the request: as=NAME, or r1, r2, …
func (w *scriptWorld) ref(a *scriptArgs) Ref {
	w.refs++
	return a.str("as", fmt.Sprintf("r%d", w.refs))
}

func (w *scriptWorld) step(in Input) {
	fx := w.m.Step(w.now, in)
	appends := append([]Append(nil), fx.Appends...)
	for _, a := range appends {
		w.printf("append #%d %s\n", a.Token, recordsText(a.Records))
	}
	for _, r := range fx.Replies {
		w.printf("%s <- %s\n", r.To, answerText(r.Answer))
	}
	w.waiting = append(w.waiting, appends...)
	for !w.manual && len(w.waiting) > 0 {
		w.endAppend(nil)
	}
}

func (w *scriptWorld) endAppend(err error) {
	a := w.waiting[0]
	w.waiting = w.waiting[1:]
	base := int64(len(w.log))
	if err == nil {
		for _, r := range a.Records {
			w.log = append(w.log, logged{base, r})
		}
	}
	w.step(&Appended{Token: a.Token, Base: base, Err: err})
}

func scriptOptions(w *scriptWorld, a *scriptArgs) {
	o := &w.opt
	o.InitialDelayMs = int32(a.num("initial-delay", int64(o.InitialDelayMs)))
	o.MaxSize = int(a.num("max-size", int64(o.MaxSize)))
	o.MetadataMax = int(a.num("metadata-max", int64(o.MetadataMax)))
	o.RetentionMs = a.num("retention", o.RetentionMs)
	o.RetentionCheckMs = a.num("check", o.RetentionCheckMs)
	w.m = New(w.opt)
}

func scriptReady(w *scriptWorld, _ *scriptArgs) { w.step(&Loaded{From: NewReplay()}) }

// restart forgets the machine and builds another from the log.
func scriptRestart(w *scriptWorld, a *scriptArgs) {
	w.manual = false
	w.waiting = nil
	w.m = New(w.opt)
	r := NewReplay()
	for _, l := range w.log {
		if err := r.Add(l.base, NoProducer, l.Key, l.Value); err != nil {
			w.t.Fatal(err)
		}
	}
	if !a.has("loading") {
		w.step(&Loaded{From: r})
	}
}

func scriptUnload(w *scriptWorld, _ *scriptArgs) { w.step(&Unload{}) }

// advance moves the time by its milliseconds, stopping at every deadline on the way.
func scriptAdvance(w *scriptWorld, a *scriptArgs) {
	var ms int64
	if _, err := fmt.Sscan(a.at(0), &ms); err != nil {
		w.t.Fatal(err)
	}
	start := w.now.MonoMs
	for end := start + ms; w.now.MonoMs < end; {
		next := end
		if d := w.m.timers.next(); d != NoDeadline && d < next {
			next = max(d, w.now.MonoMs)
		}
		w.now.WallMs += next - w.now.MonoMs
		w.now.MonoMs = next
		before := w.out.Len()
		w.step(&Tick{})
		if s := w.out.String(); len(s) > before {
			rest := s[before:]
			w.out.Reset()
			w.out.WriteString(s[:before] + fmt.Sprintf("after %d:\n", w.now.MonoMs-start) + rest)
		}
	}
}

func scriptHoldAppends(w *scriptWorld, _ *scriptArgs) { w.manual = true }

func scriptAppended(w *scriptWorld, a *scriptArgs) {
	errs := map[string]error{
		"not-available": ErrNotAvailable, "not-coordinator": ErrNotCoordinator, "timed-out": ErrTimedOut, "too-large": ErrTooLarge,
	}
	err := errs[a.str("err", "")]
	if a.named["err"] != "" && err == nil {
		w.t.Fatalf("unknown error in %q", a.line)
	}
	w.endAppend(err)
}

func scriptLog(w *scriptWorld, _ *scriptArgs) {
	for _, l := range w.log {
		w.printf("%d %s\n", l.base, recordsText([]Record{l.Record}))
	}
}

func recordsText(records []Record) string {
	var parts []string
	for _, r := range records {
		k, err := DecodeKey(r.Key)
		switch {
		case err != nil:
			parts = append(parts, err.Error())
		case k.IsOffset && r.Value == nil:
			parts = append(parts, fmt.Sprintf("offset %s %s-%d gone", k.Group, k.Topic, k.Partition))
		case k.IsOffset:
			v, err := DecodeOffsetValue(r.Value)
			if err != nil {
				parts = append(parts, err.Error())
				continue
			}
			s := fmt.Sprintf("offset %s %s-%d=%d v%d at=%d", k.Group, k.Topic, k.Partition, v.Offset, r.Value[1], v.CommitMs)
			if v.LeaderEpoch >= 0 {
				s += fmt.Sprintf(" epoch=%d", v.LeaderEpoch)
			}
			if v.ExpireMs >= 0 {
				s += fmt.Sprintf(" expires=%d", v.ExpireMs)
			}
			parts = append(parts, s)
		case r.Value == nil:
			parts = append(parts, fmt.Sprintf("group %s gone", k.Group))
		default:
			v, err := DecodeGroupValue(r.Value)
			if err != nil {
				parts = append(parts, err.Error())
				continue
			}
			s := fmt.Sprintf("group %s gen=%d protocol=%s leader=%s", k.Group, v.Generation, optText(v.Protocol), optText(v.Leader))
			for _, m := range v.Members {
				s += fmt.Sprintf(" %s=%s", m.MemberID, textOr(string(m.Assignment), "none"))
			}
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "; ")
}

func optText(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func textOr(s, empty string) string {
	if s == "" {
		return empty
	}
	return s
}
