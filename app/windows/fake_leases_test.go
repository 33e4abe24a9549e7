//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"slices"
	"time"

	"breakwater/proxy/control"
)

// busyLeases are two leases, one of them about to end.
func busyLeases(now time.Time) []control.HeldLease {
	return []control.HeldLease{
		{
			ID: "l1", ConnectionID: "c2", ConnectionName: "Anthropic · home", Provider: "anthropic", Owner: "3fa94c01", KeyID: "k1", KeyName: "night build",
			Generation: 4, Since: now.Add(-12 * time.Minute), RenewedAt: now.Add(-20 * time.Second), Until: now.Add(40 * time.Second),
		},
		{ID: "l2", ConnectionID: "c6", ConnectionName: "Gemini", Provider: "gemini", Owner: "b1770aa2", KeyID: "k9", Generation: 1, Since: now.Add(-3 * time.Hour), RenewedAt: now.Add(-time.Minute), Until: now.Add(2 * time.Hour)},
	}
}

func (f *fake) Leases(context.Context) ([]control.HeldLease, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.leases), nil
}

func (f *fake) EndLease(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("end lease %s", id)
	f.leases = slices.DeleteFunc(f.leases, func(l control.HeldLease) bool { return l.ID == id })
	return f.refused()
}
