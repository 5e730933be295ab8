package session

import "testing"

func TestTrackerNeverExpiresEarlyNorTwice(t *testing.T) {
	tr := NewTracker(2000, 500)
	s := tr.Add(1, 4000, 500)
	var due []*Session
	for now := int64(500); now < 4500; now += 100 {
		if due = tr.Due(now, due[:0]); len(due) != 0 {
			t.Fatalf("expired at %d, before its timeout", now)
		}
	}
	if due = tr.Due(6500, due[:0]); len(due) != 1 || due[0] != s || !s.Closing {
		t.Fatalf("not expired one tick after its timeout: %v", due)
	}
	if due = tr.Due(90000, due[:0]); len(due) != 0 {
		t.Fatal("expired twice")
	}
	if tr.Touch(s, 7000) {
		t.Fatal("an expired session was touched")
	}
}

func TestTrackerTouchPutsOff(t *testing.T) {
	tr := NewTracker(2000, 0)
	s := tr.Add(1, 4000, 0)
	var due []*Session
	for now := int64(0); now < 60000; now += 1000 {
		if !tr.Touch(s, now) {
			t.Fatal("a live session cannot be touched")
		}
		if due = tr.Due(now, due[:0]); len(due) != 0 {
			t.Fatalf("expired at %d though it was touched", now)
		}
	}
	tr.Close(s)
	if due = tr.Due(200000, due[:0]); len(due) != 0 {
		t.Fatal("a closed session expired")
	}
	tr.Remove(1)
	if tr.Get(1) != nil || tr.Len() != 0 {
		t.Fatal("a removed session is still there")
	}
}
