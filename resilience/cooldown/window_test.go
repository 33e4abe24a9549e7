package cooldown

import (
	"testing"
	"time"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func at(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }

func TestPace(t *testing.T) {
	r := PaceRules{Min: 5 * time.Second, Max: 300 * time.Second}
	t.Run("case 54 grows with each failure", func(t *testing.T) {
		var p Pace
		for _, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
			p.Fail(t0)
			if left := p.Cooling(t0, r).Sub(t0); left != want*time.Second {
				t.Fatalf("left = %s, want %d s", left, want)
			}
		}
	})
	t.Run("case 56 stays below its maximum", func(t *testing.T) {
		var p Pace
		for range 10 {
			p.Fail(t0)
		}
		if left := p.Cooling(t0, PaceRules{Min: 5 * time.Second, Max: 20 * time.Second}).Sub(t0); left != 20*time.Second {
			t.Errorf("left = %s", left)
		}
		if left := p.Cooling(t0, PaceRules{Min: time.Second, Max: time.Hour}).Sub(t0); left != 512*time.Second {
			t.Errorf("left = %s, want 2^9 s", left)
		}
	})
	t.Run("case 58 a success on nothing", func(t *testing.T) {
		var p Pace
		p.Succeed()
		if !p.Cooling(t0, r).IsZero() || !p.Idle(t0, r) {
			t.Error("something was made of it")
		}
	})
	t.Run("case 59 kept for the longer of 30 min and the maximum", func(t *testing.T) {
		var p Pace
		p.Fail(t0)
		long := PaceRules{Min: 5 * time.Second, Max: time.Hour}
		if p.Idle(at(31*60), long) || !p.Idle(at(61*60), long) || !p.Idle(at(31*60), r) {
			t.Error("wrong retention")
		}
	})
	t.Run("a clock step shifts the end, never past the maximum", func(t *testing.T) {
		var p Pace
		p.Fail(t0)
		back := t0.Add(-3 * time.Hour)
		if left := p.Cooling(back, r).Sub(back); left != 5*time.Second {
			t.Errorf("left = %s", left)
		}
	})
}

func TestWindow(t *testing.T) {
	r := WindowRules{Threshold: 3, Window: time.Minute, Cooldown: 10 * time.Minute}
	t.Run("case 61 one failure cools no provider", func(t *testing.T) {
		// The sheet's row has the provider cool at once; the guide's window,
		// which comes first, wants the threshold.
		var w Window
		if _, tripped := w.Fail(t0, r); tripped || !w.Cooling(t0).IsZero() || w.Empty() {
			t.Error("it does")
		}
	})
	t.Run("the threshold-th within the window trips, and does not extend", func(t *testing.T) {
		var w Window
		w.Fail(t0, r)
		w.Fail(at(30), r)
		until, tripped := w.Fail(at(60), r)
		if !tripped || !until.Equal(at(660)) {
			t.Fatalf("tripped %v until %v", tripped, until)
		}
		if again, tripped := w.Fail(at(120), r); tripped || !again.Equal(until) {
			t.Errorf("extended to %v", again)
		}
		if !w.Cooling(at(660)).IsZero() {
			t.Error("cooling past its end")
		}
		w.Succeed()
		if !w.Empty() || !w.Cooling(at(120)).IsZero() {
			t.Error("a success left something")
		}
	})
	t.Run("older failures slide out", func(t *testing.T) {
		var w Window
		for i := range 10 {
			if _, tripped := w.Fail(at(31*float64(i)), r); tripped {
				t.Fatalf("tripped at the failure %d", i)
			}
		}
	})
	t.Run("clock steps", func(t *testing.T) {
		var w Window
		for range 3 {
			w.Fail(t0, r)
		}
		back := t0.Add(-3 * time.Hour)
		if left := w.Cooling(back).Sub(back); left != 10*time.Minute {
			t.Errorf("left = %s", left)
		}
		w = Window{}
		w.Fail(t0, r)
		w.Fail(back, r)
		if until, tripped := w.Fail(back, r); !tripped || until.Sub(back) != 10*time.Minute {
			t.Errorf("tripped %v, %v", tripped, until)
		}
	})
}
