package load

// ReportStyle is the look of the reports: light or dark as the reader's system says, and narrow where the window is.
const ReportStyle = `
:root{--back:#fff;--text:#1d2733;--soft:#4a5866;--grid:#e3e8ee;--axis:#8b98a5;--line:#1f6feb;--note:#fff4d6;--off:#8a5a00}
@media (prefers-color-scheme:dark){:root{--back:#14181d;--text:#e6eaf0;--soft:#a3afbb;--grid:#2c343d;--axis:#6b7885;--line:#58a6ff;--note:#3a3117;--off:#e0b050}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back);max-width:920px;margin:2em auto;padding:0 1em}
h1{font-size:1.4em;margin-bottom:.2em}h2{font-size:1.1em;margin:2em 0 .3em}p{margin:.3em 0;color:var(--soft)}p.plain{color:var(--text)}
code{font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
.wide{overflow-x:auto}.wide td,.wide th{white-space:nowrap}table{border-collapse:collapse;margin:.6em 0}td,th{padding:.2em 1.4em .2em 0;text-align:left;font-weight:normal;vertical-align:top}th{color:var(--soft)}
td{font-variant-numeric:tabular-nums}td.n,th.n{text-align:right;white-space:nowrap}.big td{font-size:1.25em;padding-right:1.6em;white-space:nowrap}
svg{width:100%;min-width:600px;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .grid{stroke:var(--grid)}svg .line{stroke:var(--line)}svg .cell{fill:var(--line)}
.key{display:inline-block;width:.8em;height:.8em;margin-right:.5em;border-radius:2px}.note{background:var(--note);padding:.4em .8em;border-radius:4px;color:var(--text)}
li{margin:.3em 0}.off{color:var(--off)}
`
