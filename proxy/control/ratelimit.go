package control

import (
	"context"
	"fmt"
	"slices"
)

// SetRateLimitProtection puts a connection's requests under the request queue,
// or takes the wish back: an active connection with an API key stays under it
// all the same (POST /api/rate-limits, its only writer).
func (s *Service) SetRateLimitProtection(ctx context.Context, id string, on bool) error {
	s.edit.Lock()
	defer s.edit.Unlock()
	old, ok := s.Route(id)
	if !ok {
		return ErrNotFound
	}
	r := *old
	r.Record.RateLimitProtection = on
	if err := s.cfg.Store.SaveConnection(ctx, r.Record); err != nil {
		return fmt.Errorf("store the connection: %w", err)
	}
	routes := slices.Clone(s.Routes())
	routes[slices.Index(routes, old)] = &r
	s.setRoutes(routes)
	return nil
}
