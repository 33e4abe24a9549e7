package lockout

import (
	"time"

	"breakwater/resilience/clock"
)

// The ladder of refused requests (ruling 13): 5, 15, 45, then 60 minutes.
const (
	rejectedBase   = 5 * time.Minute
	rejectedMax    = time.Hour // REQUEST_REJECTED_MAX_COOLDOWN_MS
	rejectedWindow = 24 * time.Hour
)

// rejection counts the refusals of one model's requests by an account that is
// otherwise well. They never become a ban (guide §2).
type rejection struct {
	n     int
	last  time.Time // when the last counted one came
	until time.Time
}

// Reject counts a refusal and returns how long the model is left alone. One
// that comes while it still is, from a request already under way, is not
// counted and only gets the rest. Without a model the caller cools the
// connection instead.
func (s *Set) Reject(now time.Time, model string) (wait time.Duration, counted bool) {
	r := s.rejected[model]
	if r.until.After(now) && !clock.Stepped(now, r.until, rejectedMax) {
		return r.until.Sub(now), false
	}
	r.last = clock.Past(now, r.last)
	if r.n == 0 || now.Sub(r.last) >= rejectedWindow {
		r.n = 0
	}
	r.n++
	wait = rejectedWait(r.n)
	r.last, r.until = clock.Wall(now), clock.Wall(now.Add(wait))
	if s.rejected == nil {
		s.rejected = map[string]rejection{}
	}
	s.rejected[model] = r
	if model != "" {
		s.Fail(now, Failure{
			Model: model, Reason: ReasonRequestRejected, Scope: Exact, HasScope: true,
			Exact: wait, Verified: true,
		}, Rules{})
	}
	return wait, true
}

// Rejections returns how many refusals in a row the next one would continue.
func (s *Set) Rejections(now time.Time, model string) int {
	r := s.rejected[model]
	if r.n == 0 || now.Sub(r.last) >= rejectedWindow {
		return 0
	}
	return r.n
}

func rejectedWait(n int) time.Duration {
	d := rejectedBase
	for ; n > 1 && d < rejectedMax; n-- {
		d *= 3
	}
	return min(d, rejectedMax)
}

// The streak of streams that broke after their first output (sheet §3.11,
// step 14): only the third within the window says something about the model.
const (
	cutThreshold = 3
	cutWindow    = 10 * time.Minute
)

type cut struct {
	n     int
	first time.Time
}

// Cut counts a stream that broke after output had begun, and reports whether
// that is often enough to lock the model.
func (s *Set) Cut(now time.Time, model string) bool {
	c := s.cuts[model]
	if s.Cuts(now, model) == 0 {
		c = cut{first: clock.Wall(now)}
	}
	c.n++
	if s.cuts == nil {
		s.cuts = map[string]cut{}
	}
	s.cuts[model] = c
	return c.n >= cutThreshold
}

// Cuts returns how many streams of the model broke within the window.
func (s *Set) Cuts(now time.Time, model string) int {
	c := s.cuts[model]
	if now.Sub(clock.Past(now, c.first)) >= cutWindow {
		return 0
	}
	return c.n
}
