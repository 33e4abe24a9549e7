// Package facadetest provides a facade in memory and the contract that every
// facade keeps, for tests.
package facadetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/proxy/control"
)

// Fake is a control.Facade in memory. It validates as much as the contract
// asks for and knows no network. Change its exported fields before use only.
type Fake struct {
	Desktop bool          // a desktop is attached
	Panel   *control.Demo // the fault panel; nil outside the demo
	// Tested is what TestConnection answers.
	Tested control.TestResult
	// Fail, when set, is asked before every call and may refuse it.
	Fail func(method string) error

	shows         atomic.Uint64
	mu            sync.Mutex
	changed       *sync.Cond
	snap          control.Snapshot
	settings      control.Settings
	policy        policy
	activity      []control.Activity
	keys          []control.APIKey
	leases        []control.HeldLease
	combos        []control.Combo
	comboSettings control.ComboSettings
	revision      int64
	calls         []string
	subs          map[*subscriber]struct{}
	serial        int
}

var _ control.Facade = (*Fake)(nil)

// New returns a fake without connections.
func New() *Fake {
	f := &Fake{
		snap: control.Snapshot{
			Version: "1.2.3", Endpoint: "http://127.0.0.1:7411", Health: control.HealthWell,
			Connections: []control.Connection{}, Breakers: []control.Breaker{}, Combos: []control.ComboBrief{},
		},
		comboSettings: control.ComboSettings{
			ComboDefaults: map[string]any{}, ProviderOverrides: map[string]map[string]any{}, ModelFacts: map[string]control.ModelFact{},
		},
		settings: control.DefaultSettings(),
		subs:     map[*subscriber]struct{}{},
	}
	f.changed = sync.NewCond(&f.mu)
	return f
}

// enter records the call and asks Fail; the lock is held on return.
func (f *Fake) enter(ctx context.Context, method string) error {
	var err error
	if f.Fail != nil {
		err = f.Fail(method)
	}
	f.mu.Lock()
	f.calls = append(f.calls, method)
	return cmp.Or(err, ctx.Err())
}

// Calls returns the names of the methods called so far.
func (f *Fake) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// Change edits the state and publishes it.
func (f *Fake) Change(edit func(*control.Snapshot)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	edit(&f.snap)
	f.publishSnapshot()
}

// AddActivity puts a row in front of the log and publishes it.
func (f *Fake) AddActivity(a control.Activity) {
	f.mu.Lock()
	f.activity = append([]control.Activity{a}, f.activity...)
	f.mu.Unlock()
	f.Publish(control.Event{Type: control.EventActivity, Activity: &a})
}

// Snapshot returns the present state.
func (f *Fake) Snapshot(ctx context.Context) (control.Snapshot, error) {
	err := f.enter(ctx, "Snapshot")
	defer f.mu.Unlock()
	return f.copy(), err
}

func (f *Fake) copy() control.Snapshot {
	f.snap.Seq++
	s := f.snap
	s.At = time.Now().UTC().Round(0)
	s.Connections = slices.Clone(s.Connections)
	s.Breakers = slices.Clone(s.Breakers)
	for i := range s.Connections {
		s.Connections[i] = whole(s.Connections[i])
	}
	return s
}

// whole fills the lists that no facade leaves out.
func whole(c control.Connection) control.Connection {
	c.Dialects, c.Models = append([]string{}, c.Dialects...), append([]string{}, c.Models...)
	return c
}

// KnownModels returns one model for each connection.
func (f *Fake) KnownModels(ctx context.Context) ([]control.ConnectionModels, error) {
	err := f.enter(ctx, "KnownModels")
	defer f.mu.Unlock()
	out := []control.ConnectionModels{}
	for _, c := range f.snap.Connections {
		out = append(out, control.ConnectionModels{
			ConnectionID: c.ID, Connection: c.Name, Provider: c.Provider, Models: []control.OfferedModel{{Name: "claude-opus-5", Context: 1_000_000}},
		})
	}
	return out, err
}

// Providers returns a catalogue of two.
func (f *Fake) Providers(ctx context.Context) ([]control.Provider, error) {
	err := f.enter(ctx, "Providers")
	defer f.mu.Unlock()
	return []control.Provider{
		{ID: "anthropic", Name: "Anthropic", AuthType: "apikey", Dialects: []string{"anthropic"}, Credentials: []string{"apikey"}, Models: []string{"claude-*"}, BaseURLs: map[string]string{}},
		{ID: "custom", Name: "Custom", AuthType: "apikey", Dialects: []string{"chat"}, Credentials: []string{"apikey", "none"}, Models: []string{"*"}, BaseURLs: map[string]string{}, Custom: true},
	}, err
}

// AddConnection adds a connection that serves at once.
func (f *Fake) AddConnection(ctx context.Context, in control.ConnectionInput) (control.Connection, error) {
	if err := f.enter(ctx, "AddConnection"); err != nil {
		f.mu.Unlock()
		return control.Connection{}, err
	}
	defer f.mu.Unlock()
	switch {
	case in.Provider != "anthropic" && in.Provider != "custom":
		return control.Connection{}, control.Invalid("provider", "not in the catalogue")
	case in.Provider == "anthropic" && in.APIKey == "":
		return control.Connection{}, control.Invalid("apiKey", "a key is needed")
	case f.named(in.Name, ""):
		return control.Connection{}, control.Invalid("name", "another connection has this name")
	}
	f.serial++
	c := control.Connection{
		ID: fmt.Sprintf("c%d", f.serial), Provider: in.Provider, ProviderName: in.Provider,
		Name: cmp.Or(in.Name, fmt.Sprintf("%s %d", in.Provider, f.serial)), AuthType: "apikey",
		Credential: cmp.Or(in.Credential, "apikey"), HasSecret: in.APIKey != "", BaseURL: in.BaseURL,
		CustomBaseURL: in.BaseURL != "", Dialects: in.Dialects,
		DefaultModel: in.DefaultModel, Models: in.Models, Priority: cmp.Or(in.Priority, len(f.snap.Connections)+1),
		Active: !in.Inactive, DisableCooling: in.DisableCooling, LowPriorityMode: in.LowPriorityMode,
		AutoLimitReset: in.AutoLimitReset, ProxyURL: in.ProxyURL, State: control.StateServing, TestStatus: "active",
		Limits: control.Limits{
			MaxConcurrent: in.MaxConcurrent, QuotaWindowThresholds: in.QuotaWindowThresholds, RotationOverrides: in.RotationOverrides,
			Tags: in.Tags, Group: in.Group, HealthCheckInterval: in.HealthCheckInterval, Extras: in.Extras,
		},
	}
	if in.Inactive {
		c.State = control.StateOff
	}
	f.snap.Connections = append(slices.Clone(f.snap.Connections), c)
	f.publishSnapshot()
	return whole(c), nil
}

func (f *Fake) named(name, except string) bool {
	return name != "" && slices.ContainsFunc(f.snap.Connections, func(c control.Connection) bool {
		return c.Name == name && c.ID != except
	})
}

func (f *Fake) find(id string) int {
	return slices.IndexFunc(f.snap.Connections, func(c control.Connection) bool { return c.ID == id })
}

// edit changes one connection under the lock.
func (f *Fake) edit(ctx context.Context, method, id string, change func(*control.Connection) error) (control.Connection, error) {
	err := f.enter(ctx, method)
	defer f.mu.Unlock()
	if err != nil {
		return control.Connection{}, err
	}
	i := f.find(id)
	if i < 0 {
		return control.Connection{}, control.ErrNotFound
	}
	c := f.snap.Connections[i]
	if err := change(&c); err != nil {
		return control.Connection{}, err
	}
	f.snap.Connections = slices.Clone(f.snap.Connections)
	f.snap.Connections[i] = c
	f.publishSnapshot()
	return whole(c), nil
}

// EditConnection changes the fields that the patch holds.
func (f *Fake) EditConnection(ctx context.Context, id string, p control.ConnectionPatch) (control.Connection, error) {
	return f.edit(ctx, "EditConnection", id, func(c *control.Connection) error {
		if p.Name != nil && f.named(*p.Name, id) {
			return control.Invalid("name", "another connection has this name")
		}
		if p.ProxyURL != nil && strings.HasPrefix(*p.ProxyURL, "ftp:") {
			return control.Invalid("proxyUrl", "must be direct, or a URL that begins with http://, https:// or socks5://")
		}
		set(&c.Name, p.Name)
		set(&c.Credential, p.Credential)
		set(&c.BaseURL, p.BaseURL)
		set(&c.Dialects, p.Dialects)
		set(&c.DefaultModel, p.DefaultModel)
		set(&c.Models, p.Models)
		set(&c.Priority, p.Priority)
		set(&c.Active, p.Active)
		set(&c.DisableCooling, p.DisableCooling)
		set(&c.LowPriorityMode, p.LowPriorityMode)
		set(&c.AutoLimitReset, p.AutoLimitReset)
		set(&c.RotationOverrides, p.RotationOverrides)
		set(&c.Tags, p.Tags)
		set(&c.Group, p.Group)
		set(&c.ProxyURL, p.ProxyURL)
		if err := limits(c, p); err != nil {
			return err
		}
		c.HasSecret = c.HasSecret || p.APIKey != nil && *p.APIKey != ""
		c.State = control.StateServing
		if !c.Active {
			c.State = control.StateOff
		}
		return nil
	})
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// DeleteConnection forgets a connection.
func (f *Fake) DeleteConnection(ctx context.Context, id string) error {
	err := f.enter(ctx, "DeleteConnection")
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	i := f.find(id)
	if i < 0 {
		return control.ErrNotFound
	}
	f.snap.Connections = slices.Delete(slices.Clone(f.snap.Connections), i, i+1)
	f.publishSnapshot()
	return nil
}

// ReorderConnections sets the priorities.
func (f *Fake) ReorderConnections(ctx context.Context, ids []string) error {
	err := f.enter(ctx, "ReorderConnections")
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	rank := map[string]int{}
	for i, id := range ids {
		if f.find(id) < 0 {
			return control.Invalid("ids", "there is no connection %q", id)
		}
		rank[id] = i - len(ids)
	}
	order := slices.Clone(f.snap.Connections)
	slices.SortStableFunc(order, func(a, b control.Connection) int { return cmp.Compare(rank[a.ID], rank[b.ID]) })
	for i := range order {
		order[i].Priority = i + 1
	}
	f.snap.Connections = order
	f.publishSnapshot()
	return nil
}

// TestConnection returns Tested; a valid one clears the connection.
func (f *Fake) TestConnection(ctx context.Context, id string) (control.TestResult, error) {
	_, err := f.edit(ctx, "TestConnection", id, func(c *control.Connection) error {
		if f.Tested.Valid {
			healthy(c)
		}
		return nil
	})
	if err != nil {
		return control.TestResult{}, err
	}
	return f.Tested, nil
}

func healthy(c *control.Connection) {
	c.State, c.TestStatus, c.RateLimitedUntil, c.Until = control.StateServing, "active", nil, nil
	c.BackoffLevel, c.ErrorCode, c.LastErrorType, c.LastErrorAt = 0, 0, "", nil
}

// ClearCooldown clears a connection that is not terminal.
func (f *Fake) ClearCooldown(ctx context.Context, id string) error {
	_, err := f.edit(ctx, "ClearCooldown", id, func(c *control.Connection) error {
		if !c.State.Terminal() {
			healthy(c)
		}
		return nil
	})
	return err
}

// ResetBreakers closes every breaker.
func (f *Fake) ResetBreakers(ctx context.Context) (int, error) {
	return f.resetBreakers(ctx, "ResetBreakers", func(string) bool { return true })
}

// ResetBreaker closes the breakers of one provider.
func (f *Fake) ResetBreaker(ctx context.Context, provider string) (int, error) {
	return f.resetBreakers(ctx, "ResetBreaker", func(name string) bool {
		return name == provider || strings.HasPrefix(name, provider+":")
	})
}

func (f *Fake) resetBreakers(ctx context.Context, call string, which func(name string) bool) (int, error) {
	err := f.enter(ctx, call)
	defer f.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n := 0
	f.snap.Breakers = slices.Clone(f.snap.Breakers)
	for i := range f.snap.Breakers {
		if which(f.snap.Breakers[i].Provider) {
			f.snap.Breakers[i].State = "CLOSED"
			n++
		}
	}
	f.publishSnapshot()
	return n, nil
}
