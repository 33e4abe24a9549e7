// Package exclusion says why a target is not asked now, and until when: the one
// vocabulary of plan, gates, waits, combos, diagnostics and everything shown.
package exclusion

import (
	"time"

	"breakwater/resilience/outcome"
)

// Reason is the closed set of reasons why a target is not asked.
type Reason string

// The reasons of the engine. Each has a way out besides time: a reset, a good
// connection test, a success, or the user's own switch.
const (
	None             Reason = ""
	Off              Reason = "off"               // the user switched the connection off
	Cooling          Reason = "cooling"           // connection cooldown, guide §2
	ModelLocked      Reason = "model_locked"      // model lockout, guide §3
	BreakerOpen      Reason = "breaker_open"      // provider breaker, guide §1
	Probing          Reason = "probing"           // half-open, the one probe is out
	ProviderCooldown Reason = "provider_cooldown" // opt-in window gate, guide §1
	Banned           Reason = "banned"            // terminal states, guide §2
	Expired          Reason = "expired"
	CreditsExhausted Reason = "credits_exhausted"
	WrongAddress     Reason = "wrong_address" // what answers there is no API, ruling 56
	Quota            Reason = "quota_cutoff"  // quota preflight, opt-in
)

// The reasons for which a connection is passed over before the engine is asked.
const (
	ModelNotOffered Reason = "model_not_offered"
	NoCredential    Reason = "no_client_credential" // a passthrough connection, and the client has no login
	KeyMissing      Reason = "key_missing"          // the stored key is not on this machine
	KeyNotAllowed   Reason = "key_not_allowed"      // the client's own key forbids it
	Leased          Reason = "leased"               // by another owner, or reserved for leases
)

// CompactedHistory is a session that holds encrypted compaction which only
// another account can read (ruling 61).
const CompactedHistory Reason = "compacted_history"

// The reasons that only a combo's targets have (combos sheet §2.2).
const (
	Unavailable         Reason = "unavailable" // no connection can serve the target
	Exhausted           Reason = "exhausted"   // a failure in this pass used it up
	ContextRequirements Reason = "context_requirements"
)

// Temporary reports whether a timer ends the reason (combos sheet §2.9).
func (r Reason) Temporary() bool {
	switch r {
	case BreakerOpen, Probing, ProviderCooldown, Cooling, ModelLocked:
		return true
	}
	return false
}

// Terminal reports whether no waiting ends the reason, only a person, a new
// address or a connection test.
func (r Reason) Terminal() bool {
	switch r {
	case Off, Banned, Expired, CreditsExhausted, WrongAddress:
		return true
	}
	return false
}

// Diagnostic is the guide's word for the reason in a combo's diagnostics
// ("Depuración", combos sheet §2.2).
func (r Reason) Diagnostic() string {
	switch r {
	case None, Unavailable, Exhausted, ContextRequirements, CompactedHistory, Quota, ProviderCooldown:
		return string(r)
	case BreakerOpen, Probing:
		return "circuit_open"
	case Cooling:
		return "connection_cooldown"
	case ModelLocked:
		return "model_lockout"
	}
	return string(Unavailable)
}

// Scope says how much an exclusion covers.
type Scope uint8

// The scopes, from the widest to the narrowest.
const (
	ScopeProvider Scope = iota + 1
	ScopeConnection
	ScopeModel
	ScopeRequest // this request only
)

// Scope returns how much the reason covers; 0 for None.
func (r Reason) Scope() Scope {
	switch r {
	case None:
		return 0
	case BreakerOpen, Probing, ProviderCooldown:
		return ScopeProvider
	case ModelLocked, ModelNotOffered:
		return ScopeModel
	case Exhausted, ContextRequirements, CompactedHistory, NoCredential, KeyNotAllowed:
		return ScopeRequest
	}
	return ScopeConnection
}

// Exclusion is why a target is not asked now. The zero value excludes nothing.
type Exclusion struct {
	Reason Reason
	// Until is when the reason ends by itself, in core time; zero when only a
	// person or a connection test ends it.
	Until time.Time
	// Source is what a cooldown or a lockout was set for, empty for other
	// reasons.
	Source outcome.Reason
}

// Excludes reports whether there is a reason.
func (e Exclusion) Excludes() bool { return e.Reason != None }

// Left is how long the exclusion lasts from now; not positive when it is over or
// no timer ends it.
func (e Exclusion) Left(now time.Time) time.Duration {
	if e.Until.IsZero() {
		return 0
	}
	return e.Until.Sub(now)
}

// Add keeps the exclusion that lasts longer: only when that one is over may the
// target be asked.
func (e *Exclusion) Add(o Exclusion) {
	if !e.Excludes() || o.Until.After(e.Until) {
		*e = o
	}
}

// Open reports whether an open breaker excludes the target. It is waited for
// before any attempt only (#16319).
func (e Exclusion) Open() bool { return e.Reason == BreakerOpen || e.Reason == Probing }

// Transient reports whether a wait is worth it.
func (e Exclusion) Transient() bool { return Transient(e.Cause()) }

// Transient reports whether a cause passes by itself soon: what is busy or
// broken does; quota, credentials and what does not exist never do (guide §4).
// The classifier's word for a rate limit counts like the sheet's (combos sheet
// §9, 2).
func Transient(cause string) bool {
	switch cause {
	case "rate_limit", causeRateLimited, string(outcome.ReasonRateLimit), CauseTransient, causeOverloaded, string(outcome.ReasonServerError):
		return true
	}
	return false
}

// Cause is the word for what is waited for, in the waits' vocabulary (combos
// sheet §3) or, for what is not waited for, the reason itself.
func (e Exclusion) Cause() string {
	switch e.Reason {
	case None:
		return ""
	case BreakerOpen, Probing:
		return e.Reason.Diagnostic()
	case ProviderCooldown:
		return CauseTransient
	case Cooling, ModelLocked:
		switch e.Source {
		case outcome.ReasonNone:
			return e.Reason.Diagnostic()
		case outcome.ReasonConcurrencyLimited:
			return causeRateLimited
		case outcome.ReasonModelCapacity:
			return causeOverloaded
		case outcome.ReasonNetwork, outcome.ReasonTruncated, outcome.ReasonServiceNotRunning, outcome.ReasonStreamStall:
			return CauseTransient
		}
		return string(e.Source)
	case CompactedHistory:
		return string(e.Reason)
	}
	return string(outcome.ReasonAuth)
}

const (
	// CauseTransient is the cause of what passes by itself.
	CauseTransient = "transient"

	causeRateLimited = "rate_limited"
	causeOverloaded  = "overloaded"
)
