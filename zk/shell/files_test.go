package shell

import (
	"errors"
	"testing"
)

func TestServerLinesOfAFile(t *testing.T) {
	files := map[string]string{"/zoo": "tickTime=2000\n server.1=a:1:2;3\n#server.9=x\nserver.2 = b:1:2:observer;3\nversion=7\n", "/none": "tickTime=2000\n"}
	ctx := WithFiles(t.Context(), func(path string) ([]byte, error) {
		text, ok := files[path]
		if !ok {
			return nil, errors.New("no such file")
		}
		return []byte(text), nil
	})
	if got, err := serverLines(ctx, "/zoo"); err != nil || got != "server.1=a:1:2;3,server.2=b:1:2:observer;3" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := serverLines(ctx, "/none"); !errors.Is(err, ErrUsage) {
		t.Errorf("a file without servers: %v", err)
	}
	if _, err := serverLines(ctx, "/missing"); err == nil {
		t.Error("a file that is not there")
	}
	if _, err := serverLines(t.Context(), "/zoo"); err == nil {
		t.Error("no way to read files")
	}
}
