package db

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"breakwater/resilience/affinity"
)

func pin(hash, connection string, ttl time.Duration) affinity.Pin {
	at := t0.Truncate(time.Millisecond)
	return affinity.Pin{Provider: "glm", Hash: hash, Connection: connection, CreatedAt: at, LastUsedAt: at, ExpiresAt: at.Add(ttl)}
}

func pins(t *testing.T, s *Store) []affinity.Pin {
	t.Helper()
	list, err := s.Pins(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPinsSurviveRestart(t *testing.T) {
	s := open(t, t.TempDir())
	moved := pin("b", "beta", 2*time.Hour)
	moved.LastUsedAt = moved.CreatedAt.Add(time.Minute)
	s.SavePin(pin("a", "alpha", time.Hour))
	s.SavePin(pin("b", "alpha", time.Hour))
	s.SavePin(moved)
	s.SavePin(pin("c", "alpha", time.Hour))
	s = reopen(t, s)
	s.DeletePin("glm", "c") // written before the restart
	s.DeletePin("glm", "never there")
	s.SavePin(pin("d", "alpha", time.Hour))
	s.DeletePin("glm", "d") // never written
	want := []affinity.Pin{pin("a", "alpha", time.Hour), moved}
	if diff := cmp.Diff(want, pins(t, s)); diff != "" {
		t.Error(diff)
	}
	s = reopen(t, s)
	if diff := cmp.Diff(want, pins(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestPinQueueIsBounded(t *testing.T) {
	w := &writer{pending: newBatch(), wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1)}
	s := &Store{writer: w} // nobody writes
	for i := range queuePins + 10 {
		s.SavePin(pin(strconv.Itoa(i), "alpha", time.Hour))
	}
	s.DeletePin("glm", "0")
	if n := len(w.pending.pins); n != queuePins {
		t.Errorf("%d wait", n)
	}
	if w.pending.pins[pinKey{"glm", "0"}].ConnectionID != "" {
		t.Error("a pin that waits cannot be changed once the queue is full")
	}
}

// TestPinsGivenBack is the disk that could not be written: what came later
// stands.
func TestPinsGivenBack(t *testing.T) {
	w := &writer{pending: newBatch()}
	failed := newBatch()
	for _, hash := range []string{"old", "both"} {
		failed.pins[pinKey{"glm", hash}] = pinRow{Provider: "glm", SessionKeyHash: hash, ConnectionID: "alpha"}
	}
	w.pending.pins[pinKey{"glm", "both"}] = pinRow{Provider: "glm", SessionKeyHash: "both"}
	w.giveBack(failed)
	if p := w.pending.pins; p[pinKey{"glm", "old"}].ConnectionID != "alpha" || p[pinKey{"glm", "both"}].ConnectionID != "" {
		t.Errorf("%+v", p)
	}
}
