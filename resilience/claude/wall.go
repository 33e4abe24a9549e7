package claude

import "time"

// The statuses that the lane has a say in.
const (
	statusLimited    = 429
	statusOverloaded = 529
)

// The values of the headers.
const (
	rejected  = "rejected"
	fiveHour  = "five_hour"
	isTrue    = "true"
	treatment = "treatment"
	control   = "control"
)

// laneWord is what the upstream says of the lane on an answer.
type laneWord string

// The words of slow-status. Other words are wordUnrecognized.
const (
	wordAbsent          laneWord = ""
	wordActive          laneWord = "active"
	wordNotNeeded       laneWord = "not_needed"
	wordBusy            laneWord = "slot_busy"
	wordWeeklyLimit     laneWord = "weekly_limit"
	wordBudgetExhausted laneWord = "budget_exhausted"
	wordIneligible      laneWord = "ineligible"
	wordOff             laneWord = "off"
	wordUnrecognized    laneWord = "unrecognized"
)

// slow reads the lane's status.
func (u *unified) slow() laneWord {
	switch s := laneWord(u[slowStatus]); s {
	case wordAbsent, wordActive, wordNotNeeded, wordBusy, wordWeeklyLimit, wordBudgetExhausted, wordIneligible, wordOff:
		return s
	default:
		return wordUnrecognized
	}
}

// offer reads the experiment's arm; other words are no offer.
func (u *unified) offer() string {
	switch s := u[slowOffer]; s {
	case treatment, control:
		return s
	default:
		return ""
	}
}

// atWall reports that the refusal is the subscription's wall and no burst.
func (u *unified) atWall() bool { return u[status] == rejected || u.offer() != "" }

// overage reports that paid overage covers the limit now.
func (u *unified) overage() bool { return u.slow() == wordIneligible && u[overageInUse] == isTrue }

// sessionWall reports that nothing but the five-hour window may have refused:
// only that one can be reset.
func (u *unified) sessionWall() bool { return u[claim] == "" || u[claim] == fiveHour }

// AtWall reports whether an answer is a refusal at the subscription's wall. A
// 429 of a burst carries no such headers.
func AtWall(code int, header map[string][]string) bool {
	if code != statusLimited {
		return false
	}
	u := readUnified(header)
	return u.atWall()
}

// untouchedBeyond is how far away the end must be for a client to see the
// wall.
const untouchedBeyond = 10 * time.Minute

// HandsOnWall reports whether the client gets the wall's own 429 untouched, so
// that it can say so itself: the login is the client's, nothing but the wall is
// left to wait for, and its end is far (ruling 42). Otherwise the headers that
// IsUnified names are taken off.
func HandsOnWall(now, end time.Time, passthrough, onlyWall bool) bool {
	return passthrough && onlyWall && end.Sub(now) > untouchedBeyond
}
