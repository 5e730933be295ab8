package config

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown prints docs/CONFIG.md.
func WriteMarkdown(w io.Writer) {
	fmt.Fprint(w, "<!-- Printed from internal/config by make gen. Do not edit. -->\n\n# Configuration\n\n"+
		"The keys of `server.properties` and of topics, with Kafka 3.9's names and defaults, and Pelton's own. `--override key=value` beats flags, flags beat the file.\n"+
		"An unknown key is a warning that names the nearest known one; a value out of bounds refuses to start.\n\n"+
		"*Change*: read-only keys change by a restart, per-broker ones by request for one broker, cluster-wide ones for one broker or for all.\n")
	acts, inert, old := split(BrokerTable().Rows())
	fmt.Fprint(w, "\n## Broker\n\n| key | kind | default | allowed | change | meaning |\n|---|---|---|---|---|---|\n")
	for _, r := range acts {
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s | %s |\n", r.Name, kindWithUnit(r), cell(r.shown()), allowed(r), r.Update, cell(r.Doc))
	}
	fmt.Fprint(w, "\n## Topic\n\nA topic without a value of its own falls back to the broker's key.\n\n| key | kind | default | allowed | broker's key | meaning |\n|---|---|---|---|---|---|\n")
	for _, r := range TopicTable().Rows() {
		broker := ""
		if r.Broker != "" {
			broker = "`" + r.Broker + "`"
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s | %s |\n", r.Name, kindWithUnit(r), cell(r.shown()), allowed(r), broker, topicDoc(r))
	}
	fmt.Fprint(w, "\n## Read, shown and without effect\n\nSetting one of these is a warning.\n\n| key | kind | default | meaning |\n|---|---|---|---|\n")
	for _, r := range inert {
		fmt.Fprintf(w, "| `%s` | %s | %s | %s |\n", r.Name, kindWithUnit(r), cell(r.shown()), cell(r.Doc))
	}
	fmt.Fprint(w, "\n## Old and mistaken keys\n\n| key | taken as | meaning |\n|---|---|---|\n")
	for _, r := range old {
		as := ""
		if r.Effect == Alias {
			as = "`" + r.Alias + "`"
		}
		fmt.Fprintf(w, "| `%s` | %s | %s |\n", r.Name, as, cell(r.Doc))
	}
}

// topicDoc says of a topic key that is kept and shown only.
func topicDoc(r Row) string {
	if r.Effect == Inert {
		return cell(r.Doc) + " *No effect in this version.*"
	}
	return cell(r.Doc)
}

func split(rows []Row) (acts, inert, old []Row) {
	for _, r := range rows {
		switch r.Effect {
		case Acts, Refused:
			acts = append(acts, r)
		case Inert:
			inert = append(inert, r)
		case Alias, Gone:
			old = append(old, r)
		}
	}
	return acts, inert, old
}

func kindWithUnit(r Row) string {
	if u := r.Unit(); u != "" {
		return r.Kind.String() + ", " + u
	}
	return r.Kind.String()
}

func allowed(r Row) string {
	if r.Valid == nil {
		return ""
	}
	return cell(r.Valid.String())
}

// cell makes a text safe for a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
