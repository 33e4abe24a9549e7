package control

import (
	"context"
	"slices"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/resilience/admission"
	"breakwater/resilience/exclusion"
)

// Snapshot returns the present state of everything.
func (s *Service) Snapshot(context.Context) (Snapshot, error) { return s.snapshot(), nil }

// Subscribe returns a stream of events that begins with a snapshot.
func (s *Service) Subscribe(ctx context.Context) (<-chan Event, error) {
	out := s.hub.subscribe(ctx, s.snapshot())
	// The publisher sleeps while nobody listens; wake it, so that it knows
	// when a state shown in this first snapshot ends.
	mark(s.listened)
	return out, nil
}

func (s *Service) snapshot() Snapshot {
	snap := Snapshot{
		Seq: s.seq.Add(1), At: time.Now().Round(0), Version: s.cfg.Version, Endpoint: s.cfg.Endpoint,
		Demo:        s.cfg.Panel != nil,
		Connections: []Connection{}, Breakers: s.breakers(), Combos: s.comboBriefs(),
	}
	if s.cfg.Secrets != nil {
		snap.SecretsIn = s.cfg.Secrets.Backend()
	}
	snap.Paused, snap.PausedUntil = s.pausedUntil()
	snap.Notices = s.rootsNotice(s.cfg.Store.Notices())
	snap.Storage = storageFault(snap.Notices)
	queued := s.queued()
	for _, r := range s.Routes() {
		c := s.view(r)
		c.Queued = queued[c.ID]
		snap.Connections = append(snap.Connections, c)
	}
	snap.Health = health(snap)
	return snap
}

// queued counts the requests that wait for a turn, by connection.
func (s *Service) queued() map[string]int {
	waiting := map[string]int{}
	for _, v := range s.queues.Views() {
		waiting[v.Connection] += int(v.Queued)
	}
	for _, v := range s.gates.Views() {
		if v.Key.Level == admission.Account {
			waiting[v.Key.Account] += v.Queued
		}
	}
	return waiting
}

// view shows one connection.
func (s *Service) view(r *Route) Connection {
	rec := r.Record
	c := Connection{
		ID: rec.ID, Provider: rec.Provider, ProviderName: r.Provider.Name, Name: rec.Name,
		AuthType: string(r.Provider.Profile), Credential: rec.Credential, HasSecret: r.hasSecret(),
		Dialects: r.Dialects(), BaseURL: r.BaseURL(), CustomBaseURL: rec.BaseURL != "",
		DefaultModel: rec.DefaultModel, Models: rec.Models, Priority: rec.Priority, Active: rec.Active,
		DisableCooling: rec.DisableCooling, Claude: isClaude(r.Provider),
		LowPriorityMode: rec.LowPriorityMode, AutoLimitReset: rec.AutoLimitReset, RateLimitProtection: rec.RateLimitProtection, Limits: rec.Limits,
		Offers:   r.models,
		InFlight: int(r.Use.InFlight.Load()), Served: r.Use.Served.Load(), Failed: r.Use.Failed.Load(),
	}
	for _, m := range s.waits.list() {
		m.Show(r, &c)
	}
	if rec.Active && r.keyMissing() {
		c.State, c.Until, c.Reason = StateKeyMissing, nil, string(exclusion.KeyMissing)
	}
	c.LeasedUntil = s.leasedUntil(rec.ID)
	c.ClientID, c.TokenURL, c.TokenFormat = rec.ClientID, rec.TokenURL, rec.TokenFormat
	c.ProxyURL, c.HasProxyLogin = rec.ProxyURL, r.proxy != rec.ProxyURL
	if c.Models == nil {
		c.Models = []string{}
	}
	if ms := r.Use.LastUsed.Load(); ms != 0 {
		t := time.UnixMilli(ms)
		c.LastUsedAt = &t
	}
	return c
}

func (s *Service) breakers() []Breaker {
	out := []Breaker{}
	for _, b := range s.engine.Breakers() {
		v := Breaker{
			Provider: b.Name, ProviderName: s.providerName(b.Name), State: b.State,
			FailureCount: b.FailureCount, FailureThreshold: b.FailureThreshold,
			DegradationThreshold: b.DegradationThreshold, OpenCycleCount: b.OpenCycleCount,
			LastFailureKind: string(b.LastFailureKind), LastFailure: s.Real(b.LastFailureTime),
			Until: s.Real(b.Until),
		}
		if v.Until != nil {
			v.RetryAfterMs = max(time.Until(*v.Until).Milliseconds(), 0)
		}
		out = append(out, v)
	}
	return out
}

// health is the tray icon's state.
func health(s Snapshot) Health {
	if s.Paused {
		return HealthDown
	}
	enabled, available, slow := 0, 0, false
	for _, c := range s.Connections {
		if c.State == StateOff {
			continue
		}
		enabled++
		if c.State.Available() {
			available++
		}
		slow = slow || c.State != StateServing
	}
	switch {
	case enabled > 0 && available == 0:
		return HealthUnavailable
	case available < enabled, slices.ContainsFunc(s.Notices, func(n Notice) bool { return n.Grave() }):
		return HealthTrouble
	case enabled == 0:
		return HealthIdle // nothing is wrong, and nothing is set up
	case slow:
		return HealthDegraded
	}
	return HealthWell
}

// Providers returns the catalogue, without the demo's own entries.
func (s *Service) Providers(context.Context) ([]Provider, error) {
	var out []Provider
	for _, p := range catalog.All() {
		if p.Hidden {
			continue
		}
		v := Provider{
			ID: p.ID, Name: p.Name, AuthType: string(p.Profile), BaseURLs: map[string]string{},
			Models: p.Models, KeyEnv: p.KeyEnv, KeyURL: p.KeyURL, Custom: p.Custom, Claude: isClaude(p),
		}
		for _, m := range catalog.Models(p.ID) {
			known := KnownModel{
				Name: m.Name, Context: m.Context, MaxOutput: m.MaxOutput, Tools: m.Tools, Vision: m.Vision, Schema: m.Schema, Reasoning: m.Reasoning,
			}
			if m.Priced {
				known.Input, known.Output = &m.Input, &m.Output
			}
			v.KnownModels = append(v.KnownModels, known)
		}
		for _, e := range p.Endpoints {
			name := string(e.Dialect.Traits().Name)
			v.Dialects = append(v.Dialects, name)
			v.BaseURLs[name] = e.URL
		}
		for _, c := range p.Credentials {
			v.Credentials = append(v.Credentials, string(c))
		}
		out = append(out, v)
	}
	return out, nil
}
