package facadetest

import (
	"context"
	"slices"

	"breakwater/proxy/control"
)

// Leases returns the leases that SetLeases gave.
func (f *Fake) Leases(ctx context.Context) ([]control.HeldLease, error) {
	err := f.enter(ctx, "Leases")
	defer f.mu.Unlock()
	return append([]control.HeldLease{}, f.leases...), err
}

// EndLease drops a lease.
func (f *Fake) EndLease(ctx context.Context, id string) error {
	err := f.enter(ctx, "EndLease")
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	before := len(f.leases)
	f.leases = slices.DeleteFunc(f.leases, func(l control.HeldLease) bool { return l.ID == id })
	if len(f.leases) == before {
		return control.ErrNotFound
	}
	return nil
}

// SetLeases puts leases into the fake.
func (f *Fake) SetLeases(list ...control.HeldLease) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leases = slices.Clone(list)
}
