package broker_test

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// migrant is a client that sends to one partition and reads it through a fetch session, on one connection.
type migrant struct {
	*conn
	topic     string
	partition int32
	sent      int
	session   int32
	epoch     int32
	next      int64
	read      []string
}

const movedTotal = "broker_network_connections_moved_total"

// round sends some produce requests and a fetch in one go; answers is to be called next.
func (m *migrant) round() (answers func()) {
	var all []byte
	var due []kmsg.Request
	first := m.corr + 1
	for range 5 {
		req := produceRequest(m.topic, m.partition, 1, values(fmt.Sprintf("%d", m.sent)))
		m.sent++
		all = append(all, m.encode(produceVersion, req)...)
		due = append(due, req)
	}
	fetch := fetchRequest(m.topic, m.partition, m.next)
	fetch.MaxWaitMillis, fetch.SessionID, fetch.SessionEpoch = 0, m.session, m.epoch
	all = append(all, m.encode(fetchVersion, fetch)...)
	m.write(all)
	return func() {
		m.t.Helper()
		for i, req := range due {
			p := m.receive(first+int32(i), req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
			if p.ErrorCode != 0 {
				m.t.Fatalf("produce: error %d", p.ErrorCode)
			}
		}
		resp := m.receive(first+int32(len(due)), fetch).(*kmsg.FetchResponse)
		if resp.ErrorCode != 0 || resp.SessionID == 0 || m.session != 0 && resp.SessionID != m.session {
			m.t.Fatalf("fetch: error %d, session %d after %d", resp.ErrorCode, resp.SessionID, m.session)
		}
		m.session, m.epoch = resp.SessionID, m.epoch+1
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				for _, r := range unpack(m.t, p.RecordBatches, m.next) {
					m.read = append(m.read, r.value)
					m.next = r.offset + 1
				}
			}
		}
	}
}

// pace lets some time pass in which the shards have nothing to do: a fetch that waits.
func pace(c *conn, name string) {
	ask[*kmsg.FetchResponse](c, fetchVersion, waiting(fetchRequest(name, 0, 0), 10, 1))
}

// Connections go to the shard of their partition with requests in flight and with their fetch sessions; no answer is lost, repeated or out of
// order, and every place that they held is given back.
func TestConnectionsMoveToTheirPartition(t *testing.T) {
	for _, poller := range []string{"epoll", "gnet"} {
		t.Run(poller, func(t *testing.T) {
			const clients = 12
			n := own(t, quiet("admin.listener=127.0.0.1:0", "pelton.connection.migration=true", "pelton.poller="+poller,
				fmt.Sprint("max.connections.per.ip=", clients+1))...)
			c := n.dial(t)
			idle := topic(t, c, 1)
			name := fmt.Sprint(idle, "-busy")
			makeTopic(t, c, name, 2*clients)
			var list []*migrant
			for i := range clients {
				// Its own partition, on either shard: where the connection is, is not known here.
				m := &migrant{conn: n.dial(t), topic: name, partition: int32(2*i + i/2%2)}
				list = append(list, m)
			}
			play := func(until func(p page) bool) {
				for tries := 0; ; tries++ {
					var answers []func()
					for _, m := range list {
						answers = append(answers, m.round())
					}
					for _, read := range answers {
						read()
					}
					pace(c, idle)
					if tries%20 == 19 && until(n.page(t)) {
						return
					}
					if tries > 4000 {
						t.Fatal("the connections did not move")
					}
				}
			}
			play(func(p page) bool { return p[movedTotal] >= 2 })
			once := n.page(t)[movedTotal]
			checkMigrants(t, list)
			// Everybody's partition is on the other shard now.
			for _, m := range list {
				m.partition ^= 1
				m.session, m.epoch, m.next, m.read, m.sent = 0, 0, 0, nil, 0
			}
			play(func(p page) bool { return p[movedTotal] >= once+clients/2 })
			checkMigrants(t, list)
			p := n.page(t)
			if p["broker_network_bad_frames_total"] != 0 || p["broker_fetch_sessions_count"] > 2*clients {
				t.Errorf("%v bad frames, %v fetch sessions", p["broker_network_bad_frames_total"], p["broker_fetch_sessions_count"])
			}
			for i, m := range list {
				if i%2 == 0 {
					m.round() // with requests in flight
				}
				m.close()
			}
			eventually(t, "one connection is open", func() bool {
				return n.page(t)["broker_network_connections_active_count"] == 1
			})
			for range clients { // every place is free again
				n.dial(t).works()
			}
		})
	}
}

// checkMigrants: each has read what it has sent, in order, but for what its last fetch came too early for.
func checkMigrants(t *testing.T, list []*migrant) {
	t.Helper()
	for i, m := range list {
		if len(m.read) < m.sent-5 {
			t.Fatalf("client %d sent %d records and read %d", i, m.sent, len(m.read))
		}
		for at, value := range m.read {
			if value != fmt.Sprint(at) {
				t.Fatalf("client %d: record %d is %q", i, at, value)
			}
		}
	}
}

// A client that speaks to both shards in turn stays, and so does everybody without the setting.
func TestConnectionsStay(t *testing.T) {
	for _, setting := range []string{"true", "false"} {
		n := own(t, quiet("admin.listener=127.0.0.1:0", "pelton.connection.migration="+setting)...)
		c := n.dial(t)
		idle := topic(t, c, 1)
		name := fmt.Sprint(idle, "-busy")
		makeTopic(t, c, name, 2)
		clients := []*conn{n.dial(t), n.dial(t)}
		for i := range 60 {
			for at, x := range clients {
				for k := range int32(10) {
					to := k % 2
					if setting == "false" {
						to = int32(at % 2)
					}
					want(t, "produce", produceTo(x, name, to, values(fmt.Sprint(i))).ErrorCode, 0)
				}
			}
			pace(c, idle)
		}
		if p := n.page(t); p[movedTotal] != 0 {
			t.Errorf("migration=%s: %v moves", setting, p[movedTotal])
		}
	}
}

// A client's quota goes with its connection: it waits after the move as it would have before.
func TestQuotasFollowAConnection(t *testing.T) {
	n := own(t, quiet("admin.listener=127.0.0.1:0", "pelton.connection.migration=true", "quota.window.num=2")...)
	c := n.dial(t)
	idle := topic(t, c, 1)
	name := fmt.Sprint(idle, "-busy")
	makeTopic(t, c, name, 2)
	clients := []*conn{n.dial(t), n.dial(t)} // to one partition: one of them is on the other shard
	for tries := 0; n.page(t)[movedTotal] == 0; tries++ {
		if tries > 500 {
			t.Fatal("neither connection moved")
		}
		for range 20 {
			for _, x := range clients {
				want(t, "produce", produceTo(x, name, 1, values("v")).ErrorCode, 0)
			}
		}
		pace(c, idle)
	}
	want(t, "quota", alterQuotas(c, false, "client-id=case producer_byte_rate=1000")[0].ErrorCode, 0)
	for _, x := range clients {
		eventually(t, "the client has to wait", func() bool {
			return ask[*kmsg.ProduceResponse](x, produceVersion, produceRequest(name, 1, 1, values("v"))).ThrottleMillis > 0
		})
	}
}
