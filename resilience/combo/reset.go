package combo

import (
	"math"
	"time"
)

// The windows of subscription quotas.
const (
	SessionSpan = 5 * time.Hour
	WeekSpan    = 7 * 24 * time.Hour
	MonthSpan   = 30 * 24 * time.Hour
)

// counters are the turns of ties and tiers, by key.
var counters = newSlot[int](4000)

// nextTurn returns the count kept under key and adds one to it.
func nextTurn(st *State, key string) int {
	n := 0
	counters.do(st, key, func(v *int) bool {
		n = *v
		*v = (n + 1) & math.MaxInt32
		return true
	})
	return n
}

// resetAware prefers quota that would be lost unused: the fuller and the nearer
// its reset, the sooner it is spent. Targets close to the best take turns.
func resetAware(in *Input) []*Target {
	list := rank(in.Targets, func(t *Target) float64 { return in.Config.resetScore(t.Live.Quota, in.Now) })
	return take(in.Targets, in.takeTurns("reset-aware:", list, in.Config.ResetTieBandPercent/100))
}

// resetWindow prefers the window that resets first. Targets whose windows reset
// within the tie band take turns.
func resetWindow(in *Input) []*Target {
	list := rank(in.Targets, func(t *Target) float64 {
		return -t.Live.Quota.untilReset(in.Config.ResetWindows, in.Now)
	})
	band := time.Duration(in.Config.ResetWindowTieBandMs) * time.Millisecond
	return take(in.Targets, in.takeTurns("reset-window:", list, band.Seconds()))
}

// takeTurns rotates the head of a ranking: all within band of the best.
func (in *Input) takeTurns(prefix string, list []scored, band float64) []scored {
	if len(list) < 2 || math.IsInf(list[0].score, 0) {
		return list
	}
	n := 1
	for n < len(list) && list[0].score-list[n].score <= band+tiny {
		n++
	}
	if n < 2 {
		return list
	}
	turn := nextTurn(in.State, prefix+in.Combo) % n
	out := make([]scored, 0, len(list))
	return append(append(append(out, list[turn:n]...), list[:turn]...), list[n:]...)
}

// resetScore is the reset-aware score (sheet §1.9), from 0 to 1; unknown quota
// is worth a half, used up quota less than nothing.
func (c *Config) resetScore(q *Quota, now time.Time) float64 {
	if q == nil {
		return 0.5
	}
	if q.LimitReached {
		return math.Inf(-1)
	}
	s, w := q.Session.Remaining(now, q.overall()), q.Weekly.Remaining(now, q.overall())
	session := 0.45*s + 0.55*q.Session.urgency(now, SessionSpan)*(1-s)
	week := 0.25*w + 0.75*q.Weekly.urgency(now, WeekSpan)*(1-w)
	a, b := c.ResetSessionWeight, c.ResetWeeklyWeight
	if a+b <= 0 {
		a, b = defaultSessionWeight, defaultWeeklyWeight
	}
	score := (a*session + b*week) / (a + b)
	if guard := c.ResetGuardPercent / 100; guard > 0 && s < guard {
		score *= max(0.05, s/guard)
	}
	return score
}
