package cases

import (
	"slices"
	"strings"
	"testing"

	"breakwater/proxy/control"
	"breakwater/resilience/lease"
	"breakwater/tests/scenario"
)

// The operator sees who holds what, and may take it back; the owner is a few
// digits of its digest and stays fenced out afterwards.
func TestTheOperatorSeesAndEndsLeases(t *testing.T) {
	k := scenario.Start(t)
	k.Pair()
	key := leaseKey(t, k, "alpha", "beta")
	a, b := newSession(t, k, key.Key, "a"), newSession(t, k, key.Key, "b")
	gen := a.hold()
	b.hold()
	list, err := k.Facade().Leases(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("leases %+v, %v", list, err)
	}
	l := list[slices.IndexFunc(list, func(l control.HeldLease) bool { return strings.HasPrefix(lease.Hash(a.owner), l.Owner) })]
	if l.ConnectionName != "alpha" || l.ConnectionID != k.Connection("alpha").ID || l.Provider != "demo" || l.KeyID != key.ID || l.KeyName != key.Name ||
		l.Generation != gen || !l.Until.After(l.Since) || len(l.Owner) != 8 {
		t.Errorf("lease %+v", l)
	}
	if err := k.Facade().EndLease(t.Context(), l.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a request after the end", a.post(gen), 409, "LEASE_REQUIRED")
	wantCode(t, "a renewal after the end", a.lease(`{"action":"renew","generation":1}`), 409, "LEASE_FENCE_STALE")
	if again := a.hold(); again != gen+1 {
		t.Errorf("the owner acquires generation %d, want %d", again, gen+1)
	}
	if list, err = k.Facade().Leases(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("leases %+v, %v", list, err)
	}
}

// A lease that nobody renews is told to have ended when it ends, and the end
// outlives a restart.
func TestTheEndOfALeaseIsTold(t *testing.T) {
	k := scenario.StartFast(t, 1000)
	k.Pair()
	l := listen(t, k)
	s := newSession(t, k, leaseKey(t, k, "alpha").Key, "a")
	gen := s.hold()
	if c := l.next(control.EventLease, "EXPIRED"); c.Reason != "TTL_EXPIRED" || c.Generation != gen || c.ConnectionName != "alpha" {
		t.Errorf("lease %+v", c)
	}
	if list, err := k.Facade().Leases(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("leases %+v, %v", list, err)
	}
	active, err := k.Store.ActiveLeases(t.Context(), k.Product.Service.Now())
	if err != nil || len(active) != 0 {
		t.Errorf("stored as active: %+v, %v", active, err)
	}
}
