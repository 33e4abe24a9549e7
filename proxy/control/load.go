package control

import (
	"context"
	"encoding/json"
	"fmt"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
)

// load takes in what the store kept, the connections last: what they are put
// under is there then.
func (s *Service) load(ctx context.Context) error {
	set := DefaultSettings()
	raw, ok, err := s.cfg.Store.Setting(ctx, appSettings)
	if err != nil {
		return fmt.Errorf("load settings: %w", err)
	}
	if ok {
		if err := json.Unmarshal(raw, &set); err != nil {
			return fmt.Errorf("load settings: %w", err)
		}
	}
	s.settings.Store(&set)
	s.cfg.Store.SetActivityLimit(set.ActivityLimit)
	s.startRoots(set.CAFile)
	newest, err := s.cfg.Store.MaxActivityID(ctx)
	if err != nil {
		return fmt.Errorf("load activity: %w", err)
	}
	s.activity.Store(newest)
	if err := s.loadPolicy(ctx); err != nil {
		return err
	}
	if err := s.loadRevision(ctx); err != nil {
		return err
	}
	if err := s.loadComboSettings(ctx); err != nil {
		return err
	}
	if err := s.loadCombos(ctx); err != nil {
		return err
	}
	if err := s.loadKeys(ctx); err != nil {
		return err
	}
	if err := s.loadLeases(ctx); err != nil {
		return fmt.Errorf("load the leases: %w", err)
	}
	if err := s.loadConnections(ctx); err != nil {
		return err
	}
	return s.loadMemory(ctx)
}

func (s *Service) loadConnections(ctx context.Context) error {
	records, err := s.cfg.Store.Connections(ctx)
	if err != nil {
		return fmt.Errorf("load connections: %w", err)
	}
	breakers, err := s.cfg.Store.Breakers(ctx)
	if err != nil {
		return fmt.Errorf("load breakers: %w", err)
	}
	var routes []*Route
	var states []resilience.ConnectionState
	for _, rec := range records {
		p, ok := catalog.Lookup(rec.Provider)
		if !ok {
			s.cfg.Log.Warn("connection of an unknown provider is left out", "connection", rec.ID, "provider", rec.Provider)
			continue
		}
		for _, name := range rec.Dialects {
			if _, ok := dialect.Of(dialect.Name(name)); !ok {
				s.cfg.Log.Warn("unknown dialect of a connection is left out", "connection", rec.ID, "dialect", name)
			}
		}
		key, _, err := s.cfg.Secrets.Secret(SecretName(rec.ID))
		if err != nil {
			return fmt.Errorf("read the credential of connection %q: %w", rec.Name, err)
		}
		r := newRoute(rec, p, key)
		if err := s.loadProxy(r); err != nil {
			return err
		}
		r.Conn = s.engine.Upsert(r.engineConnection(s))
		if !rec.LastUsedAt.IsZero() {
			r.Use.LastUsed.Store(rec.LastUsedAt.UnixMilli())
		}
		routes = append(routes, r)
		states = append(states, rec.State)
	}
	s.setRoutes(routes)
	s.engine.Restore(states, breakers)
	if err := s.loadLists(ctx); err != nil {
		return err
	}
	return s.restoreEgress(ctx)
}
