package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"breakwater/proxy/control"
	"breakwater/resilience"
)

// TestLastWriteWins is the coalescing seen from outside: the newest of many.
func TestLastWriteWins(t *testing.T) {
	s := open(t, t.TempDir())
	save(t, s, "a", "b")
	for i := range 2000 {
		s.SaveConnectionState(resilience.ConnectionState{ID: "a", TestStatus: "unavailable", BackoffLevel: i})
		s.SaveBreaker(resilience.BreakerState{Name: "glm", State: "DEGRADED", FailureCount: i})
	}
	for _, r := range connections(t, s) {
		if want := map[string]int{"a": 1999, "b": 0}[r.ID]; r.State.BackoffLevel != want {
			t.Errorf("%s has level %d, want %d", r.ID, r.State.BackoffLevel, want)
		}
	}
	if b, err := s.Breakers(t.Context()); err != nil || len(b) != 1 || b[0].FailureCount != 1999 {
		t.Errorf("breakers %+v, %v", b, err)
	}
}

func TestRowsArriveWithoutFlush(t *testing.T) {
	s := open(t, t.TempDir())
	s.AppendActivity(sampleActivity(1))
	waitFor(t, func() bool { return count(t, s, "SELECT count(*) FROM proxy_logs") == 1 })
}

func TestFlushRespectsContext(t *testing.T) {
	s := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAfterCloseRowsAreCounted(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.AppendActivity(plainActivity(1))
	s.SaveBreaker(resilience.BreakerState{Name: "x", State: "OPEN"})
	if s.Lost() != 1 {
		t.Errorf("lost %d", s.Lost())
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFullQueueLosesAndCounts(t *testing.T) {
	s := open(t, t.TempDir())
	// Nobody can write while this transaction is open.
	tx := s.write.Begin()
	s.AppendActivity(plainActivity(1))
	poke(s.writer.hurry)
	waitFor(t, func() bool { // until the goroutine holds the first row
		s.writer.mu.Lock()
		defer s.writer.mu.Unlock()
		return len(s.writer.pending.rows) == 0
	})
	const rows = queueRows + 1000
	for id := int64(2); id <= rows; id++ {
		s.AppendActivity(plainActivity(id))
	}
	if s.Lost() != rows-1-queueRows {
		t.Errorf("lost %d", s.Lost())
	}
	if err := tx.Rollback().Error; err != nil {
		t.Fatal(err)
	}
	flush(t, s)
	kept := count(t, s, "SELECT count(*) FROM proxy_logs")
	if int64(kept)+s.Lost() != rows {
		t.Errorf("kept %d, lost %d of %d", kept, s.Lost(), rows)
	}
}

func TestDoubledIDIsCounted(t *testing.T) {
	s := open(t, t.TempDir())
	s.AppendActivity(sampleActivity(1))
	s.AppendActivity(plainActivity(1))
	s.AppendActivity(plainActivity(2))
	if got := activity(t, s, control.ActivityQuery{}); len(got) != 2 || !got[1].FailedOver {
		t.Errorf("got %+v", got)
	}
	if s.Lost() != 1 {
		t.Errorf("lost %d", s.Lost())
	}
}

// TestFullDisk is case P52's second half: with no room left everything goes
// on, the loss is counted and shown, and room that comes back is used.
func TestFullDisk(t *testing.T) {
	t.Run("P52 a full disk", func(t *testing.T) {
		s := open(t, t.TempDir())
		save(t, s, "a")
		full := count(t, s, "PRAGMA page_count")
		pragma(t, s, fmt.Sprintf("max_page_count = %d", full))
		for id := int64(1); id <= 400; id++ {
			s.AppendActivity(sampleActivity(id))
		}
		flush(t, s)
		if s.Lost() == 0 || s.Damaged() != nil {
			t.Fatalf("lost %d, damaged %v", s.Lost(), s.Damaged())
		}
		if n := s.Notices(); len(n) != 1 || n[0].Code != "activity_lost" {
			t.Errorf("notices %+v", n)
		}
		// Big states need new pages as well; they are kept and tried again.
		big := make([]byte, 64<<10)
		for i := range big {
			big[i] = 'x'
		}
		s.SaveConnectionState(resilience.ConnectionState{ID: "a", TestStatus: "unavailable", RawHint: string(big)})
		if err := s.SaveSetting(t.Context(), "big", big); err == nil {
			t.Error("a setting that did not fit was accepted")
		}
		if got := connections(t, s)[0].State.TestStatus; got != "active" {
			t.Fatalf("status %s: the disk was not full", got)
		}
		lost := s.Lost()
		pragma(t, s, "max_page_count = 1000000")
		s.AppendActivity(sampleActivity(401))
		if got := connections(t, s)[0].State.TestStatus; got != "unavailable" {
			t.Errorf("status %s: the state was forgotten", got)
		}
		if got := activity(t, s, control.ActivityQuery{Limit: 1}); got[0].ID != 401 || s.Lost() != lost {
			t.Errorf("newest %d, lost %d", got[0].ID, s.Lost()-lost)
		}
	})
}

// TestGiveBack: what could not be written never replaces something newer.
func TestGiveBack(t *testing.T) {
	states := func(level int) map[string]resilience.ConnectionState {
		return map[string]resilience.ConnectionState{"a": {ID: "a", BackoffLevel: level}}
	}
	breakers := func(n int) map[string]resilience.BreakerState {
		return map[string]resilience.BreakerState{"x": {Name: "x", FailureCount: n}}
	}
	for _, c := range []struct {
		name          string
		failed, newer batch
		level, count  int
		drop          bool
	}{
		{"nothing newer", batch{states: states(1), breakers: breakers(1)}, newBatch(), 1, 1, false},
		{"newer stays", batch{states: states(1), breakers: breakers(1)}, batch{states: states(2), breakers: breakers(2)}, 2, 2, false},
		{"a removal comes back", batch{dropBreakers: true, breakers: breakers(1)}, newBatch(), 0, 1, true},
		{"a newer removal forgets", batch{breakers: breakers(1)}, batch{dropBreakers: true, breakers: map[string]resilience.BreakerState{}}, 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &writer{pending: c.newer}
			w.giveBack(c.failed)
			p := w.pending
			if p.states["a"].BackoffLevel != c.level || p.breakers["x"].FailureCount != c.count || p.dropBreakers != c.drop {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestConcurrentWriters(t *testing.T) {
	s := open(t, t.TempDir())
	const writers, each = 8, 12
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d", w, i)
				if err := s.SaveConnection(t.Context(), record(id)); err != nil {
					t.Error(err)
				}
				if err := s.SaveSetting(t.Context(), id, []byte(id)); err != nil {
					t.Error(err)
				}
				s.SaveConnectionState(resilience.ConnectionState{ID: id, TestStatus: "banned"})
				s.AppendActivity(sampleActivity(int64(w*each + i + 1)))
				if i%5 == 0 {
					if _, err := s.Activity(t.Context(), control.ActivityQuery{Limit: 5}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	banned := 0
	for _, r := range connections(t, s) {
		if r.State.TestStatus == "banned" {
			banned++
		}
	}
	if banned != writers*each || s.Lost() != 0 {
		t.Errorf("%d states, %d rows lost", banned, s.Lost())
	}
	if n := count(t, s, "SELECT count(*) FROM proxy_logs"); n != writers*each {
		t.Errorf("%d rows", n)
	}
}
