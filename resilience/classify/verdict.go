package classify

import (
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// refuse is the verdict on a request that no other target would answer better.
func refuse(reason outcome.Reason) outcome.Outcome {
	return outcome.Outcome{Class: outcome.Neutral, Scope: outcome.ScopeRequest, Reason: reason}
}

// elsewhere is the verdict on a request that this model cannot serve but
// another target may: nobody is to blame.
func elsewhere(reason outcome.Reason) outcome.Outcome {
	return outcome.Outcome{Class: outcome.Neutral, Scope: outcome.ScopeModel, Reason: reason, Fallback: true}
}

// fixed is a failure with a set cooldown that leaves the ladder alone.
func fixed(reason outcome.Reason, cooldown time.Duration) outcome.Outcome {
	return outcome.Outcome{
		Class: outcome.Failure, Scope: outcome.ScopeConnection, Reason: reason,
		Fallback: true, Cooldown: cooldown,
	}
}

// stated is a failure whose end the upstream gave; it sets the ladder back.
func stated(reason outcome.Reason, h hint.Hint) outcome.Outcome {
	o := fixed(reason, h.Wait)
	o.SetsLevel = true
	o.UsedHint = true
	o.HintSource = h.Source
	o.RawHint = h.Raw
	return o
}

// retryable is a failure that time cures: the upstream's hint, else the
// operator's delay for a rate limit, else the ladder (guide §2, "Precedencia").
func (f *facts) retryable(reason outcome.Reason) outcome.Outcome {
	if h, ok := f.hinted(); ok {
		return stated(reason, h)
	}
	if d := f.delay(); d > 0 && reason == outcome.ReasonRateLimit {
		o := fixed(reason, d)
		o.SetsLevel = true
		return o
	}
	cooldown, level := f.ladder(reason)
	o := fixed(reason, cooldown)
	o.SetsLevel, o.Level = true, level
	f.climbed = true
	return o
}

// ladder returns base·2^level, capped, and the next level (sheet §3.2).
func (f *facts) ladder(reason outcome.Reason) (time.Duration, int) {
	base, steps, limit := f.Profile.BaseCooldown, f.Profile.MaxBackoffSteps, f.lockoutMax()
	if f.Profile.Name == "" {
		base, steps, limit = shortCooldown, noProfileMaxLevel, noProfileCap
		if reason == outcome.ReasonRateLimit || reason == outcome.ReasonQuota {
			base = noProfileRateBase
		}
	}
	level := max(f.Level, 0)
	return settings.Backoff(base, min(level, steps), limit), min(level+1, steps)
}

// base is the connection's first cooldown, for failures that do not climb.
func (f *facts) base() time.Duration {
	if f.Profile.Name == "" {
		return shortCooldown
	}
	return min(f.Profile.BaseCooldown, f.lockoutMax())
}

// lockoutMax is the cap of a guessed wait.
func (f *facts) lockoutMax() time.Duration {
	if f.opt.LockoutMax > 0 {
		return f.opt.LockoutMax
	}
	return defaultLockoutMax
}

// quota is a failure that ends when the upstream says so, or else after the
// usual length of the window.
func (f *facts) quota(window time.Duration) outcome.Outcome {
	if h, ok := f.hinted(); ok {
		return stated(outcome.ReasonQuota, h)
	}
	o := fixed(outcome.ReasonQuota, window)
	if f.stated.Stated {
		o.QuotaResetHint = f.stated.Wait
	}
	return o
}

// rejectedCooldown returns the wait after the n-th refusal in a row of one
// connection and model: 5, 15, 45, then 60 minutes (ruling 13).
func rejectedCooldown(n int) time.Duration {
	d := requestRejected
	for ; n > 1 && d < RequestRejectedMaxCooldown; n-- {
		d *= 3
	}
	return min(d, RequestRejectedMaxCooldown)
}

// rejected is the verdict on a refusal of this very request by an account that
// is otherwise well: it never becomes a ban (ruling 13).
func (f *facts) rejected(o outcome.Outcome) outcome.Outcome {
	r := fixed(outcome.ReasonRequestRejected, rejectedCooldown(f.Rejections+1))
	r.Status, r.ErrorType, r.Row, r.Words = o.Status, o.ErrorType, o.Row, o.Words
	r.RestatedFrom, r.ClientRetryAfter = o.RestatedFrom, o.ClientRetryAfter
	f.climbed = false
	if f.Model != "" {
		r.Scope = outcome.ScopeModel
	}
	return r
}
