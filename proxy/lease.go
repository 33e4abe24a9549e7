package proxy

import (
	"errors"
	"net/http"

	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/lease"
)

// The headers of a lease in the spelling that HTTP gives them: any other is
// respelt at each look.
var (
	ownerHeader      = http.CanonicalHeaderKey(lease.OwnerHeader)
	generationHeader = http.CanonicalHeaderKey(lease.GenerationHeader)
)

// takeHold reads the lease of a request from its headers (settings sheet
// §4.5).
func (x *exchange) takeHold() *refusal.Notice {
	h := x.r.Header
	hold, err := x.s.svc.Hold(x.r.Context(), x.grant, h.Get(ownerHeader), h.Get(generationHeader), h.Get(headerPin), x.body.Model)
	if e, ok := errors.AsType[*control.LeaseError](err); ok {
		return new(refusal.Lease(e))
	}
	x.hold = hold
	return nil
}

// fencedOff ends an attempt that the fence did not let through: nothing was
// sent, and nobody is to blame. A connection that has just become another
// owner's is passed over; any other reason is the request's own.
func (t *attempt) fencedOff(e *control.LeaseError) verdict {
	x := t.x
	if e.Code != control.LeaseCapacity && e.Code != control.LeaseConnMismatch {
		x.refuse(refusal.Lease(e))
		return ended
	}
	x.step(control.Step{Kind: control.StepSkipped, Reason: string(exclusion.Leased), Model: t.model}, t.route)
	x.fenced = e
	return tryNext
}

// leaseContention tells whether a request under a lease was not served because
// other owners hold what could serve it.
func (x *exchange) leaseContention(plan resilience.Plan) *control.LeaseError {
	if x.hold == nil || len(x.failures) > 0 {
		return nil
	}
	if x.fenced != nil {
		return x.fenced
	}
	return x.s.svc.Unserved(x.r.Context(), x.hold, plan, x.passed, x.body.Model)
}
