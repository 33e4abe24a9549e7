package slow

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	m1 = Key{"alpha", "m1"}
	m2 = Key{"alpha", "m2"}
)

func TestStates(t *testing.T) {
	type event struct {
		after time.Duration // since t0
		do    func(*Table, time.Time)
	}
	overdue := func(tb *Table, now time.Time) { tb.Overdue(now, m1) }
	lost := func(tb *Table, now time.Time) { tb.LostClient(now, m1) }
	answered := func(tb *Table, _ time.Time) { tb.Answered(m1) }
	forgotten := func(tb *Table, _ time.Time) { tb.Forget("alpha") }
	const min = time.Minute
	for _, tt := range []struct {
		name    string
		events  []event
		at      time.Duration
		want    time.Duration // left, 0: not slow
		strikes int
	}{
		{"nothing is known", nil, 0, 0, 0},
		{"overdue", []event{{0, overdue}}, 0, 2 * min, 1},
		{"it ends by itself", []event{{0, overdue}}, 2 * min, 0, 0},
		{"twice", []event{{0, overdue}, {min, overdue}}, min, 4 * min, 2},
		{"it doubles after it ended, too", []event{{0, overdue}, {5 * min, overdue}}, 5 * min, 4 * min, 2},
		{"sixteen minutes at most", []event{{0, overdue}, {0, overdue}, {0, overdue}, {0, overdue}, {0, overdue}, {0, overdue}}, 0, 16 * min, 6},
		{"an answer lifts it", []event{{0, overdue}, {min, answered}}, min, 0, 0},
		{"an answer begins the ladder again", []event{{0, overdue}, {0, overdue}, {min, answered}, {min, overdue}}, min, 2 * min, 1},
		{"one lost client is none", []event{{0, lost}}, 0, 0, 0},
		{"two lost clients", []event{{0, lost}, {9 * min, lost}}, 9 * min, 2 * min, 1},
		{"two lost clients far apart", []event{{0, lost}, {11 * min, lost}}, 11 * min, 0, 0},
		{"a connection that was cleared", []event{{0, overdue}, {0, forgotten}}, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tb Table
			for _, e := range tt.events {
				e.do(&tb, t0.Add(e.after))
			}
			now := t0.Add(tt.at)
			e, ok := tb.Slow(now, m1)
			if ok != (tt.want > 0) || ok && (e.Until.Sub(now) != tt.want || e.Strikes != tt.strikes) {
				t.Errorf("got %+v, %v", e, ok)
			}
			if _, ok := tb.Slow(now, m2); ok {
				t.Error("another model is slow, too")
			}
			if n := len(tb.Snapshot(now, "alpha")); (n == 1) != (tt.want > 0) {
				t.Errorf("%d in the snapshot", n)
			}
		})
	}
}

func TestTableIsBoundedAndNeverPinned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tb Table
		now := t0
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			k := Key{"c", rapid.StringMatching(`[a-d]`).Draw(t, "model")}
			now = now.Add(time.Duration(rapid.IntRange(-3600, 3600).Draw(t, "step")) * time.Second)
			switch rapid.IntRange(0, 2).Draw(t, "event") {
			case 0:
				tb.Overdue(now, k)
			case 1:
				tb.LostClient(now, k)
			default:
				tb.Answered(k)
			}
			if e, ok := tb.Slow(now, k); ok && (e.Until.Sub(now) > most || e.Strikes < 1) {
				t.Fatalf("%+v at %v", e, now)
			}
		}
	})
	var tb Table
	for i := range capacity + 10 {
		tb.Overdue(t0.Add(time.Duration(i)*time.Millisecond), Key{"c", time.Duration(i).String()})
	}
	if n := len(tb.Snapshot(t0, "c")); n != capacity {
		t.Errorf("%d entries", n)
	}
}

func TestBudget(t *testing.T) {
	const first = 100 * time.Second
	for _, tt := range []struct {
		name    string
		first   time.Duration
		body    int
		givesUp time.Duration
		want    time.Duration
	}{
		{"a small request", first, 50_000, 0, first},
		{"exactly 200 KB", first, 200_000, 0, first},
		{"220 KB", first, 220_000, 0, 101 * time.Second},
		{"1 MB", first, 1_000_000, 0, 140 * time.Second},
		{"a very long one", first, 64 << 20, 0, 300 * time.Second},
		{"the client gives up after 120 s", first, 1_000_000, 120 * time.Second, 100 * time.Second},
		{"a client that waits longer", first, 0, 360 * time.Second, first},
		{"a Claude subscription", 240 * time.Second, 0, 360 * time.Second, 240 * time.Second},
		{"a short setting", 5 * time.Second, 0, 0, 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Budget(tt.first, tt.body, tt.givesUp); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestNearLimit(t *testing.T) {
	for waited, want := range map[time.Duration]bool{
		107 * time.Second: false, 108 * time.Second: true, 120 * time.Second: true, 132 * time.Second: true, 133 * time.Second: false,
	} {
		if got := NearLimit(waited, 120*time.Second); got != want {
			t.Errorf("%v: %v", waited, got)
		}
	}
	if NearLimit(time.Hour, 0) {
		t.Error("a limit that is not known")
	}
}
