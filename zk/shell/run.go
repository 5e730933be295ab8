package shell

import (
	"context"
	"errors"
	"io"
)

// Run executes args: HOST:PORT[/chroot] and a command.
func Run(ctx context.Context, args []string, out io.Writer) error {
	return errors.New("zk/shell: not built yet")
}
