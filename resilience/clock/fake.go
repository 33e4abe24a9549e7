package clock

import (
	"sync"
	"time"
)

// Fake is a clock that stands still until it is moved. It may also be moved
// backwards, which a synctest bubble cannot do.
type Fake struct {
	mu  sync.Mutex
	now time.Time
}

// NewFake returns a clock that shows now.
func NewFake(now time.Time) *Fake { return &Fake{now: now} }

// Now returns the time the clock was set to.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Advance moves the clock by d, which may be negative.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// Set moves the clock to t.
func (f *Fake) Set(t time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = t
}
