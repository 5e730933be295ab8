package load

import "golang.org/x/sys/unix"

// TerminalSize is the size of the terminal behind a descriptor; zeros when it is none.
func TerminalSize(fd int) (columns, rows int) {
	size, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}
