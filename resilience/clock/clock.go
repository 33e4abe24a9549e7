// Package clock provides the only source of now for the resilience core.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time. Everything in resilience reads time through it; code
// that waits uses plain timers and is tested in a synctest bubble.
type Clock interface {
	Now() time.Time
}

// System is the wall clock of this machine.
type System struct{}

// Now returns the current time with its monotonic reading.
func (System) Now() time.Time { return time.Now() }

// Fast is a clock that can run ahead of another one: it may be moved forward
// at once and may run at a multiple of real speed. The demo uses it so that a
// breaker's minutes pass in seconds.
type Fast struct {
	base Clock

	mu    sync.Mutex
	from  time.Time // base time of the last change
	at    time.Time // our time at that moment
	speed float64
}

// NewFast returns a clock that starts at base's time and speed.
func NewFast(base Clock) *Fast {
	now := base.Now()
	return &Fast{base: base, from: now, at: now, speed: 1}
}

// Now returns the accelerated time.
func (f *Fast) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now(f.base.Now())
}

func (f *Fast) now(base time.Time) time.Time {
	return f.at.Add(time.Duration(float64(base.Sub(f.from)) * f.speed))
}

// Advance moves the clock forward by d at once.
func (f *Fast) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	base := f.base.Now()
	f.at, f.from = f.now(base).Add(d), base
}

// SetSpeed makes the clock run at speed times the base clock from now on.
// A speed of zero or less is ignored.
func (f *Fast) SetSpeed(speed float64) {
	if speed <= 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	base := f.base.Now()
	f.at, f.from, f.speed = f.now(base), base, speed
}

// Speed returns how many seconds pass in one second of the base clock.
func (f *Fast) Speed() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.speed
}

// Real converts a time of this clock to the base clock's time: the moment at
// which this clock will show t if its speed stays as it is. The zero time
// stays zero.
func (f *Fast) Real(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	base := f.base.Now()
	ahead := t.Sub(f.now(base))
	return base.Add(time.Duration(float64(ahead) / f.speed))
}
