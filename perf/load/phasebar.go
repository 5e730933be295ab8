package load

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/pelton-broker/pelton/perf"
)

// phaseColour is fixed for each phase, so that two reports can be laid side by side.
func phaseColour(phase string) string {
	colours := [...]string{"#8b98a5", "#7048e8", "#f08c00", "#c2255c", "#0c8599", "#1f6feb", "#e03131", "#74b816", "#2b8a3e", "#5f3dc4"}
	for p := range perf.NumPhases {
		if p.String() == phase {
			return colours[int(p)%len(colours)]
		}
	}
	return "#8b98a5"
}

// phaseMeaning says in words what a phase is.
func phaseMeaning(phase string) string {
	switch phase {
	case "read":
		return "from the begin of the shard's turn to the request's"
	case "parse":
		return "decoding and checking"
	case "hop":
		return "to the shard that owns the partition, and back"
	case "queue":
		return "for the answers before it on its connection"
	case "submit":
		return "in the log's queue until the disk is asked"
	case "device":
		return "the disk, or finding the records"
	case "fsync":
		return "a write with its fdatasync"
	case "purgatory":
		return "for replicas, or for records to come"
	case "encode":
		return "making the answer"
	case "socket":
		return "until the socket has taken the records"
	}
	return ""
}

// phaseBars draws a bar for each class of requests: all of its time, in the order in which a request meets its phases.
func (r *Result) phaseBars() template.HTML {
	const barX, barH, gap = 90.0, 34.0, 22.0
	var classes []string
	total := map[string]float64{}
	for _, p := range r.Phases {
		if total[p.Class] == 0 {
			classes = append(classes, p.Class)
		}
		total[p.Class] += p.MeanUs
	}
	if len(classes) == 0 {
		return ""
	}
	var b strings.Builder
	width := chartW - barX - 90
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="where requests spend their time">`, chartW, float64(len(classes))*(barH+gap)+4)
	for i, class := range classes {
		x, y := barX, float64(i)*(barH+gap)+4
		fmt.Fprintf(&b, `<text x="%g" y="%.1f" text-anchor="end">%s</text>`, barX-10, y+barH/2+4, class)
		for _, p := range r.Phases {
			if p.Class != class {
				continue
			}
			w := p.Share * width
			fmt.Fprintf(&b, `<rect x="%.2f" y="%.1f" width="%.2f" height="%g" fill="%s"><title>%s: %s, %.1f %%: %s</title></rect>`,
				x, y, max(w, 0.5), barH, phaseColour(p.Phase), p.Phase, short(p.MeanUs*1e3), p.Share*100, phaseMeaning(p.Phase))
			if w > 9*float64(len(p.Phase)) {
				fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle" style="fill:#fff">%s</text>`, x+w/2, y+barH/2+4, p.Phase)
			}
			x += w
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f">%s</text>`, x+8, y+barH/2+4, short(total[class]*1e3))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // made of numbers and our own words only
}

// phaseRow is a line of the table under the bars.
type phaseRow struct{ Class, Colour, Phase, Mean, Share, Meaning string }

func (r *Result) phaseRows() (rows []phaseRow) {
	before := ""
	for _, p := range r.Phases {
		row := phaseRow{"", phaseColour(p.Phase), p.Phase, short(p.MeanUs * 1e3), fmt.Sprintf("%.1f %%", p.Share*100), phaseMeaning(p.Phase)}
		if p.Class != before {
			row.Class, before = p.Class, p.Class
		}
		rows = append(rows, row)
	}
	return rows
}
