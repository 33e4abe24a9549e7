package cases

import (
	"context"
	"testing"
	"time"

	"breakwater/proxy/client"
	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// listener collects the changes of the real event stream by their kind.
type listener struct {
	t      *testing.T
	events <-chan control.Event
}

func listen(t *testing.T, k *scenario.Kit) listener {
	t.Helper()
	c := client.New(k.URL, k.Token, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); c.Close() })
	events, err := c.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if first := <-events; first.Type != control.EventSnapshot {
		t.Fatalf("the stream begins with %s", first.Type)
	}
	return listener{t, events}
}

// next returns the next change of a kind for which ok holds.
func (l listener) next(kind control.EventType, to string) control.Change {
	l.t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case e := <-l.events:
			if e.Type == kind && (to == "" || e.Change != nil && e.Change.To == to) {
				if e.Change == nil {
					return control.Change{}
				}
				return *e.Change
			}
		case <-deadline:
			l.t.Fatalf("no event %s %s came", kind, to)
		}
	}
}

// Every kind of change reaches the event stream, in names and times only.
func TestEventsOfEveryKind(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	l := listen(t, k)

	alpha.Script(simulator.Status(429).WithRetryAfter(time.Minute))
	k.Post("/v1/messages", scenario.Messages)
	if c := l.next(control.EventCooldown, "cooling"); c.ConnectionName != "alpha" || c.Until == nil || c.Reason == "" {
		t.Errorf("cooldown %+v", c)
	}
	l.next(control.EventActivity, "")
	if err := k.Facade().ClearCooldown(t.Context(), k.Connection("alpha").ID); err != nil {
		t.Fatal(err)
	}
	l.next(control.EventCooldown, "active")

	alpha.Script(simulator.Status(404).WithError(simulator.Error{Type: "not_found_error", Message: "model: m1"}))
	k.Post("/v1/messages", scenario.Messages)
	if c := l.next(control.EventLockout, "locked"); c.Model == "" || c.Until == nil {
		t.Errorf("lockout %+v", c)
	}
	if _, err := k.Facade().ClearLockouts(t.Context(), control.LockoutFilter{}); err != nil {
		t.Fatal(err)
	}
	l.next(control.EventLockout, "free")

	if _, err := k.Facade().EditSettings(t.Context(), control.SettingsPatch{Theme: new("dark")}); err != nil {
		t.Fatal(err)
	}
	if c := l.next(control.EventSettings, "settings"); c.Revision == 0 {
		t.Errorf("settings %+v", c)
	}
	if _, err := k.Facade().EditResilience(t.Context(), []byte(`{"providerBreaker":{"apikey":{"failureThreshold":1}}}`)); err != nil {
		t.Fatal(err)
	}
	l.next(control.EventSettings, "resilience")

	alpha.Script(simulator.Status(503))
	k.Post("/v1/messages", scenario.Messages)
	if c := l.next(control.EventBreaker, "OPEN"); c.Provider == "" || c.Until == nil {
		t.Errorf("breaker %+v", c)
	}

	k.Add("gamma", "demo-oauth")
	s := newSession(t, k, leaseKey(t, k, "gamma").Key, "a")
	gen := s.hold()
	if c := l.next(control.EventLease, "ACTIVE"); c.Generation != gen || c.ConnectionName != "gamma" {
		t.Errorf("lease %+v", c)
	}
	s.lease(`{"action":"release","generation":1}`)
	if c := l.next(control.EventLease, "RELEASED"); c.Reason != "OWNER_EXIT" {
		t.Errorf("lease %+v", c)
	}
}

// Who begins to listen gets one snapshot, not a second of the same state.
func TestOneSnapshotAtFirst(t *testing.T) {
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	quiet := func(events <-chan control.Event) (n int) {
		for {
			select {
			case <-events:
				n++
			case <-time.After(400 * time.Millisecond): // longer than the publisher's pauses
				return n
			}
		}
	}
	first, err := k.Facade().Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quiet(first) // what the beginning of the scenario still tells
	l := listen(t, k)
	if n := quiet(l.events); n != 0 {
		t.Errorf("%d events followed the first snapshot", n)
	}
	if n := quiet(first); n != 0 {
		t.Errorf("another listener was told of it: %d events", n)
	}
}
