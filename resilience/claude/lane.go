package claude

import (
	"math"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/hint"
)

// The figures of the lane (guide "Límite de uso de Claude OAuth", Claude sheet
// §1.3).
const (
	defaultRetryAfter = 20 * time.Second
	minRetryAfter     = 5 * time.Second
	maxRetryAfter     = 600 * time.Second
	defaultMaxWait    = 20 * time.Minute
	minMaxWait        = time.Minute
	maxMaxWait        = 6 * time.Hour
	jitter            = 0.3
	resetGrace        = 60 * time.Second
	rolloverTolerance = 60 * time.Second
	coolOff           = 600 * time.Second
	budgetMemory      = 8 * 24 * time.Hour
	startMargin       = 5 * time.Second
)

// EndReason is why a lane ended.
type EndReason string

// The reasons.
const (
	NotEnded      EndReason = ""
	EndReset      EndReason = "reset"
	EndWeekly     EndReason = "weekly"
	EndBudget     EndReason = "budget"
	EndOff        EndReason = "off"
	EndIneligible EndReason = "ineligible"
	EndWall       EndReason = "wall"
	EndMaxWait    EndReason = "max_wait"
	EndExtraUsage EndReason = "extra_usage"
	EndOperator   EndReason = "operator"
)

// endings maps the statuses that end the lane on a 429.
var endings = map[laneWord]EndReason{
	wordWeeklyLimit: EndWeekly, wordBudgetExhausted: EndBudget, wordOff: EndOff, wordIneligible: EndIneligible,
}

// lane is the state of one key. It is a value machine: Lanes serialises the
// calls.
type lane struct {
	active bool
	// term counts the acceptances, so that a wait which began in an earlier lane
	// is not continued.
	term   uint64
	since  time.Time // accepted, or ended
	reason EndReason // why it last ended
	resets time.Time // the reset that was announced at acceptance
	end    deadline  // that reset and the grace

	retryAfter, maxWait time.Duration
	served, standard    int
	used                float64 // of the lane's budget
	usedKnown           bool

	budget  deadline // no acceptance before: the budget is spent
	cooling deadline // no acceptance before: a wait was too long
}

// expire ends a lane whose window has been reset, when it is read.
func (l *lane) expire(now time.Time) bool {
	if !l.active || l.end.holds(now) {
		return false
	}
	l.stop(l.end.until, EndReset)
	return true
}

// accept is the activation test (sheet §1.5) and, if all of it holds, the
// acceptance.
func (l *lane) accept(now time.Time, u *unified) bool {
	resets := u.moment(reset, fiveReset)
	if l.active || u.offer() != treatment || l.budget.holds(now) || l.cooling.holds(now) || !resets.After(now) {
		return false
	}
	l.active, l.term, l.since, l.reason = true, l.term+1, clock.Wall(now), NotEnded
	l.resets, l.end = resets, stated(now, resets.Add(resetGrace), hint.MaxUnified+resetGrace)
	l.retryAfter, l.maxWait = defaultRetryAfter, defaultMaxWait
	l.hints(u)
	l.clearCounts()
	return true
}

func (l *lane) clearCounts() { l.served, l.standard, l.used, l.usedKnown = 0, 0, 0, false }

// hints takes over what an answer says about waiting; what it does not say
// stays.
func (l *lane) hints(u *unified) {
	if d, ok := u.seconds(slowRetryAfter, minRetryAfter, maxRetryAfter); ok {
		l.retryAfter = d
	}
	if d, ok := u.seconds(slowMaxWait, minMaxWait, maxMaxWait); ok {
		l.maxWait = d
	}
	if f, ok := u.share(slowUsed); ok {
		l.used, l.usedKnown = f, true
	}
}

// spend remembers until when the lane's budget is used up.
func (l *lane) spend(now time.Time, u *unified) {
	at := u.moment(slowReset, weekReset)
	if at.IsZero() {
		return
	}
	d := stated(now, at, budgetMemory)
	d.until = d.until.Round(time.Second)
	l.budget = d
}

// rolledOver reports that the answer belongs to a later five-hour window.
func (l *lane) rolledOver(u *unified) bool {
	at := u.moment(fiveReset)
	return !at.IsZero() && !at.Before(l.resets.Add(rolloverTolerance))
}

// stop ends the lane at a moment.
func (l *lane) stop(at time.Time, reason EndReason) {
	l.active, l.since, l.reason = false, clock.Wall(at), reason
	l.clearCounts()
	if reason == EndMaxWait {
		l.cooling = lasting(at, coolOff)
	}
}

// pause is how long to wait before the next try; r lies in 0 to 1.
func (l *lane) pause(r float64) time.Duration {
	ms := math.Round(float64(l.retryAfter.Milliseconds()) * (1 + (r*2-1)*jitter))
	return time.Duration(max(0, ms)) * time.Millisecond
}
