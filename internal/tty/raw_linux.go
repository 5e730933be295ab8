package tty

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Is says whether a descriptor is a terminal.
func Is(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// Raw has a terminal give single keys, without showing them; output is as before. undo brings the old settings back.
func Raw(fd int) (undo func(), err error) {
	old, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	now := *old
	now.Iflag &^= unix.BRKINT | unix.ICRNL | unix.INPCK | unix.ISTRIP | unix.IXON
	now.Lflag &^= unix.ECHO | unix.ICANON | unix.IEXTEN | unix.ISIG
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &now); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, old) }, nil
}

// Pair is a terminal and the end that a person would sit at; for tests.
func Pair() (person, terminal *os.File, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Open("/dev/ptmx", flags|unix.O_NONBLOCK, 0) // so that reads have deadlines
	if err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	far := -1
	if err == nil {
		far, err = unix.Open(fmt.Sprintf("/dev/pts/%d", n), flags, 0)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), "person"), os.NewFile(uintptr(far), "terminal"), nil
}
