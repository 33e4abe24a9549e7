//go:build (cgo || ci) && !nogui

package windows

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"breakwater/proxy/control"
)

// fake is a facade with made-up state that notes what is asked of it.
type fake struct {
	control.Facade // what no page asks for yet
	mu             sync.Mutex
	snap           control.Snapshot
	rows           []control.Activity
	settings       control.Settings
	demo           control.Demo
	combos         []control.Combo
	keys           []control.APIKey
	policy         policyState
	leases         []control.HeldLease
	refuse         error // returned by the next change
	result         control.TestResult
	known          []control.ConnectionModels
	calls          []string
	added          []control.ConnectionInput
	patches        []control.ConnectionPatch
	listeners      []chan control.Event
}

var _ control.Facade = (*fake)(nil)

func (f *fake) note(format string, args ...any) {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

// did reports whether a call was made.
func (f *fake) did(call string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.calls, call)
}

func (f *fake) Snapshot(context.Context) (control.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.snap, nil
}

func (f *fake) Subscribe(ctx context.Context) (<-chan control.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan control.Event, 64)
	s := f.snap
	ch <- control.Event{Type: control.EventSnapshot, Snapshot: &s}
	f.listeners = append(f.listeners, ch)
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if at := slices.Index(f.listeners, ch); at >= 0 {
			f.listeners = slices.Delete(f.listeners, at, at+1)
			close(ch)
		}
	})
	return ch, nil
}

// push tells every listener the present state; the caller holds the lock.
func (f *fake) push() {
	f.snap.Seq++
	s := f.snap
	s.Connections = slices.Clone(s.Connections)
	for _, ch := range f.listeners {
		select {
		case ch <- control.Event{Type: control.EventSnapshot, Snapshot: &s}:
		default:
		}
	}
}

func (f *fake) Providers(context.Context) ([]control.Provider, error) { return fakeProviders(), nil }

func (f *fake) KnownModels(context.Context) ([]control.ConnectionModels, error) {
	return f.known, nil
}

func (f *fake) refused() error {
	err := f.refuse
	f.refuse = nil
	return err
}

func (f *fake) AddConnection(_ context.Context, in control.ConnectionInput) (control.Connection, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added = append(f.added, in)
	f.note("add %s", in.Provider)
	if err := f.refused(); err != nil {
		return control.Connection{}, err
	}
	name := in.Name
	var p control.Provider
	for _, x := range fakeProviders() {
		if x.ID == in.Provider {
			p = x
		}
	}
	if name == "" {
		name = p.Name
	}
	c := control.Connection{
		ID: fmt.Sprintf("new%d", len(f.added)), Provider: p.ID, ProviderName: p.Name, Name: name, Credential: in.Credential,
		HasSecret: in.APIKey != "", Dialects: p.Dialects, BaseURL: p.BaseURLs[p.Dialects[0]], Priority: len(f.snap.Connections) + 1,
		Active: true, State: control.StateServing, Claude: p.Claude, LowPriorityMode: in.LowPriorityMode, AutoLimitReset: in.AutoLimitReset,
	}
	f.snap.Connections = append(f.snap.Connections, c)
	f.push()
	return c, nil
}

func (f *fake) EditConnection(_ context.Context, id string, patch control.ConnectionPatch) (control.Connection, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.patches = append(f.patches, patch)
	f.note("edit %s", id)
	if err := f.refused(); err != nil {
		return control.Connection{}, err
	}
	for i := range f.snap.Connections {
		c := &f.snap.Connections[i]
		if c.ID != id {
			continue
		}
		if patch.Name != nil {
			c.Name = *patch.Name
		}
		if patch.LowPriorityMode != nil {
			c.LowPriorityMode = *patch.LowPriorityMode
		}
		if patch.AutoLimitReset != nil {
			c.AutoLimitReset = *patch.AutoLimitReset
		}
		if patch.Active != nil {
			f.note("active %s %v", id, *patch.Active)
			c.Active, c.State = *patch.Active, control.StateServing
			if !c.Active {
				c.State = control.StateOff
			}
			c.Until = nil
		}
		f.push()
		return *c, nil
	}
	return control.Connection{}, control.ErrNotFound
}

func (f *fake) DeleteConnection(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("delete %s", id)
	f.snap.Connections = slices.DeleteFunc(f.snap.Connections, func(c control.Connection) bool { return c.ID == id })
	f.push()
	return f.refused()
}

func (f *fake) ReorderConnections(_ context.Context, ids []string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("order %v", ids)
	slices.SortStableFunc(f.snap.Connections, func(a, b control.Connection) int {
		return slices.Index(ids, a.ID) - slices.Index(ids, b.ID)
	})
	for i := range f.snap.Connections {
		f.snap.Connections[i].Priority = i + 1
	}
	f.push()
	return f.refused()
}

func (f *fake) TestConnection(_ context.Context, id string) (control.TestResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("test %s", id)
	return f.result, f.refused()
}

func (f *fake) ClearCooldown(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("clear %s", id)
	for i := range f.snap.Connections {
		if c := &f.snap.Connections[i]; c.ID == id && !c.State.Terminal() {
			c.State, c.Until, c.RateLimitedUntil, c.Lockouts = control.StateServing, nil, nil, nil
		}
	}
	return f.refused()
}

func (f *fake) ClearLockouts(_ context.Context, w control.LockoutFilter) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("unlock %s/%s/%s", w.Provider, w.ConnectionID, w.Model)
	n := 0
	for i := range f.snap.Connections {
		c := &f.snap.Connections[i]
		if w.Provider != "" && c.Provider != w.Provider || w.ConnectionID != "" && c.ID != w.ConnectionID {
			continue
		}
		before := len(c.Lockouts)
		c.Lockouts = slices.DeleteFunc(slices.Clone(c.Lockouts), func(l control.Lockout) bool { return w.Model == "" || l.Model == w.Model })
		n += before - len(c.Lockouts)
		if before > 0 && len(c.Lockouts) == 0 && c.State == control.StateModelLocked {
			c.State, c.Until = control.StateServing, nil
		}
	}
	return n, f.refused()
}

func (f *fake) ResetBreakers(ctx context.Context) (int, error) { return f.ResetBreaker(ctx, "") }

func (f *fake) ResetBreaker(_ context.Context, provider string) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("reset %s", provider)
	for i := range f.snap.Breakers {
		if b := &f.snap.Breakers[i]; provider == "" || b.Provider == provider {
			b.State, b.FailureCount, b.Until = "CLOSED", 0, nil
			n++
		}
	}
	return n, f.refused()
}

func (f *fake) SetPaused(_ context.Context, paused bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("paused %v", paused)
	f.snap.Paused, f.snap.PausedUntil = paused, nil
	f.push()
	return f.refused()
}

func (f *fake) PauseFor(_ context.Context, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("paused for %v", d)
	f.snap.Paused, f.snap.PausedUntil = true, control.RealTime(noon.Add(d))
	f.push()
	return f.refused()
}

func (f *fake) Activity(_ context.Context, q control.ActivityQuery) ([]control.Activity, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	from := 0
	if q.Before != 0 {
		from, _ = slices.BinarySearchFunc(f.rows, q.Before, func(a control.Activity, id int64) int { return cmp.Compare(id-1, a.ID) })
	}
	rest := f.rows[from:]
	return slices.Clone(rest[:min(len(rest), max(q.Limit, 1))]), nil
}

func (f *fake) Settings(context.Context) (control.Settings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.settings, nil
}

func (f *fake) EditSettings(_ context.Context, p control.SettingsPatch) (control.Settings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refused(); err != nil {
		return control.Settings{}, err
	}
	if p.Theme != nil {
		f.settings.Theme = *p.Theme
	}
	if p.Language != nil {
		f.settings.Language = *p.Language
	}
	if p.Notifications != nil {
		f.settings.Notifications = *p.Notifications
	}
	if p.ActivityLimit != nil {
		f.settings.ActivityLimit = *p.ActivityLimit
	}
	if p.AllowedOrigins != nil {
		f.settings.AllowedOrigins = *p.AllowedOrigins
	}
	p.Notify.Apply(&f.settings.Notify)
	if p.TextScale != nil {
		f.settings.TextScale = *p.TextScale
	}
	if p.ReducedMotion != nil {
		f.settings.ReducedMotion = *p.ReducedMotion
	}
	if p.Tables != nil {
		maps.Copy(f.settings.Tables, *p.Tables)
	}
	if p.AutoDisableBanned != nil {
		f.settings.AutoDisableBanned = *p.AutoDisableBanned
	}
	if p.EgressProbeURL != nil {
		f.settings.EgressProbeURL = *p.EgressProbeURL
	}
	if p.CAFile != nil {
		f.settings.CAFile = *p.CAFile
	}
	if p.ClaudeBaseURL != nil {
		f.settings.ClaudeBaseURL = *p.ClaudeBaseURL
	}
	f.note("settings")
	return f.settings, nil
}

func (f *fake) Demo(context.Context) (control.Demo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.demo, nil
}

func (f *fake) EditDemo(_ context.Context, p control.DemoPatch) (control.Demo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range p.Faults {
		f.note("fault %s %s %d %d", x.ConnectionID, x.Kind, x.RetryAfterSeconds, x.Count)
		for i := range f.demo.Faults {
			if f.demo.Faults[i].ConnectionID == x.ConnectionID {
				f.demo.Faults[i] = x
			}
		}
	}
	if p.Speed != nil {
		f.demo.Speed = *p.Speed
	}
	if p.AdvanceMs != 0 {
		f.note("advance %d", p.AdvanceMs)
	}
	d := f.demo
	d.Faults = slices.Clone(d.Faults)
	return d, nil
}

func (f *fake) Usage(_ context.Context, q control.UsageQuery) ([]control.UsageRow, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rows) == 0 {
		return nil, nil
	}
	n := int64(q.Since.Minute()*7%23 + 3)
	return []control.UsageRow{{UsageSum: control.UsageSum{Requests: n, Failed: n / 6}}}, nil
}

func (f *fake) Quit(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("quit")
	return f.refused()
}
