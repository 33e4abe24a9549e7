package cooldown

import (
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// The rests after an answer that is not the API's (ruling 56).
const (
	pageBase = 5 * time.Second
	pageMax  = 5 * time.Minute
)

// So many plain refusals in a row, the first and the last so far apart, make a
// connection need attention (ruling 62).
const (
	attentionCount = 3
	attentionSpan  = 10 * time.Minute
)

// Refusals are the plain refusals (403) in a row that nothing has disproved.
type Refusals struct {
	Count int
	Since time.Time // of the first, wall time
}

// Attention is what a connection says that refuses again and again without a
// reason that can be acted on: it is asked last. The zero value is none.
type Attention struct {
	Since time.Time // wall time
	Words string    // of the last plain refusal, cleaned
}

// Needed reports whether the connection needs attention.
func (a Attention) Needed() bool { return !a.Since.IsZero() }

// Misplaced reports whether the connection rests because its address is wrong.
func (s *State) Misplaced() bool { return s.Status == WrongAddress }

// misplace rests the connection until its address changes or a test passes.
func (s *State) misplace() {
	s.Status = WrongAddress
	s.Until, s.Span = time.Time{}, 0
}

// Moved lifts what a former address was found guilty of: a wrong address, and
// the rest after pages. It reports whether there was any of that.
func (s *State) Moved() bool {
	if !s.Misplaced() && s.Reason != outcome.ReasonNotAPI && s.pages == 0 {
		return false
	}
	if s.Terminal() != outcome.NotTerminal {
		return false
	}
	s.pages = 0
	if s.Misplaced() || s.Reason == outcome.ReasonNotAPI {
		s.Status, s.Until, s.Span = Active, time.Time{}, 0
		s.ErrorCode, s.ErrorType, s.Reason, s.ErrorAt = 0, "", outcome.ReasonNone, time.Time{}
		s.Source, s.RawHint, s.Words = "", "", ""
	}
	return true
}

// page returns the rest after an answer that is not the API's and climbs a rung
// of its ladder. A wait that was stated is not cut short.
func (s *State) page(o outcome.Outcome) time.Duration {
	wait := settings.Backoff(pageBase, s.pages, pageMax)
	if wait < pageMax {
		s.pages++
	}
	if o.UsedHint {
		wait = max(wait, o.Cooldown)
	}
	return wait
}

// refused counts the plain refusals in a row and reports whether this one makes
// the connection need attention. A fault of the provider or of the way to it is
// no answer of the account, so it does not end the row.
func (s *State) refused(now time.Time, o outcome.Outcome) (alarmed bool) {
	switch {
	case o.PlainRefusal():
	case o.Network, o.Status >= 500, o.Reason == outcome.ReasonNotAPI:
		return false
	default:
		s.Refusals = Refusals{}
		return false
	}
	r := &s.Refusals
	if r.Since = clock.Past(now, r.Since); r.Count == 0 {
		r.Since = clock.Wall(now)
	}
	r.Count++
	switch {
	case s.Attention.Needed():
		s.Attention.Words = o.Words
	case r.Count >= attentionCount && now.Sub(r.Since) >= attentionSpan:
		s.Attention = Attention{Since: clock.Wall(now), Words: o.Words}
		return true
	}
	return false
}
