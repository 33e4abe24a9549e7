package resilience

import (
	"time"

	"breakwater/resilience/claude"
	"breakwater/resilience/outcome"
)

// Last returns the last of the failures, nil when there are none.
func Last(failures []Failure) *Failure {
	if len(failures) == 0 {
		return nil
	}
	return &failures[len(failures)-1]
}

// Forwardable returns the upstream's refusal that says more than an answer of
// ours could: that something is wrong with the request for this model or, last
// of all, with the login that the client sent itself (ruling 43); nil for none.
func Forwardable(failures []Failure) *Failure {
	for i := range failures {
		f := &failures[i]
		unknownModel := f.Outcome.Status == statusNotFound || f.Outcome.Status == statusGone
		if f.Answered() && (f.RefusesRequest() || unknownModel) {
			return f
		}
	}
	return ownLoginRefused(failures)
}

// ForwardableFromCombo does the same for a combo: what is wrong with the
// request, when all that failed said so (combos sheet §2.9, "all model 4xx"), or
// the refusal of the client's own login.
func ForwardableFromCombo(failures []Failure, stop Stop) *Failure {
	if stop == StopAttempts || stop == StopTimeout {
		return nil
	}
	for i := range failures {
		if f := &failures[i]; !f.Answered() || f.Kind() != KindModel {
			return ownLoginRefused(failures)
		}
	}
	return Last(failures)
}

// ownLoginRefused is the refusal of the client's own login, when nothing was
// tried after it (ruling 43).
func ownLoginRefused(failures []Failure) *Failure {
	last := Last(failures)
	if last != nil && last.Answered() && last.Passthrough && AuthStatus(last.Outcome.Status) {
		return last
	}
	return nil
}

// ForwardsWall reports whether a limit of the client's own subscription goes to
// the client as it came, given how long it lasts: the client can say so itself,
// with the end of it (ruling 42).
func ForwardsWall(wait time.Duration) bool {
	var now time.Time
	return claude.HandsOnWall(now, now.Add(wait), true, true)
}

// SubscriptionWalls returns the failures that are limits of the client's own
// subscription; ok is false when something failed that no waiting cures.
func SubscriptionWalls(failures []Failure) (walls []*Failure, ok bool) {
	for i := range failures {
		switch f := &failures[i]; {
		case f.SubscriptionWall():
			walls = append(walls, f)
		case !f.Limited():
			return walls, false
		}
	}
	return walls, true
}

// Merged is the one answer made of those that the targets of a combo gave.
type Merged struct {
	Status    int
	Code      string
	QuotaOnly bool // every target's quota is used up
	LimitOnly bool // every target was rate limited
}

// Merge makes one status of those that the targets gave (combos sheet §2.9).
// failures is not empty. A refused key is never handed on (ruling 43).
func Merge(failures []Failure) Merged {
	last := Last(failures)
	kinds := map[FailureKind]bool{}
	m := Merged{Status: last.Outcome.Status, Code: last.Cause(), QuotaOnly: true}
	for i := range failures {
		kinds[failures[i].Kind()] = true
		m.QuotaOnly = m.QuotaOnly && failures[i].Outcome.Reason == outcome.ReasonQuota
	}
	one := len(kinds) == 1
	m.LimitOnly = one && kinds[KindLimit]
	switch {
	case one && m.Status > 0:
	case kinds[KindTimeout]:
		m.Status = statusGatewayTimeout
	default:
		m.Status = statusBadGateway
	}
	switch {
	case AuthStatus(m.Status), one && kinds[KindQuality]:
		m.Status = statusBadGateway
	case m.Status == statusOverloaded: // clients give up on it (ruling 41)
		m.Status = statusUnavailable
	}
	return m
}
