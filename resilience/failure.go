package resilience

import (
	"bytes"
	"cmp"
	"time"

	"breakwater/resilience/claude"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
	"breakwater/resilience/watchdog"
)

// Codes of failures that the reason alone does not name.
const (
	// CodeEarlyEOF is an answer that ended before its first output (stream sheet
	// §6.2).
	CodeEarlyEOF = "STREAM_EARLY_EOF"
	// CodeMachineSlept is an answer that broke off because this machine slept.
	CodeMachineSlept = "MACHINE_SLEPT"
	// CodeLoginNotRefreshed is a login whose token endpoint fails (case O5).
	CodeLoginNotRefreshed = "login_not_refreshed"
)

// Failure is an attempt that failed before the client saw any of its answer:
// all that later decisions and the final answer need to know of it.
type Failure struct {
	Connection string // its id
	Name       string // of the connection, for people
	Provider   string
	Model      string // as sent
	Outcome    outcome.Outcome
	// Until is when the cooldown that followed ends, in core time; zero for none.
	Until time.Time
	// Code names a broken stream or a limit of ours more exactly than the
	// outcome's reason; empty for most.
	Code string
	// Header is nil when no upstream answered. It is never changed.
	Header map[string][]string
	Body   []byte
	// PerModelQuota tells that the provider counts quota by model, Passthrough
	// that the login was the client's own.
	PerModelQuota bool
	Passthrough   bool
	// Opinion tells that the refusal is not believed alone: another target is
	// asked (ruling 55 d).
	Opinion bool
}

// Answered reports whether an upstream gave the refusal itself.
func (f *Failure) Answered() bool { return f.Header != nil }

// Cause is the word for what went wrong: the code, or the outcome's reason.
func (f *Failure) Cause() string { return cmp.Or(f.Code, string(f.Outcome.Reason)) }

// AtUpstream reports whether the upstream is to blame, and neither the request,
// this machine nor a quota.
func (f *Failure) AtUpstream() bool {
	o := &f.Outcome
	return o.Class == outcome.Failure && o.Scope != outcome.ScopeRequest && o.Scope != outcome.ScopeLocal &&
		o.Reason != outcome.ReasonQuota && o.Reason != outcome.ReasonEmptyAnswer
}

// RefusesRequest reports whether the upstream found fault with the request
// itself.
func (f *Failure) RefusesRequest() bool {
	return f.Outcome.Class == outcome.Neutral && f.Outcome.Scope != outcome.ScopeLocal
}

// FailsModel reports whether another target with the same model would fail
// alike: the request is at fault, or took the model longer than a target gets.
func (f *Failure) FailsModel() bool {
	return f.RefusesRequest() && !f.Opinion || f.Code == combo.CodeTargetTimeout
}

// Limited reports whether waiting cures the failure: a limit, in contrast to a
// fault.
func (f *Failure) Limited() bool {
	switch f.Outcome.Reason {
	case outcome.ReasonRateLimit, outcome.ReasonQuota, outcome.ReasonConcurrencyLimited, outcome.ReasonModelCapacity:
		return f.Outcome.Terminal == outcome.NotTerminal
	}
	return false
}

// AuthStatus reports whether a status refuses the credential or its account.
func AuthStatus(status int) bool {
	return status == statusUnauthorized || status == statusPaymentRequired || status == statusForbidden
}

// SubscriptionWall reports whether the failure is the limit of the client's own
// subscription, in the form that the client knows (ruling 42).
func (f *Failure) SubscriptionWall() bool {
	if f.Outcome.Status != statusTooManyRequests || !f.Answered() || !f.Passthrough {
		return false
	}
	for name := range f.Header {
		if claude.IsUnified(name) {
			return true
		}
	}
	return false
}

// outOfCredit are the words, in lower case, by which an upstream says that an
// account has no money left (combos sheet §2.8).
var outOfCredit = [][]byte{
	[]byte("insufficient funds"), []byte("insufficient_funds"), []byte("budget exceeded"), []byte("budget_exceeded"),
	[]byte("quota exceeded"), []byte("quota_exceeded"), []byte("billing"), []byte("payment required"),
	[]byte("out of credits"), []byte("no credits"), []byte("credit limit"), []byte("spending limit"),
	[]byte("saldo insuficiente"), []byte("limite de gastos"), []byte("cota excedida"),
}

// OutOfCredit reports whether the account has no money left, by its status or
// in the upstream's words.
func (f *Failure) OutOfCredit() bool {
	if f.Outcome.Status == statusPaymentRequired || f.Outcome.RestatedFrom == statusPaymentRequired {
		return true
	}
	text := bytes.ToLower(f.Body)
	for _, words := range outOfCredit {
		if bytes.Contains(text, words) {
			return true
		}
	}
	return false
}

// FailureKind is the family of a failure for the status merge of a combo
// (combos sheet §2.9).
type FailureKind string

// The families.
const (
	KindQuality  FailureKind = "quality"
	KindAuth     FailureKind = "auth"
	KindLimit    FailureKind = "rate_limit"
	KindTimeout  FailureKind = "timeout"
	KindProvider FailureKind = "provider"
	KindModel    FailureKind = "model"
)

// Kind returns the family of the failure.
func (f *Failure) Kind() FailureKind {
	switch s := f.Outcome.Status; {
	case f.Outcome.Reason == outcome.ReasonEmptyAnswer:
		return KindQuality
	case AuthStatus(s):
		return KindAuth
	case s == statusTooManyRequests:
		return KindLimit
	case s == statusRequestTimeout, s == statusClientClosed, f.Code == combo.CodeTargetTimeout:
		return KindTimeout
	case s >= statusInternalError, s == 0:
		return KindProvider
	}
	return KindModel
}

// codeNotReady is the code of a stream that sent no event in time.
var codeNotReady = watchdog.NotReady.Code()

// The statuses that decisions depend on; this package does not know HTTP.
const (
	statusBadRequest      = 400
	statusUnauthorized    = 401
	statusPaymentRequired = 402
	statusForbidden       = 403
	statusNotFound        = 404
	statusRequestTimeout  = 408
	statusGone            = 410
	statusUnprocessable   = 422
	statusTooManyRequests = 429
	statusClientClosed    = 499
	statusInternalError   = 500
	statusBadGateway      = 502
	statusUnavailable     = 503
	statusGatewayTimeout  = 504
	statusOverloaded      = 529
)
