package server

import (
	"testing"

	"github.com/go-zookeeper/zk"
)

// Counts tell what clients have made, and that there is nobody to ask any more.
func TestServerCounts(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	before, ok := s.Counts()
	if !ok || before.Connections != 0 || before.Sessions != 0 {
		t.Fatalf("%+v, %v", before, ok)
	}
	c, _ := dial(t, s)
	must[string](t)(c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)))
	_, _, _, err := c.GetW("/a")
	if err != nil {
		t.Fatal(err)
	}
	after, _ := s.Counts()
	if after.Connections != 1 || after.Sessions != 1 || after.Nodes != before.Nodes+1 || after.Watches != 1 || after.Outstanding != 0 || after.Zxid <= before.Zxid {
		t.Errorf("%+v after %+v", after, before)
	}
	c.Close()
	stop(t, s)
	if _, ok := s.Counts(); ok {
		t.Error("a server that has stopped was counted")
	}
}
