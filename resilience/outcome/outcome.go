// Package outcome names every way an attempt can end and how far it reaches.
package outcome

import "time"

// Class is the first verdict on an attempt (ruling 38: three, not two).
type Class uint8

const (
	// Neutral gives permits and probe slots back and records nothing: a client
	// that left, a local limit, a request that is wrong in itself, a probe.
	Neutral Class = iota
	// Success clears the connection's error state and cleanses the breaker.
	Success
	// Failure is the upstream's: it is recorded in the given Scope.
	Failure
)

// Scope says how far a failure reaches.
type Scope uint8

const (
	// ScopeRequest is this request only: no other target would answer better.
	ScopeRequest Scope = iota
	// ScopeModel is one model on one connection.
	ScopeModel
	// ScopeConnection is the whole connection.
	ScopeConnection
	// ScopeProvider is every connection of the provider.
	ScopeProvider
	// ScopeEgress is every connection that leaves by the same address.
	ScopeEgress
	// ScopeLocal is this machine: nobody upstream is to blame.
	ScopeLocal
)

// Reason is the guide's word for why an attempt failed.
type Reason string

// The closed set of reasons (guide §2, sheet §3.3).
const (
	ReasonNone                Reason = ""
	ReasonRateLimit           Reason = "rate_limit_exceeded"
	ReasonQuota               Reason = "quota_exhausted"
	ReasonModelCapacity       Reason = "model_capacity"
	ReasonServerError         Reason = "server_error"
	ReasonAuth                Reason = "auth_error"
	ReasonUnknown             Reason = "unknown"
	ReasonNotFound            Reason = "not_found"
	ReasonServiceNotRunning   Reason = "service_not_running"
	ReasonConcurrencyLimited  Reason = "concurrency_limited"
	ReasonRequestRejected     Reason = "request_rejected"
	ReasonInvalidPrevious     Reason = "invalid_previous_response_binding"
	ReasonContractViolation   Reason = "executor_contract_violation"
	ReasonModelUnsupported    Reason = "provider_model_unsupported"
	ReasonStreamStall         Reason = "stream_content_stall"
	ReasonTruncated           Reason = "stream_truncated"
	ReasonEmptyAnswer         Reason = "empty_answer"
	ReasonNetwork             Reason = "network_error"
	ReasonClientGone          Reason = "client_disconnected"
	ReasonUpstreamLeft        Reason = "upstream_closed_request" // a gateway's 499: it believes that its client left
	ReasonLocalTimeout        Reason = "local_timeout"
	ReasonLocalError          Reason = "local_error"
	ReasonRequestInvalid      Reason = "request_invalid"
	ReasonFingerprintRejected Reason = "fingerprint_rejection"
	// ReasonNotAPI is a page, or a foreign shape, where the provider's answer
	// should be; ReasonWrongAddress such a page for a path that does not exist
	// there (ruling 56).
	ReasonNotAPI       Reason = "not_api"
	ReasonWrongAddress Reason = "wrong_address"
)

// Kind is the breaker's failure kind (guide §1, cooldownByKind). The zero
// value means that the failure has no kind.
type Kind string

// The breaker's failure kinds.
const (
	KindNone           Kind = ""
	KindRateLimit      Kind = "rate_limit"
	KindQuotaExhausted Kind = "quota_exhausted"
	KindTransient      Kind = "transient"
)

// Terminal is a state of a connection that no waiting cures (guide §2).
type Terminal string

// The terminal states.
const (
	NotTerminal      Terminal = ""
	Banned           Terminal = "banned"
	Expired          Terminal = "expired"
	CreditsExhausted Terminal = "credits_exhausted"
)

// Outcome is the whole verdict on one attempt: whose fault it was, how far it
// reaches, how long it lasts and whether another target may do better. The
// classifier makes it, the engine applies it.
type Outcome struct {
	Class  Class
	Scope  Scope
	Reason Reason

	// Status is the upstream's HTTP status, after restatement, or the status
	// that stands for a failure without one (502 network, 504 timeout).
	Status int
	// RestatedFrom is the upstream's own status when restatement changed it, and
	// ClientRetryAfter what the client is then told to wait (guide §7); neither
	// sets a cooldown.
	RestatedFrom     int
	ClientRetryAfter time.Duration
	// Words are the refusal's own words as CleanWords leaves them; empty when
	// it had none (ruling 62: a state is shown in them).
	Words string
	// ErrorType is the value stored as last_error_type (sheet §4.3); it may be
	// empty although the attempt failed.
	ErrorType string

	// Fallback tells that another target may answer this request.
	Fallback bool

	// Cooldown is how long the connection, or the model for ScopeModel, stays
	// out of routing. Zero sets no cooldown.
	Cooldown time.Duration
	// SetsLevel tells that Level replaces the connection's backoffLevel.
	SetsLevel bool
	Level     int
	// UsedHint tells that Cooldown was stated by the upstream, HintSource
	// where ("header", "unified", "google_rpc_retry_info", "body") and RawHint
	// its own words, kept for display. HintSource is "rule" when a rule declared
	// the cooldown.
	UsedHint   bool
	HintSource string
	RawHint    string
	// QuotaResetHint is when the quota comes back, known although hints are
	// not used for the cooldown.
	QuotaResetHint time.Duration

	// Row is the stable name of the line of the classifier's table that decided.
	Row string
	// RuleID names the built-in or operator rule that decided, if one did.
	RuleID string

	// Terminal is the state the connection falls into, if any.
	Terminal Terminal
	// Permanent marks a deactivated or banned account.
	Permanent bool
	// CreditsExhausted and DailyQuotaExhausted refine ReasonQuota.
	CreditsExhausted    bool
	DailyQuotaExhausted bool
	// CreditWords tells that a rate limit with a stated end was worded as a lack
	// of credit (ruling 57).
	CreditWords bool

	// SkipBreaker keeps the failure away from the provider breaker whatever
	// its status; BreakerKind is the kind it is counted with otherwise.
	SkipBreaker bool
	BreakerKind Kind
	// Network marks a failure below HTTP (refused, reset, unknown host): the
	// breaker counts it once per provider and 10 s.
	Network bool
}

// trip holds the statuses that count against a provider (guide §1).
func trip(status int) bool {
	switch status {
	case 408, 500, 502, 503, 504:
		return true
	}
	return false
}

// PlainRefusal reports whether the outcome is a refusal (403) of the whole
// connection that says neither why nor how long: the key may be wrong, or
// something on the way may be (ruling 62).
func (o Outcome) PlainRefusal() bool {
	return o.Class == Failure && o.Status == 403 && o.Scope == ScopeConnection && o.Terminal == NotTerminal &&
		o.Reason != ReasonNotAPI && o.Reason != ReasonRateLimit && o.Reason != ReasonQuota && o.Reason != ReasonRequestRejected &&
		!o.UsedHint && o.RuleID == ""
}

// OfAddress reports whether the answer was not the provider's: it says nothing
// about the provider, or about a model (ruling 56).
func (o Outcome) OfAddress() bool {
	return o.Reason == ReasonNotAPI || o.Reason == ReasonWrongAddress
}

// Trips reports whether the outcome is a failure that the provider breaker
// counts: only provider-level statuses do, never those of an account (guide
// §1, "Códigos de disparo").
func (o Outcome) Trips() bool {
	return o.Class == Failure && !o.SkipBreaker && !o.OfAddress() && trip(o.Status)
}
