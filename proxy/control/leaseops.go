package control

import (
	"context"
	"strings"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/lease"
)

// AcquireLease takes a lease on a connection that could serve the model now,
// or renews the one that the owner holds (settings sheet §4.3 and §4.4). The
// rules of models, health and cooldowns decide who could; a lease that its
// connection cannot honour any more moves, under the same generation. Errors
// are of type *LeaseError.
func (s *Service) AcquireLease(ctx context.Context, g Grant, owner, model string) (SessionLease, error) {
	if !validModel(model) || !g.AllowsModel(model) {
		return SessionLease{}, leaseError(LeaseModelInvalid, "This model cannot be resolved, or the key does not allow it.")
	}
	plan := s.engine.Plan(s.leaseCandidates(g, model))
	if len(plan.Targets) == 0 {
		return SessionLease{}, s.notEligible(plan)
	}
	op := lease.Op{Action: lease.Acquire, OwnerHash: lease.Hash(owner), KeyID: g.KeyID}
	targets := plan.Targets
	if own, ok := s.leaseOf(op.OwnerHash); ok {
		if own.KeyID != g.KeyID {
			return SessionLease{}, refusalOf(lease.OwnerAlreadyActive)
		}
		if at := find(targets, own.ConnectionID); at >= 0 {
			targets = targets[at : at+1]
		} else {
			op.Action, op.Generation = lease.Transition, own.Generation
			op.Reason = s.whyLeave(own.ConnectionID, model)
		}
	}
	for _, t := range targets {
		op.ConnectionID, op.Provider = t.Conn.ID(), s.providerOf(t.Conn.ID())
		out, err := s.changeLease(ctx, op)
		switch {
		case err != nil:
			return SessionLease{}, s.storeFailed(err)
		case out.Result.OK():
			return s.sessionView(out.Lease), nil
		case out.Result != lease.ConnectionBusy:
			return SessionLease{}, refusalOf(out.Result)
		}
	}
	return SessionLease{}, s.noCapacity(plan.Targets)
}

// RenewLease prolongs the owner's lease.
func (s *Service) RenewLease(ctx context.Context, g Grant, owner string, generation int64) (SessionLease, error) {
	return s.operate(ctx, lease.Op{Action: lease.Renew, OwnerHash: lease.Hash(owner), KeyID: g.KeyID, Generation: generation})
}

// ReleaseLease gives the owner's connection back. Releasing twice is no error.
func (s *Service) ReleaseLease(ctx context.Context, g Grant, owner string, generation int64, why lease.Reason) (SessionLease, error) {
	return s.operate(ctx, lease.Op{Action: lease.Release, OwnerHash: lease.Hash(owner), KeyID: g.KeyID, Generation: generation, Reason: why})
}

func (s *Service) operate(ctx context.Context, op lease.Op) (SessionLease, error) {
	out, err := s.changeLease(ctx, op)
	if err != nil {
		return SessionLease{}, s.storeFailed(err)
	}
	if !out.Result.OK() {
		return SessionLease{}, refusalOf(lease.Stale)
	}
	return s.sessionView(out.Lease), nil
}

// LeaseStatus shows the owner's lease with its connection.
func (s *Service) LeaseStatus(ctx context.Context, g Grant, owner string, generation int64) (SessionLease, error) {
	op := lease.Op{Action: lease.Check, OwnerHash: lease.Hash(owner), KeyID: g.KeyID, Generation: generation}
	out, err := s.cfg.Store.CheckLease(ctx, op, s.leaseNow())
	if err != nil {
		return SessionLease{}, s.storeFailed(err)
	}
	if out.Result != lease.Valid {
		return SessionLease{}, refusalOf(lease.Stale)
	}
	view := s.sessionView(out.Lease)
	view.Connection = &LeasedConnection{Provider: out.Lease.Provider}
	if r, ok := s.Route(out.Lease.ConnectionID); ok {
		view.Connection.DisplayName = &r.Record.Name
	}
	return view, nil
}

// maxLeaseModel is the longest model name of an acquire (settings sheet §4.4).
const maxLeaseModel = 512

func validModel(model string) bool {
	return model != "" && len(model) <= maxLeaseModel && strings.TrimSpace(model) == model && !strings.ContainsFunc(model, func(r rune) bool { return r < ' ' })
}

// leaseCandidates are the key's connections that offer the model, whichever
// dialect they speak: the lease is on a connection, not on a way to talk to it.
func (s *Service) leaseCandidates(g Grant, model string) []resilience.Candidate {
	var out []resilience.Candidate
	seen := map[*resilience.Conn]bool{}
	anybody := func(*Route) bool { return true } // the login comes with the requests
	for _, d := range dialect.All {
		choices, _ := s.choose(Ask{Dialect: d, Model: model, Admits: anybody, Grant: g}, nil)
		for _, c := range choices {
			if !seen[c.Route.Conn] {
				seen[c.Route.Conn] = true
				out = append(out, resilience.Candidate{Conn: c.Route.Conn, Model: c.Model})
			}
		}
	}
	return out
}

// notEligible tells a lack that time cures from one that it does not.
func (s *Service) notEligible(plan resilience.Plan) *LeaseError {
	if at := plan.Earliest(); !at.IsZero() {
		e := leaseError(LeaseEligibility, "Every connection that could serve is resting.")
		e.RetryAfter = at.Sub(s.Now())
		return e
	}
	return leaseError(LeaseNoEligible, "No connection of this key can serve this model.")
}

// noCapacity counts who could serve, and looks for the first lease to end.
func (s *Service) noCapacity(targets []resilience.Target) *LeaseError {
	now := s.leaseNow()
	held := s.holdings(now)
	var soonest time.Time
	for _, t := range targets {
		if l, ok := held[t.Conn.ID()]; ok && (soonest.IsZero() || l.ExpiresAt.Before(soonest)) {
			soonest = l.ExpiresAt
		}
	}
	return capacityError(len(targets), soonest, now)
}

// leaseOf returns the owner's lease in force.
func (s *Service) leaseOf(ownerHash string) (lease.Lease, bool) {
	for _, l := range s.holdings(s.leaseNow()) {
		if l.OwnerHash == ownerHash {
			return l, true
		}
	}
	return lease.Lease{}, false
}

// providerOf is the provider of a connection, empty for one that is gone.
func (s *Service) providerOf(id string) string {
	if r, ok := s.Route(id); ok {
		return r.Provider.ID
	}
	return ""
}

func find(targets []resilience.Target, id string) int {
	for i, t := range targets {
		if t.Conn.ID() == id {
			return i
		}
	}
	return -1
}

// whyLeave says in the table's words why a lease leaves its connection.
func (s *Service) whyLeave(id, model string) lease.Reason {
	r, ok := s.Route(id)
	if !ok {
		return lease.ConnectionIneligible
	}
	plan := s.engine.Plan([]resilience.Candidate{{Conn: r.Conn, Model: model}})
	if len(plan.Excluded) == 0 {
		if !r.serves(model) {
			return lease.ModelIneligible
		}
		return lease.HealthOrCooldown
	}
	switch plan.Excluded[0].Reason {
	case exclusion.ModelLocked:
		return lease.ModelIneligible
	case exclusion.CreditsExhausted:
		return lease.QuotaUnavailable
	case exclusion.Off, exclusion.Banned, exclusion.Expired, exclusion.WrongAddress:
		return lease.ConnectionIneligible
	}
	return lease.HealthOrCooldown
}
