package control

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/resilience/lease"
)

// LeaseStore keeps the exclusive leases. An operation is decided on what is
// stored and has reached the disk when the call returns.
type LeaseStore interface {
	ChangeLease(ctx context.Context, op lease.Op, now time.Time) (lease.Outcome, error)
	// CheckLease decides an operation and stores nothing.
	CheckLease(ctx context.Context, op lease.Op, now time.Time) (lease.Outcome, error)
	// ActiveLeases returns the leases nobody has ended, run out or not.
	ActiveLeases(ctx context.Context, now time.Time) ([]lease.Lease, error)
}

// SessionLease is a lease as its owner sees it. It names no connection by its
// id and holds no credential.
type SessionLease struct {
	State      string    `json:"state"`
	Generation int64     `json:"generation"`
	AcquiredAt time.Time `json:"acquiredAt"`
	RenewedAt  time.Time `json:"renewedAt"`
	ExpiresAt  time.Time `json:"expiresAt"`
	// Connection is told to who asks for the status.
	Connection *LeasedConnection `json:"connection,omitempty"`
}

// LeasedConnection names the connection of a lease for people.
type LeasedConnection struct {
	DisplayName *string `json:"displayName"` // null for one that is gone
	Provider    string  `json:"provider"`
}

// heldLeases are the active leases by connection. The map is replaced, never
// changed.
type heldLeases map[string]lease.Lease

// leaseBook is what the service keeps of the leases in memory.
type leaseBook struct {
	mu      sync.Mutex // one lease changes at a time
	held    atomic.Pointer[heldLeases]
	changed chan struct{} // holds a token after a change
}

// leaseNow is the core's time in the precision in which leases are stored.
func (s *Service) leaseNow() time.Time { return s.Now().Round(0).UTC().Truncate(time.Millisecond) }

// loadLeases reads the leases that a former run left behind.
func (s *Service) loadLeases(ctx context.Context) error {
	list, err := s.cfg.Store.ActiveLeases(ctx, s.leaseNow())
	if err != nil {
		return err
	}
	held := heldLeases{}
	for _, l := range list {
		held[l.ConnectionID] = l
	}
	s.leases.held.Store(&held)
	return nil
}

// holdings returns the active leases as they stand now.
func (s *Service) holdings(now time.Time) heldLeases {
	all := s.leases.held.Load()
	if all == nil || len(*all) == 0 {
		return nil
	}
	live := make(heldLeases, len(*all))
	for id, l := range *all {
		if l = l.At(now); l.State == lease.Active {
			live[id] = l
		}
	}
	return live
}

// changeLease runs one operation and keeps the leases in memory in step.
func (s *Service) changeLease(ctx context.Context, op lease.Op) (lease.Outcome, error) {
	op.ID = newID()
	s.leases.mu.Lock()
	out, err := s.cfg.Store.ChangeLease(ctx, op, s.leaseNow())
	if err == nil {
		s.keepLeases(out.Write)
	}
	s.leases.mu.Unlock()
	for _, l := range out.Write {
		s.tellLease(l)
		s.markState()
	}
	return out, err
}

// keepLeases brings what is in memory in step with what was stored; the lock is
// held.
func (s *Service) keepLeases(written []lease.Lease) {
	if len(written) == 0 {
		return
	}
	next := maps.Clone(*s.leases.held.Load())
	for _, l := range written {
		if l.State == lease.Active {
			next[l.ConnectionID] = l
		} else if next[l.ConnectionID].ID == l.ID {
			delete(next, l.ConnectionID)
		}
	}
	s.leases.held.Store(&next)
	mark(s.leases.changed)
}

// endLeases invalidates the leases that match; what cannot be ended now ends
// by itself.
func (s *Service) endLeases(ctx context.Context, why lease.Reason, match func(lease.Lease) bool) {
	for _, l := range s.holdings(s.leaseNow()) {
		if !match(l) {
			continue
		}
		_, err := s.changeLease(ctx, lease.Op{
			Action: lease.Invalidate, OwnerHash: l.OwnerHash, KeyID: l.KeyID, Generation: l.Generation, Reason: why,
		})
		if err != nil {
			s.cfg.Log.Error("lease not ended", "reason", string(why), "error", err)
		}
	}
}

// keyChanged ends the leases that a key's new form does not allow.
func (s *Service) keyChanged(ctx context.Context, k KeyRecord) {
	revoked := k.refuses(ScopeLease, s.realNow()) != nil
	s.endLeases(ctx, lease.ManagedKeyRevoked, func(l lease.Lease) bool { return revoked && l.KeyID == k.ID })
	g := Grant{Connections: k.AllowedConnections}
	s.endLeases(ctx, lease.AuthorizationChanged, func(l lease.Lease) bool {
		return l.KeyID == k.ID && !g.AllowsConnection(l.ConnectionID)
	})
}

// reserved returns the connections that belong to keys for leases; other
// traffic keeps off them, leased or not (settings sheet §4.5).
func (s *Service) reserved() map[string]bool {
	keys := s.keys.Load()
	if keys == nil {
		return nil
	}
	var ids map[string]bool
	for _, k := range *keys {
		if len(k.AllowedConnections) == 0 || k.refuses(ScopeLease, s.realNow()) != nil {
			continue
		}
		if ids == nil {
			ids = map[string]bool{}
		}
		for _, id := range k.AllowedConnections {
			ids[id] = true
		}
	}
	return ids
}

// leasedUntil is when the lease on a connection ends, nil without one.
func (s *Service) leasedUntil(id string) *time.Time {
	held := s.leases.held.Load()
	if held == nil {
		return nil
	}
	if l := (*held)[id].At(s.leaseNow()); l.State == lease.Active {
		return s.Real(l.ExpiresAt)
	}
	return nil
}

// Leased reports whether a connection is out of reach for everything but the
// requests of its owner: work in the background leaves it alone.
func (s *Service) Leased(id string) bool {
	_, held := s.holdings(s.leaseNow())[id]
	return held || s.reserved()[id]
}

// leasing reports whether there are leases, or keys for them, at all.
func (s *Service) leasing() bool {
	if held := s.leases.held.Load(); held != nil && len(*held) > 0 {
		return true
	}
	keys := s.keys.Load()
	return keys != nil && slices.ContainsFunc(*keys, func(k KeyRecord) bool { return slices.Contains(k.Scopes, ScopeLease) })
}

// takenFrom returns the test whether a connection is out of reach for a
// request, nil when none is.
func (s *Service) takenFrom(h *Hold) func(id string) bool {
	if h == nil && !s.leasing() {
		return nil // the usual case costs no look at the clock
	}
	held := s.holdings(s.leaseNow())
	if h != nil {
		return func(id string) bool { l, ok := held[id]; return ok && l.OwnerHash != h.owner }
	}
	reserved := s.reserved()
	if len(held) == 0 && len(reserved) == 0 {
		return nil
	}
	return func(id string) bool { _, ok := held[id]; return ok || reserved[id] }
}

// sessionView shows a lease to its owner.
func (s *Service) sessionView(l lease.Lease) SessionLease {
	return SessionLease{
		State: string(l.State), Generation: l.Generation,
		AcquiredAt: s.real(l.AcquiredAt).UTC(), RenewedAt: s.real(l.RenewedAt).UTC(), ExpiresAt: s.real(l.ExpiresAt).UTC(),
	}
}
