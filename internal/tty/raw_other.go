//go:build !linux

package tty

import (
	"errors"
	"os"
)

// errOther is returned on systems where lines are edited by the terminal itself.
var errOther = errors.New("tty: not on this system")

// Is says that nothing is a terminal here: lines are taken as the system gives them.
func Is(int) bool { return false }

// Raw is not there.
func Raw(int) (func(), error) { return nil, errOther }

// Pair is not there.
func Pair() (person, terminal *os.File, err error) { return nil, nil, errOther }
