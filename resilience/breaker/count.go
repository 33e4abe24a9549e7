package breaker

import (
	"time"

	"breakwater/resilience/outcome"
)

// The spans within which repeated failures count once (sheet §1.8): those of
// one connection, and network errors of one provider.
const (
	ConnectionDedup = 5 * time.Second
	NetworkDedup    = 10 * time.Second
)

// Route tells on which path a request came to the provider.
type Route struct {
	// Combo marks a target of a combo; NextSameProvider that the next target
	// is the same provider again, which then decides.
	Combo            bool
	NextSameProvider bool
	// LiveTest marks a test that a person forced.
	LiveTest bool
}

// Counts reports whether an outcome counts against the provider on this route
// (sheet §1.8). Failures of the request or of this machine never do. In a combo
// a failure that the next target will repeat is left to that target, except
// when the network or the outbound proxy is down.
func Counts(o outcome.Outcome, r Route) bool {
	if r.LiveTest || !o.Trips() || o.Scope == outcome.ScopeRequest {
		return false
	}
	if !r.Combo {
		return o.Scope != outcome.ScopeLocal
	}
	if o.Network {
		return true
	}
	return o.Scope != outcome.ScopeLocal && !r.NextSameProvider
}

// Once lets one event through per span. It is not safe for concurrent use.
type Once struct {
	last time.Time
}

// Allow reports whether span has passed since the last event it let through.
func (o *Once) Allow(now time.Time, span time.Duration) bool {
	if !o.last.IsZero() && !now.Before(o.last) && now.Sub(o.last) < span {
		return false
	}
	o.last = now
	return true
}

// Reset lets the next event through.
func (o *Once) Reset() { o.last = time.Time{} }
