package control

import (
	"fmt"
	"time"

	"breakwater/resilience/lease"
)

// Codes of lease errors (settings sheet §4.4 and §4.5, ruling 48).
const (
	LeaseAuthRequired     = "LEASE_AUTHENTICATION_REQUIRED"
	LeaseKeyInvalid       = "LEASE_API_KEY_INVALID"
	LeaseContentType      = "LEASE_CONTENT_TYPE_REQUIRED"
	LeaseActionInvalid    = "LEASE_ACTION_INVALID"
	LeaseScopeRequired    = "LEASE_SCOPE_REQUIRED"
	LeaseKeyConfiguration = "LEASE_KEY_CONFIGURATION_INVALID"
	LeaseContextRequired  = "LEASE_CONTEXT_REQUIRED"
	LeaseContextInvalid   = "LEASE_CONTEXT_INVALID"
	LeaseFenceStale       = "LEASE_FENCE_STALE"
	LeaseRequired         = "LEASE_REQUIRED"
	LeaseAuthMismatch     = "LEASE_AUTHORIZATION_MISMATCH"
	LeaseConnMismatch     = "LEASE_CONNECTION_MISMATCH"
	LeaseOwnerActive      = "LEASE_OWNER_ALREADY_ACTIVE"
	LeaseModelInvalid     = "LEASE_MODEL_INVALID"
	LeaseNoEligible       = "LEASE_NO_ELIGIBLE_CONNECTION"
	LeaseCapacity         = "lease-capacity-unavailable"
	LeaseEligibility      = "LEASE_ELIGIBILITY_UNAVAILABLE"
	LeaseUnavailable      = "LEASE_SERVICE_UNAVAILABLE"
	LeaseUnsupportedRoute = "LEASE_UNSUPPORTED_ROUTE"
	// LeaseUnsupportedTransport goes with the 426 of ruling 46.
	LeaseUnsupportedTransport = "LEASE_UNSUPPORTED_TRANSPORT"
)

// StateWaiting is the state of an owner for whom every eligible connection is
// held by others (ruling 48).
const StateWaiting = "waiting-for-capacity"

// ReasonNoFree is why such an owner waits.
const ReasonNoFree = "NO_FREE_ELIGIBLE_CONNECTION"

// LeaseError refuses an operation on a lease, or a request under one.
type LeaseError struct {
	Code    string
	Message string
	// RetryAfter is when asking again may help; zero when it does not.
	RetryAfter time.Duration
	// Eligible is how many connections could serve if they were free; it is
	// told with LeaseCapacity, when none of them is.
	Eligible int
}

// Error is the message.
func (e *LeaseError) Error() string { return e.Message }

// Status is the status of an answer with this error.
func (e *LeaseError) Status() int {
	switch e.Code {
	case LeaseAuthRequired, LeaseKeyInvalid:
		return 401
	case LeaseScopeRequired, LeaseKeyConfiguration:
		return 403
	case LeaseContentType:
		return 415
	case LeaseActionInvalid, LeaseContextRequired, LeaseContextInvalid, LeaseModelInvalid:
		return 400
	case LeaseCapacity, LeaseEligibility:
		return 429
	case LeaseUnavailable:
		return 503
	}
	return 409
}

// RetrySeconds is RetryAfter in whole seconds within the bounds of ruling 28,
// 0 for none.
func (e *LeaseError) RetrySeconds() int {
	if e.Status() != 429 {
		return 0
	}
	return int(min(max((e.RetryAfter+time.Second-1)/time.Second, 1), 3600))
}

func leaseError(code, format string, args ...any) *LeaseError {
	return &LeaseError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// refusalOf puts the result of an operation that did not succeed into words.
func refusalOf(r lease.Result) *LeaseError {
	switch r {
	case lease.Required:
		return leaseError(LeaseRequired, "This key needs a lease: acquire one at POST /api/v1/session-leases.")
	case lease.AuthorizationMismatch:
		return leaseError(LeaseAuthMismatch, "This lease was taken under another key.")
	case lease.ConnectionMismatch:
		return leaseError(LeaseConnMismatch, "This lease is bound to another connection.")
	case lease.OwnerAlreadyActive:
		return leaseError(LeaseOwnerActive, "This owner holds a lease already, on another connection or under another key.")
	default:
		return leaseError(LeaseFenceStale, "This lease is over, or its generation is not the present one.")
	}
}

// storeFailed hides what the store said; the log has it.
func (s *Service) storeFailed(err error) *LeaseError {
	s.cfg.Log.Error("lease not decided", "error", err)
	return leaseError(LeaseUnavailable, "Leases cannot be decided at present.")
}

// capacityError tells an owner to wait: every connection that could serve is
// held by others, the first of whom is due at soonest.
func capacityError(eligible int, soonest time.Time, now time.Time) *LeaseError {
	e := leaseError(LeaseCapacity, "Every connection that could serve is held by another owner.")
	e.Eligible, e.RetryAfter = eligible, time.Second
	if !soonest.IsZero() {
		e.RetryAfter = max(soonest.Sub(now), time.Second)
	}
	return e
}
