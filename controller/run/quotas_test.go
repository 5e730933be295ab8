package run

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/pelton-broker/pelton/controller/meta"
	"github.com/pelton-broker/pelton/internal/clock"
)

func TestQuotasAreReadAtStartAndChangedByNotifications(t *testing.T) {
	m, server := fake(t, nil)
	w, err := server.Wire(nil, time.Second, func(zk.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, node := range []struct{ path, set string }{
		{"/kafka/config/clients/app", `{"producer_byte_rate":"1024"}`},
		{"/kafka/config/users/alice", `{"SCRAM-SHA-256":"salt=x","consumer_byte_rate":2048}`},
		{"/kafka/config/users/alice/clients", ``},
		{"/kafka/config/users/alice/clients/%3Cdefault%3E", `{"request_percentage":"12.5"}`},
		{"/kafka/config/ips/<default>", `{"connection_creation_rate":"3"}`},
	} {
		data := ""
		if node.set != "" {
			data = `{"version":1,"config":` + node.set + `}`
		}
		if _, err := w.Create(node.path, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(node.path, err)
		}
	}
	m.stop(t)
	second := newMember()
	o := options(second, 1, 1)
	o.ZK.Wire = server.Wire
	if err := second.start(t, o); err != nil {
		t.Fatal(err)
	}
	want := map[meta.QuotaEntity]string{
		{Client: "app"}: "map[producer_byte_rate:1024]", {User: "alice"}: "map[consumer_byte_rate:2048]",
		{User: "alice", Client: "%3Cdefault%3E"}: "map[request_percentage:12.5]", {IP: meta.DefaultEntity}: "map[connection_creation_rate:3]",
	}
	checkQuotas(t, second.Image(), want)

	// A tool changes one and drops another.
	set(t, w, "/kafka/config/clients/app", `{"version":1,"config":{"producer_byte_rate":"7"}}`)
	set(t, w, "/kafka/config/ips/<default>", `{"version":1,"config":{}}`)
	for _, note := range []string{`{"version":2,"entity_path":"ips/<default>"}`, `{"version":2,"entity_path":"users/a/b"}`, `{"version":1,"entity_type":"clients","entity_name":"app"}`} {
		if _, err := w.Create("/kafka/config/changes/config_change_", []byte(note), zk.FlagSequence, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	want[meta.QuotaEntity{Client: "app"}] = "map[producer_byte_rate:7]"
	delete(want, meta.QuotaEntity{IP: meta.DefaultEntity})
	img := second.until(t, "the changed quota", func(img *meta.Image) bool {
		return img.Quotas[meta.QuotaEntity{Client: "app"}]["producer_byte_rate"] == "7"
	})
	checkQuotas(t, img, want)
}

func set(t *testing.T, w interface {
	Set(path string, data []byte, version int32) (*zk.Stat, error)
}, path, data string) {
	t.Helper()
	if _, err := w.Set(path, []byte(data), -1); err != nil {
		t.Fatal(path, err)
	}
}

func checkQuotas(t *testing.T, img *meta.Image, want map[meta.QuotaEntity]string) {
	t.Helper()
	got := map[meta.QuotaEntity]string{}
	for e, set := range img.Quotas {
		got[e] = fmt.Sprint(set)
	}
	if !maps.Equal(got, want) {
		t.Fatalf("quotas are %v, want %v", got, want)
	}
}

func TestQuotasAreWrittenAsKafkaWritesThem(t *testing.T) {
	m, server := fake(t, func(o *Options) { o.Clock = clock.NewManual(1_600_000_000_000) })
	w, err := server.Wire(nil, time.Second, func(zk.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Create("/kafka/config/users/alice", []byte(`{"version":1,"config":{"SCRAM-SHA-256":"salt=x"}}`), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	alice, both := meta.QuotaEntity{User: "alice"}, meta.QuotaEntity{User: "bob", Client: "app"}
	for _, step := range []struct {
		e    meta.QuotaEntity
		set  map[string]string
		drop []string
	}{
		{alice, map[string]string{"producer_byte_rate": "5", "request_percentage": "1.0"}, nil},
		{alice, map[string]string{"producer_byte_rate": "6"}, []string{"request_percentage"}},
		{both, map[string]string{"consumer_byte_rate": "9"}, nil},
	} {
		if err := m.AlterQuota(t.Context(), step.e, step.set, step.drop); err != nil {
			t.Fatal(err)
		}
	}
	checkQuotas(t, m.Image(), map[meta.QuotaEntity]string{alice: "map[producer_byte_rate:6]", both: "map[consumer_byte_rate:9]"})
	dump := server.Dump("/kafka")
	for path, want := range map[string]string{
		"/config/users/alice":                      `{"version":1,"config":{"SCRAM-SHA-256":"salt=x","producer_byte_rate":"6"}}`,
		"/config/users/bob/clients/app":            `{"version":1,"config":{"consumer_byte_rate":"9"}}`,
		"/config/changes/config_change_0000000000": `{"version":2,"entity_path":"users/alice"}`,
		"/config/changes/config_change_0000000002": `{"version":2,"entity_path":"users/bob/clients/app"}`,
	} {
		if got := string(dump[path].Data); got != want {
			t.Errorf("%s holds %s, want %s", path, got, want)
		}
	}
}
