package admission

import (
	"context"
	"time"

	"breakwater/resilience/exclusion"
	"breakwater/resilience/settings"
)

// WaitMargin is added to every wait, so that it does not end a moment before
// what it waits for (sheet §3).
const WaitMargin = 50 * time.Millisecond

// Spent is what a request has used of its waits.
type Spent struct {
	Attempts int
	Time     time.Duration
	// Client is how long the client can still be held, 0 for as long as needed
	// (ruling 45: what cannot be kept alive with heartbeats ends with its
	// profile's limit).
	Client time.Duration
}

// Add counts a wait that was made.
func (s *Spent) Add(d time.Duration) {
	s.Attempts++
	s.Time += d
	if s.Client > 0 {
		s.Client = max(1, s.Client-d)
	}
}

// Refused says why a request does not wait.
type Refused string

// The reasons not to wait.
const (
	NotRefused    Refused = ""
	NothingToWait Refused = "nothing_to_wait_for"
	WaitsOff      Refused = "disabled"
	NotTransient  Refused = "reason"
	TooLong       Refused = "max_wait"
	TooManyWaits  Refused = "max_attempts"
	BudgetSpent   Refused = "budget"
	ClientLimit   Refused = "client"
)

// Decision is whether a request waits, how long, and what for.
type Decision struct {
	Wait   bool
	For    time.Duration // told also when it is not waited
	Reason string        // what is waited for
	Why    Refused
}

// Decide says whether a combo's request waits for an exclusion of the given
// cause that ends after wait (sheet §3). All upper bounds are inclusive.
func Decide(reason string, wait time.Duration, spent Spent, s settings.ComboCooldownWait) Decision {
	d := Decision{For: max(0, wait), Reason: reason}
	if !exclusion.Transient(reason) {
		d.Why = NotTransient
		if !s.Enabled {
			d.Why = WaitsOff
		}
		return d
	}
	return d.within(limits{s.Enabled, millis(s.MaxWaitMs), int(s.MaxAttempts), millis(s.BudgetMs)}, spent)
}

// DecideDirect says the same for a request for a single model, waitForCooldown.
// What it waits for is a connection's cooldown, whatever caused it.
func DecideDirect(wait time.Duration, spent Spent, s settings.WaitForCooldown) Decision {
	d := Decision{For: max(0, wait)}
	return d.within(limits{s.Enabled, millis(s.MaxRetryWaitMs()), int(s.MaxRetries), millis(s.BudgetMs)}, spent)
}

type limits struct {
	on       bool
	wait     time.Duration
	attempts int
	budget   time.Duration
}

func (d Decision) within(l limits, spent Spent) Decision {
	switch {
	case !l.on || l.wait <= 0 || l.attempts <= 0:
		d.Why = WaitsOff
	case d.For <= 0:
		d.Why = NothingToWait
	case d.For > l.wait:
		d.Why = TooLong
	case spent.Attempts >= l.attempts:
		d.Why = TooManyWaits
	case d.For > l.budget-spent.Time:
		d.Why = BudgetSpent
	case spent.Client > 0 && d.For > spent.Client:
		d.Why = ClientLimit
	default:
		d.Wait = true
	}
	return d
}

// AfterDispatch decides once every target of a combo was tried and at least one
// said when to come back: hint is the earliest such moment, 0 for none. excluded
// looks up the targets, each with its own model, and is not called when waits
// are off. The wait ends with the first exclusion that passes by itself, an open
// breaker included, and not before the hint.
func AfterDispatch(now time.Time, excluded func() []exclusion.Exclusion, hint time.Duration, spent Spent, s settings.ComboCooldownWait) Decision {
	if !s.Enabled {
		return Decision{Why: WaitsOff}
	}
	e, ok := first(now, excluded(), func(e exclusion.Exclusion) bool { return e.Open() || e.Transient() })
	if !ok {
		return Decision{Why: NothingToWait, Reason: e.Cause()}
	}
	return Decide(waitCause(e), max(e.Left(now), hint)+WaitMargin, spent, s)
}

// waitCause is the word for what is waited for: an open breaker passes by itself
// like a transient lock.
func waitCause(e exclusion.Exclusion) string {
	if e.Open() {
		return exclusion.CauseTransient
	}
	return e.Cause()
}

// Skipped is the answer to a request none of whose targets was tried.
type Skipped struct {
	Decision
	// Code, and Status with it, is the answer when there is no waiting.
	Code   string
	Status int
	// RetryAfter is when the first transient hold ends, 0 when the answer gives
	// no hint; retry_after and reset_at are made of it.
	RetryAfter time.Duration
}

// The codes of the answers to a request that was not dispatched (sheet §2.9).
const (
	CodeRateLimit  = "rate_limit_error"
	CodeAllCooling = "all_targets_cooling_down"
	CodeAllSkipped = "ALL_TARGETS_SKIPPED"
)

// BeforeDispatch decides when every target of a combo was skipped before any
// attempt: by an open breaker, or by a short transient lock of its model
// (#16319). Locks for quota, credentials or what does not exist are neither
// waited for nor hinted at.
func BeforeDispatch(now time.Time, excluded []exclusion.Exclusion, spent Spent, s settings.ComboCooldownWait) Skipped {
	out := Skipped{Code: CodeAllSkipped, Status: 503}
	e, ok := first(now, excluded, func(e exclusion.Exclusion) bool { return e.Open() || e.Transient() })
	if !ok {
		out.Decision = Decision{Why: NothingToWait, Reason: e.Cause()}
		return out
	}
	out.Decision = Decide(waitCause(e), e.Left(now)+WaitMargin, spent, s)
	out.Reason = e.Cause()
	if lock, ok := first(now, excluded, exclusion.Exclusion.Transient); ok {
		out.Code, out.Status, out.RetryAfter = CodeRateLimit, 429, lock.Left(now)
	} else {
		out.Code, out.RetryAfter = CodeAllCooling, e.Left(now)
	}
	return out
}

// first returns the exclusion that ends first among those that count. When there
// is none it returns the first of all others, for its reason.
func first(now time.Time, excluded []exclusion.Exclusion, counts func(exclusion.Exclusion) bool) (e exclusion.Exclusion, ok bool) {
	for _, x := range excluded {
		left := x.Left(now)
		if left <= 0 {
			continue
		}
		c := counts(x)
		if e.Left(now) <= 0 || c && !ok || c == ok && left < e.Left(now) {
			e, ok = x, c
		}
	}
	return e, ok
}

// Sleep waits for d, or returns the cause of ctx when that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
