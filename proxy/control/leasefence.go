package control

import (
	"context"
	"strings"

	"breakwater/resilience"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/lease"
)

// Hold is the lease under which one request runs; a nil one stands for every
// request without.
type Hold struct {
	owner      string // its digest
	keyID      string
	generation int64
	connection string // that the lease was bound to when last seen
}

func (h *Hold) op(a lease.Action) lease.Op {
	return lease.Op{Action: a, OwnerHash: h.owner, KeyID: h.keyID, Generation: h.generation}
}

// distance puts the lease's own connection before all others.
func (h *Hold) distance(r *Route) int {
	if r.Record.ID == h.connection {
		return 0
	}
	return 1
}

// Hold reads the lease of a request from what its headers say. A key for
// leases must come with a lease in force, and only such a key may: a client
// that believes it is fenced must be. connection is the one that the client
// insists on, if any, model what it asks for. Errors are of type *LeaseError.
func (s *Service) Hold(ctx context.Context, g Grant, owner, generation, connection, model string) (*Hold, error) {
	given := owner != "" || generation != ""
	switch {
	case !g.Leases && !given:
		return nil, nil
	case g.KeyID == "":
		return nil, leaseError(LeaseAuthRequired, "A lease needs the key under which it was taken.")
	case !g.Leases:
		return nil, leaseError(LeaseScopeRequired, "This key lacks the scope lease:exclusive.")
	case owner == "" || generation == "":
		return nil, leaseError(LeaseContextRequired, "A key for leases needs the headers %s and %s.", lease.OwnerHeader, lease.GenerationHeader)
	}
	n, ok := lease.ParseGeneration(generation)
	if !ok || !lease.ValidOwner(owner) {
		return nil, leaseError(LeaseContextInvalid, "The lease headers are malformed.")
	}
	h := &Hold{owner: lease.Hash(owner), keyID: g.KeyID, generation: n}
	out, err := s.cfg.Store.CheckLease(ctx, h.op(lease.Check), s.leaseNow())
	if err != nil {
		return nil, s.storeFailed(err)
	}
	if out.Result != lease.Valid {
		return nil, refusalOf(out.Result)
	}
	if s.notUnderALease(model) {
		return nil, leaseError(LeaseUnsupportedRoute, "A combo that asks several targets cannot be used under a lease.")
	}
	h.connection = out.Lease.ConnectionID
	if connection != "" && !s.isNamed(h.connection, connection) {
		return nil, refusalOf(lease.ConnectionMismatch)
	}
	return h, nil
}

// isNamed reports whether a client's word for a connection means this one: its
// id or its name.
func (s *Service) isNamed(id, word string) bool {
	r, ok := s.Route(id)
	return word == id || ok && strings.EqualFold(r.Record.Name, word)
}

// Fence is the last look before a request under a lease is sent to a
// connection: it is asked right before every dispatch, after all waits. It
// compares owner, generation, key and connection with what is stored. Where
// the rules have led the request to another connection than the lease's, the
// lease moves there first, under the same generation. Any error forbids the
// dispatch; it is of type *LeaseError, with LeaseCapacity when the connection
// is another owner's. A nil hold passes.
func (s *Service) Fence(ctx context.Context, h *Hold, r *Route, model string) error {
	if h == nil {
		return nil
	}
	op := h.op(lease.Check)
	op.ConnectionID, op.Provider = r.Record.ID, r.Provider.ID
	out, err := s.cfg.Store.CheckLease(ctx, op, s.leaseNow())
	if err == nil && out.Result == lease.ConnectionMismatch && out.Lease.ConnectionID == h.connection {
		op.Action, op.Reason = lease.Transition, s.whyLeave(h.connection, model)
		out, err = s.changeLease(ctx, op)
	}
	switch {
	case err != nil:
		return s.storeFailed(err)
	case out.Result == lease.ConnectionBusy:
		return s.noCapacity([]resilience.Target{{Conn: r.Conn, Model: model}})
	case !out.Result.OK():
		return refusalOf(out.Result)
	}
	h.connection = r.Record.ID
	return nil
}

// Unserved ends a request under a lease that nobody could serve. Where other
// owners hold every connection that could, it returns the wait for them.
// Where no waiting helps, the lease ends: it has nothing left to hold.
func (s *Service) Unserved(ctx context.Context, h *Hold, plan resilience.Plan, passed []Passed, model string) *LeaseError {
	if h == nil || len(plan.Targets) > 0 {
		return nil
	}
	var taken []resilience.Candidate
	for _, p := range passed {
		if p.Reason == exclusion.Leased {
			taken = append(taken, resilience.Candidate{Conn: p.Route.Conn, Model: model})
		}
	}
	if could := s.engine.Plan(taken).Targets; len(could) > 0 {
		return s.noCapacity(could)
	}
	if plan.Earliest().IsZero() {
		op := h.op(lease.Invalidate)
		op.Reason = lease.ConnectionIneligible
		for _, e := range plan.Excluded {
			if e.Conn.ID() == h.connection && e.Reason == exclusion.CreditsExhausted {
				op.Reason = lease.QuotaUnavailable
			}
		}
		if _, err := s.changeLease(ctx, op); err != nil {
			s.cfg.Log.Error("lease not ended", "error", err)
		}
	}
	return nil
}
