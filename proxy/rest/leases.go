package rest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"breakwater/proxy/control"
	"breakwater/resilience/lease"
)

// Leases is what the lease routes need of the service. They are the clients'
// and not the operator's: the bearer of a key acts for himself.
type Leases interface {
	IsKey(value string) bool
	Authorize(scope string, presented ...string) (control.Grant, error)
	AcquireLease(ctx context.Context, g control.Grant, owner, model string) (control.SessionLease, error)
	RenewLease(ctx context.Context, g control.Grant, owner string, generation int64) (control.SessionLease, error)
	ReleaseLease(ctx context.Context, g control.Grant, owner string, generation int64, why lease.Reason) (control.SessionLease, error)
	LeaseStatus(ctx context.Context, g control.Grant, owner string, generation int64) (control.SessionLease, error)
}

// leaseBody is the body of POST /api/v1/session-leases; which of the fields
// may be there depends on the action (settings sheet §4.4).
type leaseBody struct {
	Action     string  `json:"action"`
	Model      *string `json:"model,omitempty"`
	Generation *int64  `json:"generation,omitempty"`
	Reason     *string `json:"reason,omitempty"`
}

// leaseFailure is the answer to an operation that was refused.
type leaseFailure struct {
	State         string    `json:"state,omitempty"` // waiting-for-capacity
	Error         errorBody `json:"error"`
	Reason        string    `json:"reason,omitempty"`
	RetryAfter    int       `json:"retryAfter,omitempty"` // seconds
	EligibleCount *int      `json:"eligibleCount,omitempty"`
	FreeCount     *int      `json:"freeCount,omitempty"`
}

// sessionLeases runs one operation on a lease.
func (a *api) sessionLeases(w http.ResponseWriter, r *http.Request) {
	view, err := a.operateLease(r)
	if err == nil {
		a.write(w, r, http.StatusOK, view)
		return
	}
	e, ok := errors.AsType[*control.LeaseError](err)
	if !ok {
		a.fail(w, r, err)
		return
	}
	out := leaseFailure{Error: errorBody{Code: e.Code, Message: e.Message, Type: "lease_error", CorrelationID: correlation()}, RetryAfter: e.RetrySeconds()}
	if e.Code == control.LeaseCapacity {
		out.State, out.Reason, out.EligibleCount, out.FreeCount = control.StateWaiting, control.ReasonNoFree, &e.Eligible, new(int)
	}
	if s := e.RetrySeconds(); s > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(s))
	}
	a.write(w, r, e.Status(), out)
}

// operateLease checks in the sheet's order: key, content type, body, scope,
// owner.
func (a *api) operateLease(r *http.Request) (control.SessionLease, error) {
	var none control.SessionLease
	presented := clientKeys(r)
	if len(presented) == 0 {
		return none, &control.LeaseError{Code: control.LeaseAuthRequired, Message: "A lease needs an API key"}
	}
	if a.leases == nil || !slices.ContainsFunc(presented, a.leases.IsKey) {
		if !a.auth.countFailure() {
			return none, errTooMany
		}
		return none, &control.LeaseError{Code: control.LeaseKeyInvalid, Message: "This API key is not valid"}
	}
	if checkContentType(r) != nil || r.ContentLength == 0 {
		return none, &control.LeaseError{Code: control.LeaseContentType, Message: errContentType.message}
	}
	if err := takeBody(r); err != nil {
		return none, err
	}
	var in leaseBody
	if err := decode(r, &in); errors.Is(err, errTooLarge) {
		return none, err
	} else if err != nil || !in.wellFormed() {
		return none, &control.LeaseError{Code: control.LeaseActionInvalid, Message: "Expected acquire with a model, or renew, release or status with a generation, and nothing else"}
	}
	g, err := a.leaseGrant(presented)
	if err != nil {
		return none, err
	}
	owner := r.Header.Get(lease.OwnerHeader)
	switch {
	case owner == "":
		return none, &control.LeaseError{Code: control.LeaseContextRequired, Message: "The header " + lease.OwnerHeader + " is missing"}
	case !lease.ValidOwner(owner), in.Generation != nil && (*in.Generation < 1 || *in.Generation > lease.MaxGeneration):
		return none, &control.LeaseError{Code: control.LeaseContextInvalid, Message: "The owner or the generation is malformed"}
	}
	switch in.Action {
	case "acquire":
		return a.leases.AcquireLease(r.Context(), g, owner, *in.Model)
	case "renew":
		return a.leases.RenewLease(r.Context(), g, owner, *in.Generation)
	case "status":
		return a.leases.LeaseStatus(r.Context(), g, owner, *in.Generation)
	}
	why := lease.OwnerExit
	if in.Reason != nil {
		why = lease.Reason(*in.Reason)
	}
	return a.leases.ReleaseLease(r.Context(), g, owner, *in.Generation, why)
}

// wellFormed reports whether the body has the fields of its action, and no
// others.
func (b leaseBody) wellFormed() bool {
	switch b.Action {
	case "acquire":
		return b.Model != nil && b.Generation == nil && b.Reason == nil
	case "renew", "status":
		return b.Model == nil && b.Generation != nil && b.Reason == nil
	case "release":
		return b.Model == nil && b.Generation != nil &&
			(b.Reason == nil || lease.Reason(*b.Reason) == lease.OwnerExit || lease.Reason(*b.Reason) == lease.ClientCancelled)
	}
	return false
}

// leaseGrant returns what the key may hold.
func (a *api) leaseGrant(presented []string) (control.Grant, error) {
	g, err := a.leases.Authorize(control.ScopeLease, presented...)
	switch {
	case errors.Is(err, control.ErrKeyScope):
		return g, &control.LeaseError{Code: control.LeaseScopeRequired, Message: "This key lacks the scope lease:exclusive"}
	case err != nil:
		return g, errKeyRefused
	case len(g.Connections) == 0:
		return g, &control.LeaseError{Code: control.LeaseKeyConfiguration, Message: "This key names no connections that it may hold"}
	}
	return g, nil
}

// clientKeys returns what a client presents, in any of the places in which a
// client may present a key (ruling 33).
func clientKeys(r *http.Request) []string {
	out := credentials(r)
	if key := r.Header.Get("X-Api-Key"); key != "" {
		out = append(out, key)
	}
	return out
}

// leaseOptions tells pages of allowed origins, which the guard has let
// through, what they may send.
func (a *api) leaseOptions(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", "OPTIONS, POST")
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type, "+lease.OwnerHeader+", "+lease.GenerationHeader)
	w.Header().Set("Access-Control-Expose-Headers", "Retry-After, "+lease.OwnerHeader+", "+lease.GenerationHeader)
	w.WriteHeader(http.StatusNoContent)
}
