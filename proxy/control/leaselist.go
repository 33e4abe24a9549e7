package control

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"breakwater/resilience/lease"
)

// HeldLease is an exclusive lease as the operator sees it. The owner itself is
// nobody's business: Owner is the beginning of its digest, enough to tell two
// owners apart.
type HeldLease struct {
	ID             string    `json:"id"`
	ConnectionID   string    `json:"connectionId"`
	ConnectionName string    `json:"connectionName,omitempty"`
	Provider       string    `json:"provider"`
	Owner          string    `json:"owner,omitempty"` // 8 hexadecimal digits
	KeyID          string    `json:"keyId"`           // under which it was taken
	KeyName        string    `json:"keyName,omitempty"`
	Generation     int64     `json:"generation"`
	Since          time.Time `json:"since"`
	RenewedAt      time.Time `json:"renewedAt"`
	Until          time.Time `json:"until"`
}

// ownerDigits is how much of an owner's digest is shown.
const ownerDigits = 8

// Leases returns the exclusive leases in force, the first to end first.
func (s *Service) Leases(context.Context) ([]HeldLease, error) {
	names := map[string]string{}
	if keys := s.keys.Load(); keys != nil {
		for _, k := range *keys {
			names[k.ID] = k.Name
		}
	}
	held := slices.SortedFunc(maps.Values(s.holdings(s.leaseNow())), func(a, b lease.Lease) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), a.AcquiredAt.Compare(b.AcquiredAt), strings.Compare(a.ID, b.ID))
	})
	out := []HeldLease{}
	for _, l := range held {
		v := HeldLease{
			ID: l.ID, ConnectionID: l.ConnectionID, Provider: l.Provider, Owner: l.OwnerHash[:min(ownerDigits, len(l.OwnerHash))],
			KeyID: l.KeyID, KeyName: names[l.KeyID], Generation: l.Generation,
			Since: s.real(l.AcquiredAt).UTC(), RenewedAt: s.real(l.RenewedAt).UTC(), Until: s.real(l.ExpiresAt).UTC(),
		}
		if r, ok := s.Route(l.ConnectionID); ok {
			v.ConnectionName = r.Record.Name
		}
		out = append(out, v)
	}
	return out, nil
}

// EndLease takes a lease from its owner, whose requests and renewals are
// refused from now on. It returns ErrNotFound for one that is over.
func (s *Service) EndLease(ctx context.Context, id string) error {
	for _, l := range s.holdings(s.leaseNow()) {
		if l.ID != id {
			continue
		}
		out, err := s.changeLease(ctx, lease.Op{
			Action: lease.Invalidate, OwnerHash: l.OwnerHash, KeyID: l.KeyID, Generation: l.Generation, Reason: lease.AuthorizationChanged,
		})
		switch {
		case err != nil:
			return err
		case out.Result.OK():
			return nil
		}
	}
	return ErrNotFound
}

// lapseRest is the least wait between two looks at the leases, so that a clock
// of the core that stands still costs nothing.
const lapseRest = time.Second

// watchLeases ends the leases whose time runs out, so that it is told when it
// happens and not when somebody asks next. It has a timer only while there are
// leases.
func (s *Service) watchLeases(ctx context.Context) {
	rest := time.Duration(0)
	for {
		s.lapseLeases(ctx)
		var due <-chan time.Time
		var timer *time.Timer
		if at, ok := s.firstEnd(); ok {
			timer = time.NewTimer(max(time.Until(at), rest))
			due = timer.C
		}
		select {
		case <-s.stop:
		case <-s.leases.changed:
			rest = 0
		case <-due:
			rest = lapseRest
		}
		if timer != nil {
			timer.Stop()
		}
		if s.stopped() {
			return
		}
	}
}

func (s *Service) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// firstEnd is the real time at which the next lease runs out.
func (s *Service) firstEnd() (first time.Time, ok bool) {
	held := s.leases.held.Load()
	if held == nil {
		return first, false
	}
	for _, l := range *held {
		if at := s.real(l.ExpiresAt); !ok || at.Before(first) {
			first, ok = at, true
		}
	}
	return first, ok
}

// lapseLeases ends what has run out. Where that cannot be stored now, the
// store finds it out by itself when it is asked next.
func (s *Service) lapseLeases(ctx context.Context) {
	held := s.leases.held.Load()
	if held == nil {
		return
	}
	now := s.leaseNow()
	for id, l := range *held {
		if l.Live(now) {
			continue
		}
		_, err := s.changeLease(ctx, lease.Op{Action: lease.Check, OwnerHash: l.OwnerHash, ConnectionID: id})
		if err != nil {
			s.cfg.Log.Warn("the end of a lease is not stored yet", "error", err)
			s.forgetLease(l.At(now))
		}
	}
}

// forgetLease drops a lease that is over from memory.
func (s *Service) forgetLease(l lease.Lease) {
	s.leases.mu.Lock()
	s.keepLeases([]lease.Lease{l})
	s.leases.mu.Unlock()
	s.tellLease(l)
	s.markState()
}
