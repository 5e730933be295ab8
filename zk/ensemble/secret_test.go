package ensemble

import (
	"bytes"
	"testing"
)

// TestTheFirstSecretStays: two leaders may both have got theirs through.
func TestTheFirstSecretStays(t *testing.T) {
	c := oneCore(t)
	proposal := func(fill byte) []byte {
		c.o.Secret, c.batch = bytes.Repeat([]byte{fill}, secretSize), nil
		c.agreeOnSecret()
		if len(c.batch) != 1 {
			t.Fatalf("%d entries proposed", len(c.batch))
		}
		return c.batch[0].GetData()
	}
	first, second := proposal(1), proposal(2)
	c.apply(first)
	c.apply(second)
	if want := bytes.Repeat([]byte{1}, secretSize); !bytes.Equal(c.Secret(), want) {
		t.Fatalf("%x", c.Secret())
	}
	c.batch = nil
	if c.agreeOnSecret(); len(c.batch) > 0 {
		t.Fatal("a secret is proposed although there is one")
	}
}
