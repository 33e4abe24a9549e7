package facadetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// SetPaused pauses or resumes.
func (f *Fake) SetPaused(ctx context.Context, paused bool) error {
	err := f.enter(ctx, "SetPaused")
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	f.pause(paused, nil)
	return nil
}

// PauseFor pauses and tells until when; it does not end by itself.
func (f *Fake) PauseFor(ctx context.Context, d time.Duration) error {
	err := f.enter(ctx, "PauseFor")
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	if d < time.Second || d > control.MaxPause {
		return control.Invalid("seconds", "Expected 1 to %d", int(control.MaxPause/time.Second))
	}
	f.pause(true, control.RealTime(time.Now().Add(d)))
	return nil
}

func (f *Fake) pause(paused bool, until *time.Time) {
	f.snap.Paused, f.snap.PausedUntil, f.snap.Health = paused, until, control.HealthWell
	if paused {
		f.snap.Health = control.HealthDown
	}
	f.publishSnapshot()
}

// Activity returns the rows that the query selects.
func (f *Fake) Activity(ctx context.Context, q control.ActivityQuery) ([]control.Activity, error) {
	err := f.enter(ctx, "Activity")
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	limit := q.Limit
	if limit == 0 {
		limit = 100
	}
	var out []control.Activity
	for _, a := range f.activity {
		tried := slices.ContainsFunc(a.Trace, func(s control.Step) bool { return s.ConnectionID == q.ConnectionID })
		switch {
		case q.Before > 0 && a.ID >= q.Before:
		case q.ConnectionID != "" && !tried:
		case q.FailedOnly && a.Result == "answered" && !a.FailedOver:
		case len(out) < limit:
			out = append(out, a)
		}
	}
	return out, nil
}

// Usage sums up the rows by connection and model.
func (f *Fake) Usage(ctx context.Context, q control.UsageQuery) ([]control.UsageRow, error) {
	err := f.enter(ctx, "Usage")
	defer f.mu.Unlock()
	out := []control.UsageRow{}
	for _, a := range f.activity {
		if a.At.Before(q.Since) || !q.Until.IsZero() && !a.At.Before(q.Until) {
			continue
		}
		sum := control.UsageSum{Requests: 1, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens}
		i := slices.IndexFunc(out, func(r control.UsageRow) bool { return r.ConnectionID == a.ConnectionID && r.Model == a.Model })
		if i < 0 {
			i = len(out)
			out = append(out, control.UsageRow{Provider: a.Provider, ConnectionID: a.ConnectionID, ConnectionName: a.ConnectionName, Model: a.Model})
		}
		out[i].Add(sum)
	}
	return out, err
}

// SetRateLimitProtection keeps the wish.
func (f *Fake) SetRateLimitProtection(ctx context.Context, id string, on bool) error {
	_, err := f.edit(ctx, "SetRateLimitProtection", id, func(c *control.Connection) error {
		c.RateLimitProtection = on
		return nil
	})
	return err
}

// Settings returns the settings.
func (f *Fake) Settings(ctx context.Context) (control.Settings, error) {
	err := f.enter(ctx, "Settings")
	defer f.mu.Unlock()
	return f.settings, err
}

// EditSettings changes the settings.
func (f *Fake) EditSettings(ctx context.Context, p control.SettingsPatch) (control.Settings, error) {
	err := f.enter(ctx, "EditSettings")
	defer f.mu.Unlock()
	if err != nil {
		return control.Settings{}, err
	}
	if err := f.editSettings(p); err != nil {
		return control.Settings{}, err
	}
	f.revision++
	return f.settings, nil
}

func (f *Fake) editSettings(p control.SettingsPatch) error {
	if p.Theme != nil && !slices.Contains([]string{"system", "light", "dark"}, *p.Theme) {
		return control.Invalid("theme", "system, light or dark")
	}
	if err := control.CheckLanguage(p.Language); err != nil {
		return err
	}
	if p.CAFile != nil && strings.Contains(*p.CAFile, "missing") {
		return control.Invalid("caFile", "there is no such file")
	}
	set(&f.settings.Notifications, p.Notifications)
	set(&f.settings.Theme, p.Theme)
	set(&f.settings.Language, p.Language)
	set(&f.settings.RequireAPIKey, p.RequireAPIKey)
	set(&f.settings.ClientProfile, p.ClientProfile)
	set(&f.settings.ClaudeBaseURL, p.ClaudeBaseURL)
	set(&f.settings.EgressProbeURL, p.EgressProbeURL)
	set(&f.settings.CAFile, p.CAFile)
	set(&f.settings.AutoDisableBanned, p.AutoDisableBanned)
	set(&f.settings.AllowedOrigins, p.AllowedOrigins)
	set(&f.settings.ActivityLimit, p.ActivityLimit)
	p.Notify.Apply(&f.settings.Notify)
	set(&f.settings.TextScale, p.TextScale)
	set(&f.settings.ReducedMotion, p.ReducedMotion)
	if p.Tables != nil {
		f.settings.Tables = control.PatchTables(f.settings.Tables, *p.Tables)
	}
	return nil
}

// AllSettings returns the settings of every kind.
func (f *Fake) AllSettings(ctx context.Context) (control.AllSettings, error) {
	err := f.enter(ctx, "AllSettings")
	defer f.mu.Unlock()
	return f.allSettings(), err
}

func (f *Fake) allSettings() control.AllSettings {
	return control.AllSettings{Settings: f.settings, Guide: f.guide(), ComboSettings: f.comboSettings, Revision: f.revision}
}

// EditAllSettings changes the settings of every kind, all or none.
func (f *Fake) EditAllSettings(ctx context.Context, p control.AllSettingsPatch) (control.AllSettings, error) {
	err := f.enter(ctx, "EditAllSettings")
	defer f.mu.Unlock()
	if err != nil {
		return control.AllSettings{}, err
	}
	if p.ExpectedRevision != nil && *p.ExpectedRevision != f.revision {
		return control.AllSettings{}, &control.ConflictError{CurrentRevision: f.revision}
	}
	before := f.settings
	err = f.editSettings(p.SettingsPatch)
	if err == nil {
		err = f.editGuide(p.GuidePatch)
	}
	if err == nil {
		f.editComboSettings(p.ComboSettingsPatch)
	}
	if err != nil {
		f.settings = before
		return control.AllSettings{}, err
	}
	f.revision++
	return f.allSettings(), nil
}

// ShowWindow publishes a show event when a desktop is attached.
func (f *Fake) ShowWindow(ctx context.Context, page string) error {
	err := f.enter(ctx, "ShowWindow")
	f.mu.Unlock()
	switch {
	case err != nil:
		return err
	case !f.Desktop:
		return control.ErrNoDesktop
	}
	f.Publish(control.Event{Type: control.EventShow, Page: page, Show: f.shows.Add(1)})
	return nil
}

// Quit does nothing but count as a call.
func (f *Fake) Quit(ctx context.Context) error {
	err := f.enter(ctx, "Quit")
	f.mu.Unlock()
	return err
}

// Demo returns the panel.
func (f *Fake) Demo(ctx context.Context) (control.Demo, error) {
	return f.EditDemo(ctx, control.DemoPatch{})
}

// EditDemo changes the panel.
func (f *Fake) EditDemo(ctx context.Context, p control.DemoPatch) (control.Demo, error) {
	err := f.enter(ctx, "EditDemo")
	defer f.mu.Unlock()
	switch {
	case err != nil:
		return control.Demo{}, err
	case f.Panel == nil:
		return control.Demo{}, control.ErrNotFound
	case p.Speed != nil && *p.Speed <= 0:
		return control.Demo{}, control.Invalid("speed", "more than 0")
	}
	set(&f.Panel.Speed, p.Speed)
	for _, fault := range p.Faults {
		i := slices.IndexFunc(f.Panel.Faults, func(o control.Fault) bool { return o.ConnectionID == fault.ConnectionID })
		if i < 0 {
			return control.Demo{}, control.Invalid("faults", "no such connection")
		}
		f.Panel.Faults[i] = fault
	}
	d := *f.Panel
	d.Faults = slices.Clone(d.Faults)
	return d, nil
}

// subscriber keeps the newest snapshot and all other events.
type subscriber struct {
	wake     chan struct{}
	end      chan struct{}
	snapshot *control.Snapshot
	others   []control.Event
}

// Subscribe returns a stream that begins with a snapshot.
func (f *Fake) Subscribe(ctx context.Context) (<-chan control.Event, error) {
	err := f.enter(ctx, "Subscribe")
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	first := f.copy()
	s := &subscriber{wake: make(chan struct{}, 1), end: make(chan struct{}), snapshot: &first}
	s.wake <- struct{}{}
	f.subs[s] = struct{}{}
	f.changed.Broadcast()
	out := make(chan control.Event)
	go f.feed(ctx, s, out)
	return out, nil
}

func (f *Fake) feed(ctx context.Context, s *subscriber, out chan<- control.Event) {
	defer close(out)
	defer f.drop(s)
	for {
		ev, ok := f.next(s)
		if !ok {
			select {
			case <-s.wake:
				continue
			case <-s.end:
				return
			case <-ctx.Done():
				return
			}
		}
		select {
		case out <- ev:
		case <-s.end:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (f *Fake) next(s *subscriber) (control.Event, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.snapshot != nil {
		ev := control.Event{Type: control.EventSnapshot, Snapshot: s.snapshot}
		s.snapshot = nil
		return ev, true
	}
	if len(s.others) == 0 {
		return control.Event{}, false
	}
	ev := s.others[0]
	s.others = s.others[1:]
	return ev, true
}

func (f *Fake) drop(s *subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subs, s)
	f.changed.Broadcast()
}

// EndStreams closes every subscription, as a facade that shuts down does.
func (f *Fake) EndStreams() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		delete(f.subs, s)
		close(s.end)
	}
}

// WaitSubscribers returns when there are exactly n subscribers.
func (f *Fake) WaitSubscribers(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.subs) != n {
		f.changed.Wait()
	}
}

// Publish hands an event that is no snapshot to every subscriber.
func (f *Fake) Publish(ev control.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		s.others = append(s.others, ev)
		s.poke()
	}
}

func (f *Fake) publishSnapshot() {
	if len(f.subs) == 0 {
		return
	}
	snap := f.copy()
	for s := range f.subs {
		s.snapshot = &snap
		s.poke()
	}
}

func (s *subscriber) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
