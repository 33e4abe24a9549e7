package control

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Egress is by which address a connection leaves this machine (guide §7).
type Egress struct {
	// Address is the outbound proxy's host and port, or the IP address by which
	// a probe was seen; empty when it is not known.
	Address string
	At      time.Time // core time
	// BaseURL, Proxy and ProbeURL are what it was found out with.
	BaseURL, Proxy, ProbeURL string
}

// EgressSeen is by which address a connection left, as the log tells.
type EgressSeen struct {
	ConnectionID, Address string
	At                    time.Time
}

// egressLookBack is how far back the log is asked (guide §7).
const egressLookBack = 24 * time.Hour

// restoreEgress tells the engine by which address the connections left before
// the restart. The log is read only where a provider's quota depends on it.
func (s *Service) restoreEgress(ctx context.Context) error {
	if !slices.ContainsFunc(s.Routes(), func(r *Route) bool { return s.sharedEgress(r.Provider.ID) }) {
		return nil
	}
	now := time.Now()
	seen, err := s.cfg.Store.LastEgress(ctx, now.Add(-egressLookBack))
	if err != nil {
		return fmt.Errorf("load the egress addresses: %w", err)
	}
	for _, e := range seen {
		if r, ok := s.Route(e.ConnectionID); ok {
			s.engine.SetEgress(r.Conn, e.Address, s.Now().Add(-max(now.Sub(e.At), 0)))
		}
	}
	return nil
}
