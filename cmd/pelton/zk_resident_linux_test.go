package main

import "testing"

// Only what the program's file still has is given up: no page that was written to, nobody else's, none of the data.
func TestProgramPages(t *testing.T) {
	const smaps = `00400000-00f2f000 r-xp 00000000 fe:00 77                                 /usr/bin/pelton
Size:              11452 kB
Rss:                8060 kB
Private_Dirty:        40 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
00f30000-01b94000 r--p 00b30000 fe:00 77                                 /usr/bin/pelton
Rss:                9028 kB
Private_Dirty:        12 kB
Anonymous:            12 kB
01b94000-01c06000 rw-p 01794000 fe:00 77                                 /usr/bin/pelton
Rss:                 328 kB
Anonymous:             0 kB
01c06000-01c07000 r--p 01794000 fe:00 77                                 /usr/bin/pelton
Rss:                   0 kB
01c07000-01c09000 r--p 01795000 fe:00 77                                 /usr/bin/pelton
Rss:                   8 kB
Swap:                  4 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:00 78                         /usr/lib/libc.so.6
Rss:                   4 kB
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
Rss:                   4 kB
7f0000004000-7f0000008000 r--p 01794000 fe:00 77                         /usr/bin/pelton
Rss:                  16 kB
Private_Dirty:         0 kB
`
	got := programPages(smaps, "/usr/bin/pelton")
	want := []mapping{{at: 0x400000, size: 0xb2f000, resident: 8060 << 10}, {at: 0x7f0000004000, size: 0x4000, resident: 16 << 10}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

// The program goes on after it, and there was something to give up.
func TestLeaveStart(t *testing.T) {
	if left := leaveStart(); left <= 0 {
		t.Fatalf("%d bytes left behind", left)
	}
}
