package combo

import "time"

// trust is how long a combo goes by a reading of an account's quota (sheet
// §1.3, resetAwareQuotaCacheTtlMs and the three beside it). The zero value goes
// by every reading, however old.
type trust struct{ ttl, maxStale time.Duration }

// trust returns what the configuration says for a strategy; only two of them
// have such settings.
func (c *Config) trust(n Name) trust {
	of := func(ttl, maxStale int) trust {
		return trust{time.Duration(ttl) * time.Millisecond, time.Duration(maxStale) * time.Millisecond}
	}
	switch n {
	case ResetAware:
		return of(c.ResetAwareCacheTTLMs, c.ResetAwareMaxStaleMs)
	case ResetWindow:
		return of(c.ResetWindowCacheTTLMs, c.ResetWindowMaxStaleMs)
	default:
		return trust{}
	}
}

// judge reports whether a reading still counts, and whether a newer one is
// wanted. One from the future, after the clock was set back, is as old as it is
// far away.
func (t trust) judge(now time.Time, q *Quota) (counts, renew bool) {
	if q == nil {
		return false, true
	}
	age := now.Sub(q.At).Abs()
	return age <= t.ttl+t.maxStale, age > t.ttl
}

// freshen forgets the readings that are too old to count and has those that
// are older than the combo likes renewed behind the request's back.
func (p *Planner) freshen(now time.Time, by trust, targets []*Target) {
	for _, t := range targets {
		if t.Kind == KindRef {
			continue // its own plan will tell
		}
		counts, renew := by.judge(now, t.Live.Quota)
		if !counts {
			t.Live.Quota = nil
		}
		if renew && p.Renew != nil {
			p.Renew(t)
		}
	}
}
