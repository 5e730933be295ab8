package broker_test

import (
	"fmt"
	"testing"
)

// A topic that goes while jobs of its logs are under way takes nothing else with it: a job that found the directory renamed
// once took the whole log directory offline, and the next topic could not be opened.
func TestDeletingBusyTopicsKeepsTheDirectoryOnline(t *testing.T) {
	n := own(t)
	c := n.dial(t)
	for i := range 60 {
		name := fmt.Sprintf("gone-%d", i)
		makeTopic(t, c, name, 4, "segment.bytes=16384", "segment.index.bytes=4096")
		big := values(string(make([]byte, 9000)))
		for p := range int32(4) {
			for range 3 { // each but the first asks for a new segment
				c.send(9, produceRequest(name, p, 0, append([]byte(nil), big...)))
			}
		}
		deleteTopic(t, c, name)
	}
	kept := topic(t, c, 1)
	want(t, "first offset in a topic made afterwards", mustProduce(c, kept, values("still here")), 0)
}
