package shell

import (
	"errors"
	"fmt"
)

// What this package refuses with.
var (
	// ErrConnect is returned by Run when no server of the list opens a session.
	ErrConnect = errors.New("zk shell: cannot open a session")
	// ErrUsage is wrapped by the error of a command that was not understood; its text is the command's usage.
	ErrUsage = errors.New("usage")
	// ErrUnknown is wrapped by the error of a command that does not exist.
	ErrUnknown = fmt.Errorf("%w: unknown command, try help", ErrUsage)
)
