package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

type filesKey struct{}

// WithFiles says how the commands that are given a file read it; without it they cannot.
func WithFiles(ctx context.Context, read func(path string) ([]byte, error)) context.Context {
	return context.WithValue(ctx, filesKey{}, read)
}

// serverLines are the lines server.N=… of a configuration file, with commas between.
func serverLines(ctx context.Context, path string) (string, error) {
	read, ok := ctx.Value(filesKey{}).(func(string) ([]byte, error))
	if !ok {
		return "", errors.New("no file can be read here")
	}
	b, err := read(path)
	if err != nil {
		return "", fmt.Errorf("reconfig -file: %w", err)
	}
	var lines []string
	for _, line := range strings.Split(string(b), "\n") {
		key, value, is := strings.Cut(strings.TrimSpace(line), "=")
		if is && strings.HasPrefix(key, "server.") {
			lines = append(lines, strings.TrimSpace(key)+"="+strings.TrimSpace(value))
		}
	}
	if len(lines) == 0 {
		return "", fmt.Errorf("%w: %s has no line server.N=", ErrUsage, path)
	}
	return strings.Join(lines, ","), nil
}
