package run

import (
	"reflect"
	"testing"

	"github.com/pelton-broker/pelton/controller/meta"
)

// Registrations of every version that Kafka wrote.
func TestDecodeBroker(t *testing.T) {
	rack := "r1"
	plain := []meta.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 9, Protocol: "PLAINTEXT"}}
	for name, c := range map[string]struct {
		json string
		want meta.Broker
	}{
		"v1":                {`{"version":1,"host":"h","port":9,"jmx_port":-1,"timestamp":"1"}`, meta.Broker{Endpoints: plain}},
		"v1-number-as-time": {`{"version":1,"host":"h","port":9,"timestamp":1}`, meta.Broker{Endpoints: plain}},
		"v2":                {`{"version":2,"host":"h","port":9,"jmx_port":1,"timestamp":"1","endpoints":["PLAINTEXT://h:9"]}`, meta.Broker{Endpoints: plain}},
		"v3":                {`{"version":3,"host":"h","port":9,"endpoints":["PLAINTEXT://h:9"],"rack":"r1","timestamp":"1"}`, meta.Broker{Endpoints: plain, Rack: &rack}},
		"v4-named-listener-ipv6": {`{"version":4,"host":null,"port":-1,"listener_security_protocol_map":{"IN":"SASL_SSL"},"endpoints":["IN://[::1]:9"],"timestamp":"1"}`,
			meta.Broker{Endpoints: []meta.Endpoint{{Listener: "IN", Host: "::1", Port: 9, Protocol: "SASL_SSL"}}}},
		"v5-unknown-key": {`{"features":{"f":{"min_version":1,"max_version":3}},"new":1,"version":5,"endpoints":["PLAINTEXT://h:9"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"port":9,"host":"h","timestamp":"1"}`,
			meta.Broker{Endpoints: plain, Features: map[string]meta.FeatureRange{"f": {Min: 1, Max: 3}}}},
	} {
		got, err := decodeBroker("/x", 7, []byte(c.json), 5)
		c.want.ID, c.want.Epoch = 7, 5
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	for _, bad := range []string{``, `[]`, `{"endpoints":["h:9"]}`, `{"endpoints":["PLAINTEXT://h:x"]}`, `{"port":"9"}`} {
		if b, err := decodeBroker("/x", 7, []byte(bad), 5); err == nil {
			t.Errorf("%q was read as %+v", bad, b)
		}
	}
}

func TestRegistrationByProtocolVersion(t *testing.T) {
	o := Options{Endpoints: []meta.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 34201, Protocol: "PLAINTEXT"}}}
	rack := "r1"
	o.Rack = &rack
	const rest = `"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://127.0.0.1:34201"],"rack":"r1","jmx_port":-1,"port":34201,"host":"127.0.0.1","version":`
	for version, want := range map[string]string{
		"3.9": `{"features":{},` + rest + `5,"timestamp":"1795959111197"}`, "2.7-IV2": `{"features":{},` + rest + `5,"timestamp":"1795959111197"}`,
		"2.6": `{` + rest + `4,"timestamp":"1795959111197"}`, "0.10.2": `{` + rest + `4,"timestamp":"1795959111197"}`,
	} {
		v, err := parseIBP(version)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(encodeBroker(&o, v, 1795959111197)); got != want {
			t.Errorf("%s: %s", version, got)
		}
	}
	for _, bad := range []string{"x", "3.", "-1", "3.x"} {
		if _, err := parseIBP(bad); err == nil {
			t.Errorf("%q is a version", bad)
		}
	}
}

func TestTopicRoundTrip(t *testing.T) {
	const text = `{"partitions":{"0":[2,3,1],"1":[3],"2":[1]},"topic_id":"n1Mbf7hATF66SzCa2YoQ2w","adding_replicas":{"0":[1]},"removing_replicas":{"0":[2,3]},"version":3}`
	a, err := decodeTopic("/x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(encodeTopic(a)); got != text {
		t.Fatal(got)
	}
}

// Whatever stands in a znode, reading it neither panics nor gives a topic with a hole.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"partitions":{"0":[2,3,1]},"topic_id":"n1Mbf7hATF66SzCa2YoQ2w","adding_replicas":{"0":[1]},"version":3}`))
	f.Add([]byte(`{"controller_epoch":1,"leader":0,"version":1,"leader_recovery_state":1,"leader_epoch":0,"isr":[0]}`))
	f.Add([]byte(`{"version":1,"config":{"a":"b","c":5}}`))
	f.Add([]byte(`{"version":2,"entity_path":"topics/rs"}`))
	f.Add([]byte(`{"features":{"f":{"min_version":1}},"endpoints":["A://[::1]:9"],"version":5}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := decodeTopic("/x", b); err == nil {
			again, err := decodeTopic("/x", encodeTopic(a))
			if err != nil || len(again.partitions) != len(a.partitions) || again.id != a.id {
				t.Fatalf("%q: %+v %v", b, again, err)
			}
		}
		var p meta.Partition
		_ = decodeState("/x", b, &p)
		_, _ = decodeConfig("/x", b)
		_, _, _ = decodeChange("/x", b)
		_, _ = decodeBroker("/x", 1, b, 1)
	})
}
