package quota

import (
	"math"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/controller/meta"
)

// TestAgreesWithKafka replays what Kafka's own classes measured.
func TestAgreesWithKafka(t *testing.T) {
	data, err := os.ReadFile("testdata/kafka.txt")
	if err != nil {
		t.Fatal(err)
	}
	var w Windows
	var bound float64
	var rate *Rate
	var bucket *Bucket
	checked := map[string]int{}
	for n, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f := strings.Fields(line)
		switch f[0] {
		case "#":
		case "name":
			checked["name"]++
			name := strings.ReplaceAll(f[1], `\x20`, " ")
			if got := Encode(name); got != f[2] || Decode(got) != name {
				t.Errorf("line %d: %q is %q, and back %q", n+1, name, got, Decode(got))
			}
		case "rate", "bucket":
			w, bound = Windows{Num: int(number(t, f[1])), Ms: int64(number(t, f[2]))}, number(t, f[3])
			if rate, bucket = nil, new(Bucket); f[0] == "rate" {
				rate, bucket = new(Rate), nil
			}
		default:
			at, value, want, wait := int64(number(t, f[0])), number(t, f[1]), number(t, f[2]), int64(number(t, f[3]))
			var got float64
			var gotWait int64
			if rate != nil {
				checked["rate"]++
				rate.Record(w, value, at)
				got, gotWait = rate.PerSecond(w, at), rate.Wait(w, bound, at)
			} else {
				checked["bucket"]++
				bucket.Take(w, bound, value, at)
				gotWait, got = bucket.Wait(w, bound, at), bucket.tokens
			}
			if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) || gotWait != wait {
				t.Fatalf("line %d: measured %v, wait %d; Kafka says %v, %d", n+1, got, gotWait, want, wait)
			}
		}
	}
	if checked["rate"] < 400 || checked["bucket"] < 300 || checked["name"] < 9 {
		t.Fatalf("too little was checked: %v", checked)
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheMostSpecificQuotaCounts(t *testing.T) {
	quotas := map[meta.QuotaEntity]map[string]string{}
	steps := []struct {
		e            meta.QuotaEntity
		user, client string // of the meter once this is set
	}{
		{meta.QuotaEntity{Client: meta.DefaultEntity}, "", "app"},
		{meta.QuotaEntity{Client: "app"}, "", "app"},
		{meta.QuotaEntity{User: meta.DefaultEntity}, "al ice", ""},
		{meta.QuotaEntity{User: meta.DefaultEntity, Client: meta.DefaultEntity}, "al ice", "app"},
		{meta.QuotaEntity{User: meta.DefaultEntity, Client: "app"}, "al ice", "app"},
		{meta.QuotaEntity{User: "al%20ice"}, "al ice", ""},
		{meta.QuotaEntity{User: "al%20ice", Client: meta.DefaultEntity}, "al ice", "app"},
		{meta.QuotaEntity{User: "al%20ice", Client: "app"}, "al ice", "app"},
	}
	for i, step := range steps {
		quotas[step.e] = map[string]string{"producer_byte_rate": strconv.Itoa(i)}
		l, bad := NewLimits(quotas)
		if len(bad) > 0 {
			t.Fatal(bad)
		}
		tag, bound, ok := l.Find(Produce, "al ice", "app")
		if !ok || bound != float64(i) || tag != (Tag{Kind: Produce, User: step.user, Client: step.client}) {
			t.Errorf("with %+v: %+v %v %v", step.e, tag, bound, ok)
		}
		if _, _, ok := l.Find(Fetch, "al ice", "app"); ok {
			t.Error("a quota on produce is one on fetch")
		}
	}
	l, _ := NewLimits(map[meta.QuotaEntity]map[string]string{{Client: meta.DefaultEntity}: {"producer_byte_rate": "1"}})
	if _, _, ok := l.Find(Produce, "alice", ""); ok {
		t.Error("a client without a name is covered by the default of clients")
	}
	if _, _, ok := (*Limits)(nil).Find(Produce, "alice", "app"); ok {
		t.Error("no limits limit")
	}
}

func TestLimitsThatCannotBeRead(t *testing.T) {
	if l, bad := NewLimits(nil); l != nil || len(bad) != 0 {
		t.Fatalf("%v %v", l, bad)
	}
	l, bad := NewLimits(map[meta.QuotaEntity]map[string]string{
		{Client: "a"}: {"producer_byte_rate": "many"}, {Client: "b"}: {"request_percentage": "NaN"},
		{IP: "10.0.0.1"}: {"connection_creation_rate": "5", "producer_byte_rate": "1"}, {Client: "c"}: {"connection_creation_rate": "5"},
	})
	if len(bad) != 2 {
		t.Fatalf("%q", bad)
	}
	if _, _, ok := l.Find(Connect, "", "c"); ok {
		t.Error("a client has a quota of addresses")
	}
	tag, bound, ok := l.Address(netip.MustParseAddr("::ffff:10.0.0.1"))
	if !ok || bound != 5 || tag.IP != netip.MustParseAddr("10.0.0.1") {
		t.Errorf("%v %v %v", tag, bound, ok)
	}
	if _, _, ok := l.Address(netip.MustParseAddr("10.0.0.2")); ok {
		t.Error("an address without a quota has one")
	}
}

func TestStrictTakesNothingWhileTokensAreOwed(t *testing.T) {
	b := NewBook(Windows{11, 1000}, Windows{2, 1000})
	m := b.Hold(Tag{Kind: Mutation, User: "u"}, 0)
	for _, step := range []struct {
		atMs   int64
		tokens float64
		strict bool
		wait   int64
		taken  bool
	}{
		{0, 6, true, 0, true},        // 4 in store at 2 a second; 2 owed
		{0, 1, true, 1000, false},    // refused, and nothing taken
		{500, 1, true, 500, false},   // 1 owed
		{500, 1, false, 1000, true},  // the other kind goes further into debt: 2 owed
		{1500, 1, true, 0, true},     // nothing owed, one taken
		{1500, 0, false, 500, true},  // which is owed again
		{9500, 1, false, 0, true},    // full again
		{9500, 3, false, 0, true},    // and used up
		{9500, .5, false, 250, true}, // halves count
	} {
		if wait, taken := m.Take(2, step.tokens, step.strict, step.atMs); wait != step.wait || taken != step.taken {
			t.Fatalf("at %d: wait %d taken %v, want %d %v", step.atMs, wait, taken, step.wait, step.taken)
		}
	}
}

func TestChargeWaitsUntilTheRateIsTheBound(t *testing.T) {
	b := NewBook(Windows{11, 1000}, Windows{11, 1000})
	m := b.Hold(Tag{Kind: Produce, Client: "c"}, 0)
	// 20 000 bytes at 1000 a second: the ten windows before count as passed, so 10 more seconds.
	if wait := m.Charge(1000, 20_000, 50_000); wait != 10_000 {
		t.Fatalf("wait %d", wait)
	}
	m.Add(-20_000, 50_000)
	if wait := m.Charge(1000, 10_000, 50_000); wait != 0 {
		t.Fatalf("what was taken back counts: wait %d", wait)
	}
	if got := m.Most(1000); got != 10_000 {
		t.Fatalf("most %v", got)
	}
}

func TestBookForgetsIdleMeters(t *testing.T) {
	b := NewBook(Windows{11, 1000}, Windows{11, 1000})
	held := b.Hold(Tag{Kind: Produce, Client: "held"}, 0)
	for i := range 10_000 {
		b.Drop(b.Hold(Tag{Kind: Produce, Client: strconv.Itoa(i)}, int64(i)*1000))
	}
	if n := b.Len(); n > 300 {
		t.Fatalf("%d meters are kept", n)
	}
	if again := b.Hold(Tag{Kind: Produce, Client: "held"}, 1e9); again != held {
		t.Fatal("a meter that is held was forgotten: its client would count twice")
	}
	b.Drop(nil)
}

// TestNoAllocationOnceHeld: only the first window of a meter costs memory.
func TestNoAllocationOnceHeld(t *testing.T) {
	b := NewBook(Windows{11, 1000}, Windows{11, 1000})
	m := b.Hold(Tag{Kind: Produce, Client: "c"}, 0)
	at := int64(0)
	for range 24 {
		at += 1000
		m.Charge(10, 1, at)
	}
	if n := testing.AllocsPerRun(100, func() { at += 700; m.Charge(10, 5, at) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
