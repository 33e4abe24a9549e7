package control

import (
	"context"
	"testing"
	"time"

	"breakwater/resilience/lease"
)

func (m *memory) ActiveLeases(context.Context, time.Time) ([]lease.Lease, error) { return nil, nil }

func TestLeaseErrorsHaveTheSheetsStatuses(t *testing.T) {
	for code, want := range map[string]int{
		LeaseAuthRequired: 401, LeaseKeyInvalid: 401, LeaseContentType: 415, LeaseActionInvalid: 400, LeaseScopeRequired: 403,
		LeaseKeyConfiguration: 403, LeaseContextRequired: 400, LeaseContextInvalid: 400, LeaseFenceStale: 409, LeaseRequired: 409,
		LeaseAuthMismatch: 409, LeaseConnMismatch: 409, LeaseOwnerActive: 409, LeaseModelInvalid: 400, LeaseNoEligible: 409,
		LeaseCapacity: 429, LeaseEligibility: 429, LeaseUnavailable: 503, LeaseUnsupportedRoute: 409,
	} {
		if got := (&LeaseError{Code: code}).Status(); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}

// Ruling 28: between one second and one hour, and one when nobody knows.
func TestLeaseWaitsAreBounded(t *testing.T) {
	now := time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		soonest time.Time
		want    int
	}{
		{time.Time{}, 1},
		{now, 1},
		{now.Add(-time.Hour), 1},
		{now.Add(1500 * time.Millisecond), 2},
		{now.Add(120 * time.Second), 120},
		{now.Add(2 * time.Hour), 3600},
	} {
		if e := capacityError(3, tc.soonest, now); e.RetrySeconds() != tc.want || e.Eligible != 3 {
			t.Errorf("%v: %d s, want %d", tc.soonest.Sub(now), e.RetrySeconds(), tc.want)
		}
	}
	if s := leaseError(LeaseFenceStale, "x").RetrySeconds(); s != 0 {
		t.Errorf("a stale fence asks to wait %d s", s)
	}
}

func TestRefusalsOfResults(t *testing.T) {
	for r, want := range map[lease.Result]string{
		lease.Required: LeaseRequired, lease.Stale: LeaseFenceStale, lease.AuthorizationMismatch: LeaseAuthMismatch,
		lease.ConnectionMismatch: LeaseConnMismatch, lease.OwnerAlreadyActive: LeaseOwnerActive,
	} {
		if e := refusalOf(r); e.Code != want || e.Message == "" {
			t.Errorf("%s: %+v", r, e)
		}
	}
}
