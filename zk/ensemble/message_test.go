package ensemble

import (
	"log/slog"
	"reflect"
	"strings"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/pelton-broker/pelton/zk/jute"
	"github.com/pelton-broker/pelton/zk/tree"
)

// quietSink hears everything and says nothing.
type quietSink struct{}

func (quietSink) Applied(*tree.Txn, *tree.Result, int64) {}
func (quietSink) Resumed(int64, bool)                    {}
func (quietSink) Synced(int64)                           {}
func (quietSink) Lost()                                  {}
func (quietSink) Serving(bool)                           {}
func (quietSink) Moved(int64)                            {}
func (quietSink) Replaced()                              {}
func (quietSink) Secret([]byte)                          {}

func oneCore(t testing.TB) *Core {
	t.Helper()
	servers := []Server{{ID: 0, Host: "a", Peer: 1, Election: 2}, {ID: 1, Host: "b", Peer: 1, Election: 2}, {ID: 2, Host: "c", Peer: 1, Election: 2}}
	b := firstBase(servers, 0)
	c, err := NewCore(Options{ID: 1, Nonce: 1, TickMs: 50, ElectionTicks: 10, HeartbeatTicks: 1, SessionTickMs: 500, SyncLimitMs: 3000, Tree: tree.New(),
		Servers: servers, KeepEntries: 100, State: State{Base: b, Hard: &pb.HardState{Term: proto.Uint64(1), Vote: proto.Uint64(0), Commit: proto.Uint64(1)}},
		Log: slog.New(slog.DiscardHandler), Sink: quietSink{}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRequestsAreReadAsTheyWereWritten(t *testing.T) {
	q := Request{Session: -5, Xid: 7, Op: jute.OpSetData, TimeoutMs: 9, IDs: []jute.ID{{Scheme: "ip", ID: "1.2.3.4"}, {Scheme: "super"}}, Body: []byte("body")}
	b := appendForward(nil, 11, 12, &q)
	r := jute.NewReader(b[1:])
	if gen, n := r.Long(), r.Long(); gen != 11 || n != 12 || b[0] != kindForward {
		t.Fatalf("%d %d %d", b[0], gen, n)
	}
	if got := readRequest(&r); !reflect.DeepEqual(got, q) || r.Err() != nil {
		t.Fatalf("%+v, %v", got, r.Err())
	}
}

// Messages that raft sends to itself alone, and those in another's name, must not come from outside.
func TestRaftTakesNoOrdersFromOutside(t *testing.T) {
	ok := func() *pb.Message {
		return &pb.Message{Type: pb.MsgHeartbeat.Enum(), From: proto.Uint64(2), To: proto.Uint64(1), Term: proto.Uint64(5), Commit: proto.Uint64(0)}
	}
	for name, change := range map[string]func(*pb.Message){
		"taken":             func(*pb.Message) {},
		"another's name":    func(m *pb.Message) { m.From = proto.Uint64(3) },
		"for another":       func(m *pb.Message) { m.To = proto.Uint64(3) },
		"hup":               func(m *pb.Message) { m.Type = pb.MsgHup.Enum() },
		"beat":              func(m *pb.Message) { m.Type = pb.MsgBeat.Enum() },
		"proposal":          func(m *pb.Message) { m.Type = pb.MsgProp.Enum() },
		"transfer":          func(m *pb.Message) { m.Type = pb.MsgTransferLeader.Enum() },
		"storage":           func(m *pb.Message) { m.Type = pb.MsgStorageAppendResp.Enum() },
		"no type below 0":   func(m *pb.Message) { m.Type = pb.MessageType(-507279490).Enum() },
		"no type above all": func(m *pb.Message) { m.Type = pb.MessageType(len(pb.MessageType_name)).Enum() },
		"snapshot in whole": func(m *pb.Message) { m.Type = pb.MsgSnap.Enum() },
		"entries with gaps": func(m *pb.Message) {
			m.Type, m.Entries = pb.MsgApp.Enum(), []*pb.Entry{{Index: proto.Uint64(9), Term: proto.Uint64(5)}}
		},
	} {
		m := ok()
		change(m)
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseRaft(2, 1, b); (err == nil) != (name == "taken") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReceive: a member that has the key may still be out of its mind; nothing it says ends the process before it is raft's own word.
func FuzzReceive(f *testing.F) {
	for kind := kindForward; kind <= kindDrop; kind++ {
		f.Add([]byte{kind, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1})
	}
	f.Add([]byte("\x01\b\xfe\x8e\x8e\x8e\x8e0")) // a type far below 0
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 0 && b[0] == kindRaft {
			_, _ = parseRaft(2, 1, b[1:])
			return
		}
		c := oneCore(t)
		c.Receive(2, b)
		c.Turn(100, 100)
		c.Receive(3, b)
		c.Turn(200, 200)
	})
}

func TestServerLines(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:2888:3888":                      "server.3=127.0.0.1:2888:3888:participant",
		"zoo1:2888:3888:observer":                  "server.3=zoo1:2888:3888:observer",
		"zoo1:2888:3888;2181":                      "server.3=zoo1:2888:3888:participant;0.0.0.0:2181",
		"zoo1:2888:3888:PARTICIPANT;10.0.0.1:2181": "server.3=zoo1:2888:3888:participant;10.0.0.1:2181",
		"[::1]:2888:3888;[::1]:2181":               "server.3=[::1]:2888:3888:participant;[::1]:2181",
		"zoo1:2888:3888|zoo1b:2888:3888":           "server.3=zoo1:2888:3888:participant",
		"":                                         "",
		"zoo1:2888":                                "",
		"zoo1:2888:x":                              "",
		"zoo1:2888:70000":                          "",
		"zoo1:2888:3888:leader":                    "",
		"zoo1:2888:3888;":                          "",
		":2888:3888":                               "",
		"zoo1:2888:3888:participant:more":          "",
		"zoo1:2888:3888;1.2.3.4:2181:3":            "",
		"  zoo1:2888:3888:participant;127.0.0.1:2181   ": "server.3=zoo1:2888:3888:participant;127.0.0.1:2181",
	} {
		s, err := ParseServer(3, text)
		if (err == nil) != (want != "") || err == nil && s.Line() != want {
			t.Errorf("%q: %s, %v", text, s.Line(), err)
		}
	}
	text := ConfigText([]Server{{ID: 9, Host: "b", Peer: 1, Election: 2, Observer: true}, {ID: 2, Host: "a", Peer: 1, Election: 2, Client: "0.0.0.0:5"}}, 0x200000003)
	if text != "server.2=a:1:2:participant;0.0.0.0:5\nserver.9=b:1:2:observer\nversion=200000003" {
		t.Errorf("%s", text)
	}
	list, version, err := ParseConfigText(text)
	if err != nil || version != 0x200000003 || ConfigText(list, version) != text {
		t.Errorf("%v %x %v", list, version, err)
	}
}

func TestConfigurationsThatMakeNoEnsemble(t *testing.T) {
	good := func() Config {
		return Config{MyID: 1, Key: []byte("sixteen bytes at"), TickTimeMs: 2000, InitLimit: 10, SyncLimit: 5,
			Servers: []Server{{ID: 1, Host: "a", Peer: 1, Election: 2}, {ID: 2, Host: "b", Peer: 1, Election: 2}}}
	}
	for want, change := range map[string]func(*Config){
		"":               func(*Config) {},
		"no server.7":    func(c *Config) { c.MyID = 7 },
		"keyFile":        func(c *Config) { c.Key = nil },
		"syncLimit":      func(c *Config) { c.SyncLimit = 0 },
		"server.1 twice": func(c *Config) { c.Servers[1].ID = 1 },
		"a:1 twice":      func(c *Config) { c.Servers[1].Host = "a" },
		"no participant": func(c *Config) { c.Servers[0].Observer, c.Servers[1].Observer = true, true },
	} {
		c := good()
		change(&c)
		err := c.Check()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func FuzzServerLine(f *testing.F) {
	f.Add("zoo1:2888:3888:participant;127.0.0.1:2181")
	f.Add("[::1]:2888:3888")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseServer(1, text)
		if err != nil {
			return
		}
		again, err := ParseServer(1, strings.TrimPrefix(s.Line(), "server.1="))
		if err != nil || again != s {
			t.Fatalf("%q is %+v, its line %q %+v, %v", text, s, s.Line(), again, err)
		}
	})
}
