package admission

import (
	"context"
	"time"

	"breakwater/resilience/settings"
)

// WaitMargin is added to every wait, so that it does not end a moment before
// what it waits for (sheet §3).
const WaitMargin = 50 * time.Millisecond

// Hold is what keeps one target back: a lock of its model, a cooldown of its
// connection or an open breaker.
type Hold struct {
	Reason string
	Left   time.Duration // not positive: it has run out, or no timer ends it
}

// CircuitOpen is the reason of a Hold that is an open breaker.
const CircuitOpen = "circuit_open"

// Transient reports whether a wait is worth it: the reasons that pass by
// themselves soon. Quota, credentials and what does not exist never do (guide
// §4). The classifier's word for a rate limit counts like the sheet's (sheet
// §9, 2).
func Transient(reason string) bool {
	switch reason {
	case "rate_limit", "rate_limited", "rate_limit_exceeded", "transient", "overloaded", "server_error":
		return true
	default:
		return false
	}
}

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
	Reason string        // of the hold that is waited for
	Why    Refused
}

// Decide says whether a combo's request waits for a hold of the given reason
// that ends after wait (sheet §3). All upper bounds are inclusive.
func Decide(reason string, wait time.Duration, spent Spent, s settings.ComboCooldownWait) Decision {
	d := Decision{For: max(0, wait), Reason: reason}
	if !Transient(reason) {
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
// said when to come back: hint is the earliest such moment, 0 for none. holds
// looks up the targets, each with its own model, and is not called when waits
// are off. The wait ends with the first hold that passes by itself, and not
// before the hint.
func AfterDispatch(holds func() []Hold, hint time.Duration, spent Spent, s settings.ComboCooldownWait) Decision {
	if !s.Enabled {
		return Decision{Why: WaitsOff}
	}
	h, ok := first(holds(), Transient)
	if !ok {
		return Decision{Why: NothingToWait, Reason: h.Reason}
	}
	return Decide(h.Reason, max(h.Left, hint)+WaitMargin, spent, s)
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
func BeforeDispatch(holds []Hold, spent Spent, s settings.ComboCooldownWait) Skipped {
	out := Skipped{Code: CodeAllSkipped, Status: 503}
	h, ok := first(holds, func(reason string) bool { return reason == CircuitOpen || Transient(reason) })
	if !ok {
		out.Decision = Decision{Why: NothingToWait, Reason: h.Reason}
		return out
	}
	reason := h.Reason
	if reason == CircuitOpen {
		reason = "transient"
	}
	out.Decision = Decide(reason, h.Left+WaitMargin, spent, s)
	out.Reason = h.Reason
	if lock, ok := first(holds, Transient); ok {
		out.Code, out.Status, out.RetryAfter = CodeRateLimit, 429, lock.Left
	} else {
		out.Code, out.RetryAfter = CodeAllCooling, h.Left
	}
	return out
}

// first returns the hold that ends first among those whose reason counts. When
// there is none it returns the first of all others, for its reason.
func first(holds []Hold, counts func(reason string) bool) (h Hold, ok bool) {
	for _, x := range holds {
		if x.Left <= 0 {
			continue
		}
		c := counts(x.Reason)
		if h.Left <= 0 || c && !ok || c == ok && x.Left < h.Left {
			h, ok = x, c
		}
	}
	return h, ok
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
