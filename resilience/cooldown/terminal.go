package cooldown

import (
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// ExpiredRetryMax is how often an expired credential is tried again before it
// stays expired (guide §2, EXPIRED_RETRY_MAX).
const ExpiredRetryMax = 3

// expiredRetryBase is the wait before the first retry; it doubles with each
// (sheet §3.12: 5, 10, 20 min).
const expiredRetryBase = 5 * time.Minute

// refreshMax caps the pause after token refreshes that failed.
const refreshMax = 4 * time.Hour

// RefreshPause is how long token refreshing pauses after n failures in a row:
// 5 min, doubling to 4 h (sheet §3.12).
func RefreshPause(n int) time.Duration {
	return settings.Backoff(expiredRetryBase, max(0, n-1), refreshMax)
}

// retryLeaseTime bounds a retry whose attempt never reports.
const retryLeaseTime = expiredRetryBase

type retryLease struct {
	out        bool
	since      time.Time
	generation uint64
}

// RetryDue returns when an expired credential may be tried again by one
// request, or the zero time when only a person or a connection test lifts the
// state.
func (s *State) RetryDue(now time.Time) time.Time {
	if s.Terminal() != outcome.Expired || s.Retries >= ExpiredRetryMax {
		return time.Time{}
	}
	wait := expiredRetryBase << s.Retries
	s.RetryAt = clock.Past(now, s.RetryAt)
	due := s.RetryAt.Add(wait)
	if s.retry.out {
		if since := s.retry.since; since.After(now) {
			s.retry.since = now
		}
		if left := retryLeaseTime - now.Sub(s.retry.since); left > 0 {
			return clock.Wall(now.Add(left))
		}
		s.retry = retryLease{generation: s.retry.generation + 1}
	}
	return due
}

// TakeRetry takes the one retry of an expired credential that is due, as a
// lease; the generation goes back with GiveBack.
func (s *State) TakeRetry(now time.Time) (generation uint64, ok bool) {
	due := s.RetryDue(now)
	if due.IsZero() || due.After(now) {
		return 0, false
	}
	s.retry.out, s.retry.since = true, now
	return s.retry.generation, true
}

// HoldsRetry reports whether the lease of this generation is still out.
func (s *State) HoldsRetry(generation uint64) bool {
	return s.retry.out && s.retry.generation == generation
}

// GiveBack returns a retry that proved nothing.
func (s *State) GiveBack(generation uint64) {
	if s.HoldsRetry(generation) {
		s.retry = retryLease{generation: generation + 1}
	}
}

// fall enters a terminal state; waiting does not cure it, so no deadline stays.
func (s *State) fall(now time.Time, t outcome.Terminal) {
	s.Status = string(t)
	s.Until, s.Span = time.Time{}, 0
	s.Retries, s.RetryAt = 0, time.Time{}
	if t == outcome.Expired {
		s.RetryAt = clock.Wall(now)
	}
	s.retry = retryLease{generation: s.retry.generation + 1}
}

// failRetry applies the failure of a retry. Another refusal of the credential
// counts; a clearer terminal state replaces expired; anything else proves
// nothing and only puts the next retry off.
func (s *State) failRetry(now time.Time, o outcome.Outcome) Effect {
	s.record(now, o)
	s.retry = retryLease{generation: s.retry.generation + 1}
	switch o.Terminal {
	case outcome.Banned, outcome.CreditsExhausted:
		s.fall(now, o.Terminal)
		return Effect{Terminal: o.Terminal, Written: true, Fell: true}
	case outcome.Expired:
		s.Retries++
	case outcome.NotTerminal:
	}
	s.RetryAt = clock.Wall(now)
	return Effect{Terminal: outcome.Expired, Written: true}
}

// streak counts consecutive 401 answers of an OAuth connection.
type streak struct {
	n     int
	until time.Time // end of the last cooldown
}

// The 401 ladder (sheet §3.13).
const (
	streakSteps = 16
	streakMax   = 2 * time.Minute
)

// unauthorized returns the cooldown of a 401 that is not terminal: a token
// about to be refreshed, which a short and growing wait outlives. The verdict
// may ask for more.
func (s *State) unauthorized(now time.Time, o outcome.Outcome, r Rules) time.Duration {
	if o.Status != 401 || !r.Refreshed || r.DisableCooling || o.UsedHint || o.HintSource == "rule" || o.ErrorType == "model_not_found" {
		return 0
	}
	n := s.AuthFailures(now)
	wait := max(o.Cooldown, settings.Backoff(r.Base, min(n, streakSteps), streakMax))
	s.streak = streak{n: n + 1, until: clock.Wall(now.Add(wait))}
	return wait
}
