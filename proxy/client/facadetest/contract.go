package facadetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// patience is how long the contract waits for an event.
const patience = 10 * time.Second

// Contract checks what every facade promises. f has no connections yet, runs
// outside the demo and has no desktop; nothing in here needs a provider.
func Contract(t *testing.T, f control.Facade) {
	t.Run("an empty product has lists, not nothing", func(t *testing.T) { empty(t, f) })
	t.Run("connections are added, edited, ordered and deleted", func(t *testing.T) { connections(t, f) })
	t.Run("inputs are refused field by field", func(t *testing.T) { refusals(t, f) })
	t.Run("a connection has limits of its own", func(t *testing.T) { ownLimits(t, f) })
	t.Run("unknown ids are not found", func(t *testing.T) { unknown(t, f) })
	t.Run("settings are kept and checked", func(t *testing.T) { productSettings(t, f) })
	t.Run("settings have a revision and change together", func(t *testing.T) { revisions(t, f) })
	t.Run("resilience settings take effect at once", func(t *testing.T) { policySettings(t, f) })
	t.Run("combos are made, changed, ordered and deleted", func(t *testing.T) { combos(t, f) })
	t.Run("a combo's change tells what it corrected", func(t *testing.T) { comboCorrections(t, f) })
	t.Run("combos are refused with the code of what is wrong", func(t *testing.T) { comboRefusals(t, f) })
	t.Run("settings of combos change with the others", func(t *testing.T) { comboSettings(t, f) })
	t.Run("API keys are made, changed and deleted", func(t *testing.T) { apiKeys(t, f) })
	t.Run("a configuration is exported and imported", func(t *testing.T) { backups(t, f) })
	t.Run("the way out of a connection and further root certificates", func(t *testing.T) { waysOut(t, f) })
	t.Run("no desktop and no demo are errors of their own", func(t *testing.T) { absent(t, f) })
	t.Run("a subscription begins with a snapshot, follows and ends", func(t *testing.T) { subscription(t, f) })
	t.Run("a subscriber that does not read delays nobody", func(t *testing.T) { sleeper(t, f) })
}

func empty(t *testing.T, f control.Facade) {
	snap, err := f.Snapshot(t.Context())
	if err != nil || snap.Combos == nil || snap.Connections == nil || len(snap.Connections) != 0 || snap.Endpoint == "" || snap.At.IsZero() {
		t.Errorf("Snapshot = %+v, %v", snap, err)
	}
	known, err := f.Providers(t.Context())
	if err != nil || !slices.ContainsFunc(known, func(p control.Provider) bool { return p.ID == "anthropic" }) {
		t.Errorf("Providers = %d entries, %v; want anthropic among them", len(known), err)
	}
	rows, err := f.Activity(t.Context(), control.ActivityQuery{Limit: 5, FailedOnly: true})
	if err != nil || len(rows) != 0 {
		t.Errorf("Activity = %v, %v", rows, err)
	}
	if rows, err := f.Usage(t.Context(), control.UsageQuery{Since: time.Unix(1, 0)}); err != nil || rows == nil || len(rows) != 0 {
		t.Errorf("Usage = %v, %v", rows, err)
	}
	if leases, err := f.Leases(t.Context()); err != nil || leases == nil || len(leases) != 0 {
		t.Errorf("Leases = %v, %v", leases, err)
	}
	if _, err := f.ResetBreakers(t.Context()); err != nil {
		t.Errorf("ResetBreakers: %v", err)
	}
	if n, err := f.ResetBreaker(t.Context(), "nobody"); n != 0 || err != nil {
		t.Errorf("ResetBreaker: %d, %v", n, err)
	}
}

func add(t *testing.T, f control.Facade, name string) control.Connection {
	t.Helper()
	c, err := f.AddConnection(t.Context(), control.ConnectionInput{Provider: "anthropic", Name: name, APIKey: "key-of-" + name})
	if err != nil {
		t.Fatalf("AddConnection(%s): %v", name, err)
	}
	t.Cleanup(func() {
		if err := f.DeleteConnection(context.WithoutCancel(t.Context()), c.ID); err != nil && !errors.Is(err, control.ErrNotFound) {
			t.Errorf("clean up %s: %v", name, err)
		}
	})
	return c
}

func names(t *testing.T, f control.Facade) []string {
	t.Helper()
	snap, err := f.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range snap.Connections {
		out = append(out, c.Name)
	}
	return out
}

func connections(t *testing.T, f control.Facade) {
	ctx := t.Context()
	a, b, c := add(t, f, "A"), add(t, f, "B"), add(t, f, "C")
	if a.ID == "" || a.ID == b.ID || !a.HasSecret || !a.Active || a.State != control.StateServing {
		t.Errorf("added %+v", a)
	}
	if err := f.ReorderConnections(ctx, []string{c.ID, a.ID}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, f); !slices.Equal(got, []string{"C", "A", "B"}) {
		t.Errorf("order %v, want C A B", got)
	}
	edited, err := f.EditConnection(ctx, b.ID, control.ConnectionPatch{Name: new("Bee"), Active: new(false)})
	if err != nil || edited.Name != "Bee" || edited.Active || edited.State != control.StateOff || edited.Provider != "anthropic" {
		t.Errorf("edited %+v, %v", edited, err)
	}
	same, err := f.EditConnection(ctx, b.ID, control.ConnectionPatch{})
	if err != nil || same.Name != "Bee" {
		t.Errorf("a patch of nothing gives %+v, %v", same, err)
	}
	for _, on := range []bool{true, false} {
		if err := f.SetRateLimitProtection(ctx, b.ID, on); err != nil {
			t.Fatal(err)
		}
		read, err := f.EditConnection(ctx, b.ID, control.ConnectionPatch{Name: new("Bee")})
		if err != nil || read.RateLimitProtection != on {
			t.Errorf("rateLimitProtection is %v, %v; want %v", read.RateLimitProtection, err, on)
		}
	}
	if err := f.ClearCooldown(ctx, a.ID); err != nil {
		t.Errorf("ClearCooldown: %v", err)
	}
	if err := f.DeleteConnection(ctx, a.ID); err != nil {
		t.Fatal(err)
	}
	if got := names(t, f); !slices.Equal(got, []string{"C", "Bee"}) {
		t.Errorf("after the deletion %v, want C Bee", got)
	}
}

func refusals(t *testing.T, f control.Facade) {
	ctx := t.Context()
	a, b := add(t, f, "A"), add(t, f, "B")
	for _, tc := range []struct {
		name, field string
		call        func() error
	}{
		{"unknown provider", "provider", func() error {
			_, err := f.AddConnection(ctx, control.ConnectionInput{Provider: "nobody", Name: "N"})
			return err
		}},
		{"no key", "apiKey", func() error {
			_, err := f.AddConnection(ctx, control.ConnectionInput{Provider: "anthropic", Name: "N"})
			return err
		}},
		{"name taken by a new one", "name", func() error {
			_, err := f.AddConnection(ctx, control.ConnectionInput{Provider: "anthropic", Name: "A", APIKey: "k"})
			return err
		}},
		{"name taken by an edit", "name", func() error {
			_, err := f.EditConnection(ctx, b.ID, control.ConnectionPatch{Name: &a.Name})
			return err
		}},
		{"order of an unknown", "ids", func() error { return f.ReorderConnections(ctx, []string{"nobody"}) }},
		{"theme", "theme", func() error {
			_, err := f.EditSettings(ctx, control.SettingsPatch{Theme: new("loud")})
			return err
		}},
		{"language", "language", func() error {
			_, err := f.EditSettings(ctx, control.SettingsPatch{Language: new("xx")})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inv, ok := errors.AsType[*control.InvalidError](tc.call())
			if !ok {
				t.Fatalf("got %v, want an InvalidError", tc.call())
			}
			if len(inv.Fields) != 1 || inv.Fields[0].Field != tc.field || inv.Fields[0].Message == "" {
				t.Errorf("fields %+v, want one about %s", inv.Fields, tc.field)
			}
		})
	}
	if got := names(t, f); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("refusals changed the connections to %v", got)
	}
}

func unknown(t *testing.T, f control.Facade) {
	ctx := t.Context()
	for _, id := range []string{"nobody", "no/body", "reorder", "a b%2F?x#y", "a//b", "../x", ".", "..", ""} {
		_, edit := f.EditConnection(ctx, id, control.ConnectionPatch{Active: new(true)})
		_, test := f.TestConnection(ctx, id)
		_, usage := f.ClaudeUsage(ctx, id)
		for call, err := range map[string]error{
			"edit": edit, "test": test, "delete": f.DeleteConnection(ctx, id), "clear": f.ClearCooldown(ctx, id),
			"end lease":  f.EndLease(ctx, id),
			"protect":    f.SetRateLimitProtection(ctx, id, true),
			"leave lane": f.LeaveLane(ctx, id), "check reset": f.CheckLimitReset(ctx, id), "usage": usage,
		} {
			if !errors.Is(err, control.ErrNotFound) {
				t.Errorf("%s %q: %v, want ErrNotFound", call, id, err)
			}
		}
	}
}

func productSettings(t *testing.T, f control.Facade) {
	ctx := t.Context()
	before, err := f.Settings(ctx)
	if err != nil || before.Theme != "system" || before.AllowedOrigins == nil {
		t.Fatalf("Settings = %+v, %v", before, err)
	}
	after, err := f.EditSettings(ctx, control.SettingsPatch{
		Theme: new("dark"), Notifications: new(false), AllowedOrigins: &[]string{"http://localhost:5173"},
	})
	if err != nil || after.Theme != "dark" || after.Notifications || after.ActivityLimit != before.ActivityLimit {
		t.Errorf("EditSettings = %+v, %v", after, err)
	}
	read, err := f.Settings(ctx)
	if err != nil || read.Theme != "dark" || !slices.Equal(read.AllowedOrigins, []string{"http://localhost:5173"}) {
		t.Errorf("Settings = %+v, %v", read, err)
	}
	desk, err := f.EditSettings(ctx, control.SettingsPatch{
		Notify: &control.NotificationPatch{Lane: new(false), QuietFrom: new("22:00"), QuietUntil: new("07:30")}, TextScale: new(125),
		Tables: &map[string][]control.TableColumn{"connections": {{Key: "state", Width: 90}, {Key: "name"}}},
	})
	if err != nil || desk.Notify.Lane || !desk.Notify.Quota || desk.Notify.QuietUntil != "07:30" || desk.TextScale != 125 ||
		len(desk.Tables["connections"]) != 2 || desk.Tables["connections"][0].Width != 90 {
		t.Errorf("EditSettings = %+v, %v", desk, err)
	}
	back := control.SettingsPatch{
		Notify: &control.NotificationPatch{Lane: new(true), QuietFrom: new(""), QuietUntil: new("")}, TextScale: new(100),
		Theme: &before.Theme, Notifications: &before.Notifications, AllowedOrigins: &before.AllowedOrigins,
	}
	if _, err := f.EditSettings(ctx, back); err != nil {
		t.Error(err)
	}
	if _, err := f.EditSettings(ctx, control.SettingsPatch{}); err != nil {
		t.Errorf("a patch of nothing: %v", err)
	}
}

func absent(t *testing.T, f control.Facade) {
	ctx := t.Context()
	if err := f.ShowWindow(ctx, "overview"); !errors.Is(err, control.ErrNoDesktop) {
		t.Errorf("ShowWindow: %v, want ErrNoDesktop", err)
	}
	if _, err := f.Demo(ctx); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("Demo: %v, want ErrNotFound", err)
	}
	if _, err := f.EditDemo(ctx, control.DemoPatch{Speed: new(2.0)}); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("EditDemo: %v, want ErrNotFound", err)
	}
}

// await reads events until one fits.
func await(t *testing.T, events <-chan control.Event, fits func(control.Event) bool) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case ev, ok := <-events:
			if !ok {
				t.Fatal("the stream ended")
			}
			if fits(ev) {
				return
			}
		case <-limit.C:
			t.Fatal("the event did not come")
		}
	}
}

func paused(want bool) func(control.Event) bool {
	return func(ev control.Event) bool { return ev.Snapshot != nil && ev.Snapshot.Paused == want }
}

func subscription(t *testing.T, f control.Facade) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := f.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	first := true
	await(t, events, func(ev control.Event) bool {
		if first && (ev.Type != control.EventSnapshot || ev.Snapshot == nil || ev.Snapshot.Endpoint == "") {
			t.Fatalf("first event %+v, want a snapshot", ev)
		}
		first = false
		return true
	})
	for _, on := range []bool{true, false} {
		if err := f.SetPaused(t.Context(), on); err != nil {
			t.Fatal(err)
		}
		await(t, events, paused(on))
	}
	timedPause(t, f, events)
	cancel()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		select {
		case _, ok := <-events:
			if !ok {
				return
			}
		case <-limit.C:
			t.Fatal("the stream did not end with its context")
		}
	}
}

// timedPause checks that a pause with an end tells it and that bounds hold.
func timedPause(t *testing.T, f control.Facade, events <-chan control.Event) {
	var invalid *control.InvalidError
	for _, d := range []time.Duration{0, control.MaxPause + time.Second} {
		if err := f.PauseFor(t.Context(), d); !errors.As(err, &invalid) {
			t.Errorf("a pause of %v: %v", d, err)
		}
	}
	from := time.Now()
	if err := f.PauseFor(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	await(t, events, func(ev control.Event) bool {
		if ev.Snapshot == nil || !ev.Snapshot.Paused || ev.Snapshot.PausedUntil == nil {
			return false
		}
		left := ev.Snapshot.PausedUntil.Sub(from)
		return left > 59*time.Minute && left < 61*time.Minute
	})
	if err := f.SetPaused(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	await(t, events, func(ev control.Event) bool {
		return ev.Snapshot != nil && !ev.Snapshot.Paused && ev.Snapshot.PausedUntil == nil
	})
}

func sleeper(t *testing.T, f control.Facade) {
	asleep, err := f.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	awake, err := f.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		for _, on := range []bool{true, false} {
			if err := f.SetPaused(t.Context(), on); err != nil {
				t.Fatal(err)
			}
			await(t, awake, paused(on))
		}
	}
	c := add(t, f, "last")
	await(t, asleep, func(ev control.Event) bool {
		return ev.Snapshot != nil && len(ev.Snapshot.Connections) == 1 && ev.Snapshot.Connections[0].ID == c.ID
	})
}

// policySettings checks the resilience settings: a patch takes effect at once,
// null takes it back, a bad one changes nothing and names its field.
func policySettings(t *testing.T, f control.Facade) {
	ctx := t.Context()
	before, err := f.Resilience(ctx)
	if err != nil || before.ConnectionCooldown.OAuth.BaseCooldownMs != 5000 || before.Origins["connectionCooldown.oauth.baseCooldownMs"] != "default" {
		t.Fatalf("Resilience = %+v, %v", before, err)
	}
	after, err := f.EditResilience(ctx, []byte(`{"connectionCooldown":{"oauth":{"baseCooldownMs":7000}}}`))
	if err != nil || after.ConnectionCooldown.OAuth.BaseCooldownMs != 7000 || after.Origins["connectionCooldown.oauth.baseCooldownMs"] != "stored" {
		t.Errorf("EditResilience = %+v, %v", after.ConnectionCooldown, err)
	}
	for _, bad := range []string{`{"connectionCooldown":{"oauth":{"baseCooldownMs":"x"}}}`, `{"nothing":1}`, `{}`, `[`} {
		_, err := f.EditResilience(ctx, []byte(bad))
		var invalid *control.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Fields) == 0 {
			t.Errorf("EditResilience(%s) = %v, want an InvalidError", bad, err)
		}
	}
	back, err := f.EditResilience(ctx, []byte(`{"connectionCooldown":{"oauth":{"baseCooldownMs":null}}}`))
	if err != nil || back.ConnectionCooldown.OAuth.BaseCooldownMs != 5000 {
		t.Errorf("after null: %+v, %v", back.ConnectionCooldown, err)
	}
	guide, err := f.EditGuide(ctx, control.GuidePatch{
		ModelLockout:       []byte(`{"enabled":true}`),
		ProviderErrorRules: []byte(`{"openai":[{"match":"come back never","scope":"connection","cooldownMs":60000}]}`),
	})
	if from := guide.GuideOrigins; from["modelLockout.enabled"] != "stored" || from["modelLockout.baseCooldownMs"] != "default" {
		t.Errorf("the model lockout's values come from %v", from)
	}
	if err != nil || !guide.ModelLockout.Enabled || len(guide.ProviderErrorRules["openai"]) != 1 {
		t.Errorf("EditGuide = %+v, %v", guide, err)
	}
	if _, err := f.EditGuide(ctx, control.GuidePatch{ProviderErrorRules: []byte(`{"openai":[{"scope":"galaxy"}]}`)}); err == nil {
		t.Error("a rule without a condition was taken")
	}
	read, err := f.Guide(ctx)
	if err != nil || len(read.ProviderErrorRules["openai"]) != 1 {
		t.Errorf("Guide = %+v, %v", read, err)
	}
	if n, err := f.ClearLockouts(ctx, control.LockoutFilter{}); err != nil || n != 0 {
		t.Errorf("ClearLockouts = %d, %v", n, err)
	}
}
