package db

import (
	"testing"

	"breakwater/proxy/control"
)

// settle flushes until retention has nothing left to do.
func settle(t *testing.T, s *Store) {
	t.Helper()
	for range 1000 {
		flush(t, s)
		s.writer.mu.Lock()
		idle := !s.writer.trim
		s.writer.mu.Unlock()
		if idle {
			return
		}
	}
	t.Fatal("retention does not end")
}

func TestLimitIsKeptWhileRowsCome(t *testing.T) {
	s := open(t, t.TempDir())
	s.SetActivityLimit(500)
	for id := int64(1); id <= 1600; id++ {
		s.AppendActivity(plainActivity(id))
		if id%200 == 0 {
			settle(t, s)
			if n := count(t, s, "SELECT count(*) FROM proxy_logs"); n > 500+trimEvery+batchRows {
				t.Fatalf("%d rows at id %d", n, id)
			}
		}
	}
	settle(t, s)
	got := activity(t, s, control.ActivityQuery{Limit: 500})
	if len(got) != 500 || got[0].ID != 1600 || got[499].ID != 1101 {
		t.Errorf("%d rows, the newest %d", len(got), got[0].ID)
	}
}

// TestLongLogIsCutInSteps is the first half of case P52: many rows from a time with
// a higher limit go away in small steps, and the file becomes smaller.
func TestLongLogIsCutInSteps(t *testing.T) {
	t.Run("P52 a long log", func(t *testing.T) {
		s := open(t, t.TempDir())
		const rows = 5_000
		s.SetActivityLimit(rows)
		err := s.write.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO proxy_logs (id, timestamp, result, tried, trace) SELECT i, i, 'answered', '', printf('%.400c', 'x') FROM n`, rows).Error
		if err != nil {
			t.Fatal(err)
		}
		s = reopen(t, s)
		before := count(t, s, "PRAGMA page_count")
		if n := count(t, s, "SELECT count(*) FROM proxy_logs"); n != rows {
			t.Fatalf("%d rows after the start: it must not clean up by itself", n)
		}
		s.SetActivityLimit(100)
		settle(t, s)
		if n := count(t, s, "SELECT count(*) FROM proxy_logs"); n != 100 {
			t.Errorf("%d rows", n)
		}
		if after := count(t, s, "PRAGMA page_count"); after > before/2 {
			t.Errorf("%d pages of %d left", after, before)
		}
		if id, err := s.MaxActivityID(t.Context()); id != rows || err != nil {
			t.Errorf("newest id %d, %v", id, err)
		}
	})
}

func TestTrimStepIsSmall(t *testing.T) {
	s := open(t, t.TempDir())
	err := s.write.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
		INSERT INTO proxy_logs (id) SELECT i FROM n`).Error
	if err != nil {
		t.Fatal(err)
	}
	more, err := s.writer.trimStep(10)
	if err != nil || !more {
		t.Errorf("more %v, %v", more, err)
	}
	if n := count(t, s, "SELECT count(*) FROM proxy_logs"); n != 3000-trimRows {
		t.Errorf("%d rows", n)
	}
}

func TestLimitZeroKeepsNothing(t *testing.T) {
	s := open(t, t.TempDir())
	s.AppendActivity(plainActivity(1))
	flush(t, s)
	s.SetActivityLimit(-1)
	settle(t, s)
	if n := len(activity(t, s, control.ActivityQuery{})); n != 0 {
		t.Errorf("%d rows", n)
	}
}
