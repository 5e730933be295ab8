package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestLogFormats(t *testing.T) {
	var out bytes.Buffer
	log, err := newLogger(&out, "json", "warn")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("not told")
	log.Warn("two\nlines", "client", "a\tb")
	var line struct{ Level, Msg, Client string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Level != "WARN" || line.Msg != "two\nlines" || line.Client != "a\tb" || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%q: %+v, %v", out.String(), line, err)
	}
	out.Reset()
	if log, err = newLogger(&out, "text", "info"); err != nil {
		t.Fatal(err)
	}
	log.Info("two\nlines", "client", "a\nb")
	if text := out.String(); !strings.Contains(text, `msg="two\nlines" client="a\nb"`) || strings.Count(text, "\n") != 1 {
		t.Errorf("%q", text)
	}
	for _, flags := range [][]string{{"--log-format", "xml"}, {"--log-level", "loud"}} {
		code, _, errs := cli(t, "", append([]string{"server", "--data-dir", t.TempDir()}, flags...)...)
		if code != 2 || !strings.Contains(errs, flags[0]) || !strings.Contains(errs, flags[1]) {
			t.Errorf("%v: code %d, %q", flags, code, errs)
		}
	}
}
