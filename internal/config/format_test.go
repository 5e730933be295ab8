package config_test

import (
	"strings"
	"testing"

	"github.com/pelton-broker/pelton/internal/config"
)

// The rules of Kafka 3.9 for the format in which records are kept.
func TestRecordFormat(t *testing.T) {
	for _, c := range []struct {
		ibp, broker, topic string
		want               int8
	}{
		{"", "", "", 2},
		{"", "0.9.0", "0.8.2", 2}, // ignored from 3.0 on
		{"3.0-IV1", "0.10.2", "", 2},
		{"3.0-IV0", "0.10.2", "", 1},
		{"2.8", "", "", 2},
		{"2.8", "", "0.8.2", 0},
		{"2.8", "0.10.2", "", 1},
		{"2.8", "0.10.2", "0.9.0.1", 0},
		{"2.8", "0.9.0", "2.0", 2},
		{"0.11.0", "0.9.0", "2.0", 0}, // newer than the protocol: not taken
		{"0.10.2", "0.10.0", "", 1},
		{"0.9.0", "0.8.2", "", 0},
	} {
		keys, set := map[string]string{"log.dirs": t.TempDir()}, map[string]string{}
		for key, v := range map[string]string{"inter.broker.protocol.version": c.ibp, "log.message.format.version": c.broker} {
			if v != "" {
				keys[key] = v
			}
		}
		if c.topic != "" {
			set["message.format.version"] = c.topic
		}
		b, _, err := config.Load(nil, keys, nil)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got := b.Topic(set).RecordFormat(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	_, _, err := config.Load(nil, map[string]string{"log.dirs": t.TempDir(), "inter.broker.protocol.version": "0.10.2"}, nil)
	if err == nil || !strings.Contains(err.Error(), "can only be used when inter.broker.protocol.version is set to version 0.11.0 or higher") {
		t.Errorf("a format that the protocol does not know: %v", err)
	}
}
