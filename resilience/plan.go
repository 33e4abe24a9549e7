package resilience

import "time"

// Candidate is a connection that could serve a request by its dialect and
// model, in the caller's order of preference.
type Candidate struct {
	Conn  *Conn
	Model string // the model's name at this upstream
}

// Target is a candidate that may be tried now.
type Target = Candidate

// Skip is the closed set of reasons why a candidate is not tried.
type Skip string

// The reasons. Each has a way out besides time: a reset, a good connection
// test, a success, or the user's own switch.
const (
	SkipOff              Skip = "off"               // the user switched the connection off
	SkipTried            Skip = "tried"             // failed already in this request
	SkipCooling          Skip = "cooling"           // connection cooldown, guide §2
	SkipModelLocked      Skip = "model_locked"      // model lockout, guide §3
	SkipBreakerOpen      Skip = "breaker_open"      // provider breaker, guide §1
	SkipProbing          Skip = "probing"           // half-open, the one probe is out
	SkipProviderCooldown Skip = "provider_cooldown" // opt-in window gate, guide §1
	SkipBanned           Skip = "banned"            // terminal states, guide §2
	SkipExpired          Skip = "expired"
	SkipCreditsExhausted Skip = "credits_exhausted"
	SkipQuota            Skip = "quota_cutoff" // quota preflight, opt-in
)

// Exclusion is a candidate that is not tried, with the reason and the time at
// which the reason ends by itself (zero when only a person or a connection
// test ends it).
type Exclusion struct {
	Candidate
	Reason Skip
	Until  time.Time
}

// Plan is the answer to "whom to try": targets in order, and every other
// candidate with the reason why not.
type Plan struct {
	Targets  []Target
	Excluded []Exclusion
}

// Earliest returns the first moment at which one of the exclusions ends by
// itself, or the zero time when none does.
func (p Plan) Earliest() time.Time {
	var first time.Time
	for _, x := range p.Excluded {
		if !x.Until.IsZero() && (first.IsZero() || x.Until.Before(first)) {
			first = x.Until
		}
	}
	return first
}
