package control

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/resilience"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/lockout"
	"breakwater/resilience/outcome"
)

// apply returns the record with the patch's fields in it.
func apply(r ConnectionRecord, p ConnectionPatch) ConnectionRecord {
	set(&r.Credential, p.Credential)
	set(&r.Dialects, p.Dialects)
	set(&r.Models, p.Models)
	set(&r.Priority, p.Priority)
	set(&r.Active, p.Active)
	set(&r.DisableCooling, p.DisableCooling)
	set(&r.LowPriorityMode, p.LowPriorityMode)
	set(&r.AutoLimitReset, p.AutoLimitReset)
	set(&r.TimeoutMs, p.TimeoutMs)
	set(&r.TokenFormat, p.TokenFormat)
	for field, value := range map[*string]*string{
		&r.Name: p.Name, &r.DefaultModel: p.DefaultModel,
		&r.OrganizationUUID: p.OrganizationUUID, &r.ClientID: p.ClientID, &r.TokenURL: p.TokenURL,
	} {
		if value != nil {
			*field = strings.TrimSpace(*value)
		}
	}
	// The address in force, given again, stays: a test may have found out that
	// the server has no /v1.
	if p.BaseURL != nil && strings.TrimSpace(*p.BaseURL) != r.BaseURL {
		r.BaseURL = NormalBaseURL(*p.BaseURL)
	}
	return r
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// ReorderConnections sets the routing order.
func (s *Service) ReorderConnections(ctx context.Context, ids []string) error {
	s.edit.Lock()
	defer s.edit.Unlock()
	rank := make(map[string]int, len(ids))
	for i, id := range ids {
		if _, ok := s.Route(id); !ok {
			return Invalid("ids", "there is no connection %q", id)
		}
		if _, twice := rank[id]; twice {
			return Invalid("ids", "%q is named twice", id)
		}
		rank[id] = i + 1
	}
	order := slices.Clone(s.Routes())
	place := func(r *Route) int { return cmp.Or(rank[r.Record.ID], len(ids)+1) }
	slices.SortStableFunc(order, func(a, b *Route) int { return cmp.Compare(place(a), place(b)) })
	priorities := make(map[string]int, len(order))
	for i, r := range order {
		moved := *r
		moved.Record.Priority = i + 1
		order[i], priorities[r.Record.ID] = &moved, i+1
	}
	if err := s.cfg.Store.SavePriorities(ctx, priorities); err != nil {
		return fmt.Errorf("store the order: %w", err)
	}
	s.setRoutes(order)
	return nil
}

// TestConnection asks the provider whether the credential works.
func (s *Service) TestConnection(ctx context.Context, id string) (TestResult, error) {
	r, ok := s.Route(id)
	if !ok {
		return TestResult{}, ErrNotFound
	}
	if r.keyMissing() {
		return TestResult{
			Error: wordsKeyMissing, TestedAt: time.Now().Round(0),
			Diagnosis: Diagnosis{Type: string(exclusion.KeyMissing), Source: "local", Message: wordsKeyMissing},
		}, nil
	}
	if r.login != nil {
		s.retryRefresh(r)
		if _, err := s.Bearer(ctx, r); err != nil {
			return TestResult{
				Error: err.Error(), TestedAt: time.Now().Round(0),
				Diagnosis: Diagnosis{Type: "token_expired", Source: "local", Message: err.Error()},
			}, nil
		}
	}
	got, found := s.test(ctx, r)
	res := got.TestResult
	res.TestedAt = time.Now().Round(0)
	if got.BaseURL != "" {
		if err := s.adopt(ctx, r, got.BaseURL); err != nil {
			return res, err
		}
		r, _ = s.Route(id)
	}
	if r != nil {
		s.keepList(ctx, r, got.Models)
	}
	if res.Valid && r != nil {
		s.proved(r, got.Model)
	} else if found.Class == outcome.Failure && r != nil {
		// On record, without a penalty (sheet §3.11, step 10).
		s.engine.BeginTest(resilience.Target{Conn: r.Conn}).Report(found)
		s.markState()
	}
	return res, nil
}

const wordsKeyMissing = "its key is missing on this machine; type it again"

// ClearCooldown puts a cooling connection back into routing.
func (s *Service) ClearCooldown(_ context.Context, id string) error {
	r, ok := s.Route(id)
	if !ok {
		return ErrNotFound
	}
	s.liftOf(WaitsCleared, r)
	return nil
}

// ClearLockouts makes locked models available again.
func (s *Service) ClearLockouts(_ context.Context, f LockoutFilter) (int, error) {
	provider := f.Provider
	if p, ok := catalog.Lookup(provider); ok {
		provider = p.ID
	}
	l := Lifting{Event: ModelsUnlocked, Model: f.Model}
	for _, r := range s.Routes() {
		if (provider == "" || lockout.Canonical(provider) == lockout.Canonical(r.Conn.Provider())) &&
			(f.ConnectionID == "" || strings.EqualFold(f.ConnectionID, r.Record.ID)) {
			l.Routes = append(l.Routes, r)
		}
	}
	return s.lift(l), nil
}

// ResetBreakers closes every breaker and returns how many there were.
func (s *Service) ResetBreakers(context.Context) (int, error) {
	return s.lift(Lifting{Event: BreakersReset, Routes: s.Routes()}), nil
}

// ResetBreaker closes the breaker of one provider.
func (s *Service) ResetBreaker(_ context.Context, provider string) (int, error) {
	if p, ok := catalog.Lookup(provider); ok {
		provider = p.ID
	}
	names := []string{}
	for _, b := range s.engine.Breakers() {
		if b.Name == provider || strings.HasPrefix(b.Name, provider+":") {
			names = append(names, b.Name)
		}
	}
	l := Lifting{Event: BreakersReset, Breakers: names}
	for _, r := range s.Routes() {
		if slices.Contains(names, r.breakerName()) {
			l.Routes = append(l.Routes, r)
		}
	}
	return s.lift(l), nil
}

// MaxPause is the longest pause that ends by itself.
const MaxPause = 24 * time.Hour

// forever is the end of a pause that lasts until it is resumed.
const forever = math.MaxInt64

// PauseFor makes the proxy refuse new requests for a while.
func (s *Service) PauseFor(_ context.Context, d time.Duration) error {
	if d < time.Second || d > MaxPause {
		return Invalid("seconds", "Expected 1 to %d", int(MaxPause/time.Second))
	}
	s.pausedTo.Store(time.Now().Add(d).UnixMilli())
	s.markState()
	return nil
}

// pausedUntil returns whether new requests are refused, and the end of that if
// it has one.
func (s *Service) pausedUntil() (paused bool, until *time.Time) {
	switch ms := s.pausedTo.Load(); {
	case ms == forever:
		return true, nil
	case ms > time.Now().UnixMilli():
		return true, new(time.UnixMilli(ms))
	}
	return false, nil
}

// SetPaused makes the proxy refuse new requests, or serve them again.
func (s *Service) SetPaused(_ context.Context, paused bool) error {
	to := int64(0)
	if paused {
		to = forever
	}
	s.pausedTo.Store(to)
	s.markState()
	return nil
}

// Activity returns the newest requests first.
func (s *Service) Activity(ctx context.Context, q ActivityQuery) ([]Activity, error) {
	if q.Limit <= 0 {
		q.Limit = 100
	}
	q.Limit = min(q.Limit, 500)
	return s.cfg.Store.Activity(ctx, q)
}

// Settings returns the settings as they are now.
func (s *Service) Settings(context.Context) (Settings, error) { return s.Config(), nil }

// ShowWindow asks the desktop to open or raise the window.
func (s *Service) ShowWindow(_ context.Context, page string) error {
	if !s.desktop.Load() {
		return ErrNoDesktop
	}
	s.hub.publish(Event{Type: EventShow, Page: page, Show: s.shows.Add(1)})
	return nil
}

// Quit ends the program after the answer has been sent.
func (s *Service) Quit(context.Context) error {
	if s.cfg.Quit != nil {
		go s.cfg.Quit()
	}
	return nil
}

// Demo returns the fault panel.
func (s *Service) Demo(context.Context) (Demo, error) {
	if s.cfg.Panel == nil {
		return Demo{}, ErrNotFound
	}
	return s.withNames(s.cfg.Panel.Demo()), nil
}

// withNames names the connections of the panel, which knows their ids only.
func (s *Service) withNames(d Demo) Demo {
	for i, f := range d.Faults {
		if r, ok := s.Route(f.ConnectionID); ok {
			d.Faults[i].ConnectionName = r.Record.Name
		}
	}
	return d
}

// EditDemo changes the fault panel and the demo's clock.
func (s *Service) EditDemo(_ context.Context, p DemoPatch) (Demo, error) {
	if s.cfg.Panel == nil {
		return Demo{}, ErrNotFound
	}
	d, err := s.cfg.Panel.Apply(p)
	s.markState()
	mark(s.leases.changed) // their ends have moved with the clock
	return s.withNames(d), err
}
