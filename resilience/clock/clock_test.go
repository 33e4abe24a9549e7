package clock

import (
	"testing"
	"time"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func TestFake(t *testing.T) {
	f := NewFake(t0)
	f.Advance(-time.Hour)
	if !f.Now().Equal(t0.Add(-time.Hour)) {
		t.Errorf("now = %v", f.Now())
	}
	f.Set(t0)
	if !f.Now().Equal(t0) {
		t.Errorf("now = %v", f.Now())
	}
}

func TestFast(t *testing.T) {
	base := NewFake(t0)
	f := NewFast(base)
	f.SetSpeed(60)
	f.SetSpeed(0) // ignored
	base.Advance(time.Second)
	if got := f.Now().Sub(t0); got != time.Minute || f.Speed() != 60 {
		t.Errorf("after a second %s have passed at speed %v", got, f.Speed())
	}
	f.Advance(time.Hour)
	if got := f.Now().Sub(t0); got != time.Hour+time.Minute {
		t.Errorf("after a jump %s have passed", got)
	}
	if got := f.Real(f.Now().Add(2 * time.Minute)).Sub(base.Now()); got != 2*time.Second {
		t.Errorf("two minutes ahead are %s of real time", got)
	}
	if !f.Real(time.Time{}).IsZero() {
		t.Error("no time became one")
	}
}

func TestWallTime(t *testing.T) {
	now := System{}.Now()
	if w := Wall(now); !w.Equal(now) || w.Location() != time.UTC || w.String() != w.Round(0).String() {
		t.Errorf("wall time = %v", w)
	}
	for ahead, want := range map[time.Duration]bool{0: false, time.Minute: false, time.Minute + Slew: false, time.Minute + Slew + 1: true} {
		if got := Stepped(t0, t0.Add(ahead), time.Minute); got != want {
			t.Errorf("%s ahead for a span of a minute: %v", ahead, got)
		}
	}
	for ahead, want := range map[time.Duration]time.Duration{-time.Hour: -time.Hour, Slew: Slew, time.Hour: 0} {
		if got := Past(t0, t0.Add(ahead)).Sub(t0); got != want {
			t.Errorf("%s ahead becomes %s", ahead, got)
		}
	}
}
