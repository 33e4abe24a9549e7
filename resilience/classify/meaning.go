package classify

import (
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// The building blocks of the column "meaning".

func handedOn(reason outcome.Reason) meaning {
	return func(*facts) outcome.Outcome { return refuse(reason) }
}

// handedOnQuietly refuses the request and leaves the provider's breaker alone.
func handedOnQuietly(reason outcome.Reason) meaning {
	return func(*facts) outcome.Outcome {
		o := refuse(reason)
		o.SkipBreaker = true
		return o
	}
}

func movedOn(reason outcome.Reason) meaning {
	return func(*facts) outcome.Outcome { return elsewhere(reason) }
}

// cooled sets a fixed cooldown.
func cooled(reason outcome.Reason, wait time.Duration) meaning {
	return func(*facts) outcome.Outcome { return fixed(reason, wait) }
}

// ladder sets the stated wait, or else climbs the connection's ladder.
func ladder(reason outcome.Reason) meaning {
	return func(f *facts) outcome.Outcome { return f.retryable(reason) }
}

// window sets the stated wait, or else the usual length of the quota's window.
func window(length time.Duration) meaning {
	return func(f *facts) outcome.Outcome { return f.quota(length) }
}

// upstreamClosed: a gateway upstream believes that we left. No one is to blame,
// and if our client is still there another target serves it.
func upstreamClosed(*facts) outcome.Outcome {
	o := local(499, outcome.ReasonUpstreamLeft)
	o.Fallback = true
	return o
}

func notRunning(*facts) outcome.Outcome {
	o := fixed(outcome.ReasonServiceNotRunning, shortCooldown)
	o.SetsLevel = true
	o.SkipBreaker = true
	return o
}

func accountDisabled(*facts) outcome.Outcome {
	o := fixed(outcome.ReasonAuth, deactivatedFor)
	o.Permanent = true
	return o
}

// modelRests locks the model by its ladder: the server has no room for it, its
// other models serve (Q04).
func modelRests(f *facts) outcome.Outcome {
	if f.Status != 503 { // it means one on any status; a bare 500 would lock nothing
		f.Status, f.from = 503, f.Status
	}
	o := f.retryable(outcome.ReasonModelCapacity)
	o.Scope = outcome.ScopeModel
	o.SkipBreaker = true
	return o
}

// modelGone: the account's other models are still there.
func modelGone(*facts) outcome.Outcome {
	o := fixed(outcome.ReasonNotFound, modelGoneFor)
	o.Scope = outcome.ScopeModel
	o.QuotaResetHint = modelGoneFor
	return o
}

// modelRestsFixed locks a model that the upstream does not have: on a local
// server, where it may be pulled, for a short while.
func modelRestsFixed(f *facts) outcome.Outcome {
	o := fixed(outcome.ReasonNotFound, fixedCooldown)
	o.Scope = outcome.ScopeModel
	if f.local() {
		o.Cooldown = shortCooldown
	}
	return o
}

// modelNotServed is the verdict on a model that this connection does not serve:
// the next target is asked at once, nothing is cooled.
func modelNotServed(*facts) outcome.Outcome {
	o := fixed(outcome.ReasonModelCapacity, 0)
	o.Scope = outcome.ScopeModel
	return o
}

// outOfCredits is the verdict on an account without money.
func outOfCredits(*facts) outcome.Outcome {
	o := fixed(outcome.ReasonQuota, fixedCooldown)
	o.CreditsExhausted = true
	return o
}

// maxCreditWaits is how many stated waits may run out before words of credit
// are believed (ruling 57).
const maxCreditWaits = 2

// creditUntil: words of credit with a stated end are a rate limit until then,
// unless two such waits ran out before and nothing changed.
func creditUntil(f *facts) outcome.Outcome {
	if f.CreditWaits >= maxCreditWaits && !ownEndpoint(f) {
		return outOfCredits(f)
	}
	o := f.retryable(outcome.ReasonRateLimit)
	o.CreditWords = true
	return o
}

func geminiWindowOf(f *facts) outcome.Outcome {
	if geminiWindow(f.text, f.opt.LocalWindow) == "day" {
		return f.retryable(outcome.ReasonQuota)
	}
	return f.retryable(outcome.ReasonRateLimit)
}

// concurrencyLimited keeps the account's place on the ladder.
func concurrencyLimited(f *facts) outcome.Outcome {
	o := fixed(outcome.ReasonConcurrencyLimited, ConcurrencyLimitCooldown)
	if h, ok := f.hinted(); ok {
		o = stated(outcome.ReasonConcurrencyLimited, h)
		o.SetsLevel = false
	}
	o.SkipBreaker = true
	return o
}

// tokensPerDay roll on: only a header knows when enough are back.
func tokensPerDay(f *facts) outcome.Outcome {
	if f.stated.Source != hint.SourceHeader {
		return f.retryable(outcome.ReasonRateLimit)
	}
	o := stated(outcome.ReasonQuota, f.stated)
	o.DailyQuotaExhausted = true
	return o
}

func dailyQuota(f *facts) outcome.Outcome {
	o := f.quota(untilMidnight(f.Now))
	o.DailyQuotaExhausted = true
	return o
}

// untilMidnight returns the time to the next midnight where now is, within
// (0, 24 h]: the days on which clocks change must not stretch it.
func untilMidnight(now time.Time) time.Duration {
	y, m, d := now.Date()
	wait := time.Date(y, m, d+1, 0, 0, 0, 0, now.Location()).Sub(now)
	if wait <= 0 || wait > day {
		return day
	}
	return wait
}

// quotaUntil carries the reset in the body even when hints do not set the
// cooldown.
func quotaUntil(f *facts) outcome.Outcome {
	o := f.retryable(outcome.ReasonQuota)
	o.QuotaResetHint = hint.FromBody(f.hintInput(), f.body).Wait
	return o
}

// notAPIFor is the first rest of a connection that gave a page for an answer
// (ruling 56); the connection's state doubles it.
const notAPIFor = 5 * time.Second

func notAPIRests(*facts) outcome.Outcome {
	o := fixed(outcome.ReasonNotAPI, notAPIFor)
	o.SkipBreaker = true
	return o
}

func addressRests(*facts) outcome.Outcome {
	o := fixed(outcome.ReasonWrongAddress, fixedCooldown)
	o.SkipBreaker = true
	return o
}

func byRule(f *facts) outcome.Outcome {
	if f.ruled != nil {
		return *f.ruled
	}
	return f.applyRule(*f.rule)
}

func byRotation(f *facts) outcome.Outcome { return *f.ruled }

// byTable applies the line of the generic table. A time that a 429 states beats
// a fixed one (ruling 57).
func byTable(f *facts) outcome.Outcome {
	if _, hinted := f.hinted(); f.table.ladder || hinted && f.Status == 429 {
		return f.retryable(f.table.reason)
	}
	return fixed(f.table.reason, f.table.fixed)
}

// restsBase is what is not known at all: a base cooldown.
func restsBase(f *facts) outcome.Outcome { return fixed(outcome.ReasonUnknown, f.base()) }
