package resilience

import (
	"slices"
	"strconv"
	"time"

	"breakwater/resilience/classify"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
)

// EndsRequest reports whether a failure of a request for a single model ends
// it: no other connection would mend it.
func EndsRequest(f *Failure) bool { return !f.Outcome.Fallback }

// EndsCombo reports whether a failure ends a request for a combo: only what
// every target would refuse (combos sheet §2.5).
func EndsCombo(f *Failure) bool {
	switch f.Outcome.Status {
	case statusBadRequest:
		return classify.OnBadRequest(f.Body) == classify.StopHere
	case statusNotFound, statusUnprocessable:
		return false
	}
	return EndsRequest(f)
}

// exhaustionOf says what a failure means for the rest of a combo's targets
// (combos sheet §2.5, column "Exhaustion set").
func exhaustionOf(f *Failure) combo.FailureClass {
	o := &f.Outcome
	switch {
	case f.Code == CodeEarlyEOF, f.Code == codeNotReady:
		return combo.MarksConnection
	case o.Class != outcome.Failure, o.Scope == outcome.ScopeRequest, o.Scope == outcome.ScopeLocal,
		o.Reason == outcome.ReasonEmptyAnswer:
		return combo.MarksNothing
	case o.Reason == outcome.ReasonQuota, o.Status == statusPaymentRequired:
		return combo.MarksProvider
	case o.Status == statusTooManyRequests:
		return combo.MarksTransient
	case o.Status == statusNotFound, o.Status == statusUnprocessable, o.Status == statusOverloaded:
		return combo.MarksNothing
	}
	return combo.MarksConnection
}

// Stop is why the walk over a combo's targets ends before its last target
// (combos sheet §2.1, terminal reasons).
type Stop string

// The reasons.
const (
	NotStopped    Stop = ""
	StopAttempts  Stop = "max_attempts_exceeded"
	StopTimeout   Stop = "combo_timeout"
	StopProtected Stop = "protected_target"
	StopIdentical Stop = "identical_errors"
	StopRequest   Stop = "request_invalid"
)

// maxIdentical is how many identical failures in a row end a walk.
const maxIdentical = 3

// Pass is what one walk over a combo's targets has used up. Each retry of the
// set begins with the zero value.
type Pass struct {
	Stop Stop
	Sent int // attempts that were sent

	used   combo.Exhaustion
	failed map[string]bool // models that this request has failed on
	// tooLong tells that the conversation is longer than a window of beyond
	// tokens, 0 when that window is not known.
	tooLong bool
	beyond  int64
	last    string
	alike   int // failures in a row that are identical
}

// Excludes reports whether a target cannot serve this request any more after
// what failed before it.
func (p *Pass) Excludes(t *combo.Target) bool {
	_, skip := p.used.Skip(t)
	return skip || p.failed[t.Model] || p.tooLong && !p.larger(t)
}

// larger reports whether a target's window is known to be larger than the one
// that the conversation did not fit (ruling 55 c).
func (p *Pass) larger(t *combo.Target) bool { return t.Facts.Context > p.beyond }

// Record takes in a failure of target t and returns its class; order are the
// targets of the plan. It may set Stop.
func (p *Pass) Record(t *combo.Target, f *Failure, order []*combo.Target) combo.FailureClass {
	class := exhaustionOf(f)
	mark := class
	if class == combo.MarksProvider {
		// Quota is an account's: the others of its provider may have some left.
		mark = combo.MarksConnection
		if f.PerModelQuota {
			mark = combo.MarksNothing
		}
	}
	p.used.Mark(combo.Failure{
		Target: t, Connection: f.Connection, Class: mark, PerModelQuota: f.PerModelQuota, Status: f.Outcome.Status,
	})
	if f.FailsModel() {
		if p.failed == nil {
			p.failed = map[string]bool{}
		}
		p.failed[t.Model] = true
		if f.Outcome.Status == statusBadRequest && classify.OnBadRequest(f.Body) == classify.AdvanceLarger {
			p.tooLong, p.beyond = true, max(p.beyond, t.Facts.Context)
			if !slices.ContainsFunc(order[slices.Index(order, t)+1:], p.larger) {
				p.Stop = StopRequest
			}
		}
	}
	p.compare(f)
	return class
}

// compare ends the pass when the same failure repeats.
func (p *Pass) compare(f *Failure) {
	key := string(f.Outcome.Reason) + "\x00" + strconv.Itoa(f.Outcome.Status) + "\x00" + string(f.Body)
	if key != p.last || len(f.Body) == 0 {
		p.last, p.alike = key, 0
	}
	p.alike++
	if p.alike >= maxIdentical && f.FailsModel() && p.Stop == NotStopped {
		p.Stop = StopIdentical
	}
}

// Limits are the ceilings of a request for a combo.
type Limits struct {
	Attempts int
	Time     time.Duration // without its waits; not positive: the largest
}

// maxComboTime bounds a whole request for a combo.
const maxComboTime = 10 * time.Minute

// CheckLimits sets Stop when the request has reached a ceiling: attempts are
// those made so far, spent the time without waits.
func (p *Pass) CheckLimits(l Limits, attempts int, spent time.Duration) {
	limit := l.Time
	if limit <= 0 || limit > maxComboTime {
		limit = maxComboTime
	}
	switch {
	case p.Stop != NotStopped:
	case attempts >= l.Attempts:
		p.Stop = StopAttempts
	case spent >= limit:
		p.Stop = StopTimeout
	}
}

// Retries are what decides whether a target of a combo is asked again besides
// the failure itself.
type Retries struct {
	Made, Max int
	// Exhausted tells that the request has no attempts left, FailoverFirst that
	// the combo prefers the next target to a retry, Last that there is none.
	Exhausted     bool
	FailoverFirst bool
	Last          bool
}

// RetriesTarget reports whether the same target is worth another attempt soon.
// What put the connection or the model aside is not: the next target is quicker
// than any delay (combos sheet §2.5, "Lockout on retry").
func RetriesTarget(f *Failure, r Retries) bool {
	return r.Made < r.Max && !r.Exhausted && transient(f) && f.Until.IsZero() && (r.Last || !r.FailoverFirst)
}

// transient reports whether a failure may pass in a moment (combos sheet §2.5,
// column "Same-target retry").
func transient(f *Failure) bool {
	if f.Code != "" || !f.AtUpstream() {
		return false
	}
	switch f.Outcome.Status {
	case statusRequestTimeout, statusTooManyRequests, statusInternalError, statusBadGateway, statusUnavailable, statusGatewayTimeout:
		return true
	}
	return false
}

// maxFallbackCooldown is the longest cooldown after which a combo pauses before
// its next target.
const maxFallbackCooldown = 5 * time.Second

// FallbackDelay is the pause before a combo's next target, which only a broken
// gateway asks for (combos sheet §2.5, "fallbackDelay"); 0 for none.
func FallbackDelay(f *Failure, configured time.Duration) time.Duration {
	if !gateway(f.Outcome.Status) || f.Outcome.Cooldown > maxFallbackCooldown {
		return 0
	}
	return max(min(configured, f.Outcome.Cooldown), 0)
}

func gateway(status int) bool {
	return status == statusBadGateway || status == statusUnavailable || status == statusGatewayTimeout
}

// EmptiesGate reports whether those who wait for the gate of the failed target
// go on to the next one: it rests now, and they would only be refused.
func EmptiesGate(f *Failure, now time.Time) bool {
	return f.Until.After(now) && (f.Outcome.Status == statusTooManyRequests || gateway(f.Outcome.Status))
}

// AnswerChecks are the tests that a whole answer with a good status has to pass
// before it goes to the client.
type AnswerChecks struct {
	Empty, OnlyReasoning, Unfinished, Validation bool
}

// ChecksFor returns the tests that apply (combos sheet §2.4). Without a combo
// only silence is suspicious, and with no target left even that is passed on.
func ChecksFor(inCombo, moreTargets bool) AnswerChecks {
	return AnswerChecks{
		Empty: moreTargets, OnlyReasoning: inCombo && moreTargets, Unfinished: inCombo && moreTargets, Validation: inCombo,
	}
}
