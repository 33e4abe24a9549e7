package resilience

import (
	"testing"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// t0 is the field cases' present.
var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// rig is an engine with a clock of its own and everything it delivered.
type rig struct {
	*Engine
	t       *testing.T
	clock   *clock.Fake
	changes []Change
	saved   map[string]ConnectionState
	rows    map[string]BreakerState
	writes  int
	deleted int
}

func newRig(t *testing.T, edit ...func(*settings.Settings)) *rig {
	t.Helper()
	s := settings.Defaults()
	for _, f := range edit {
		f(&s)
	}
	r := &rig{t: t, clock: clock.NewFake(t0), saved: map[string]ConnectionState{}, rows: map[string]BreakerState{}}
	r.Engine = New(Config{Clock: r.clock, Settings: s, Store: r, OnChange: func(c Change) { r.changes = append(r.changes, c) }})
	return r
}

func (r *rig) SaveConnectionState(s ConnectionState) { r.writes++; r.saved[s.ID] = s }
func (r *rig) SaveBreaker(s BreakerState)            { r.writes++; r.rows[s.Name] = s }
func (r *rig) DeleteBreakers()                       { r.deleted++; clear(r.rows) }

// conn adds an active API-key connection.
func (r *rig) conn(id, provider string, edit ...func(*Connection)) *Conn {
	c := Connection{ID: id, Provider: provider, Profile: settings.APIKey, Active: true}
	for _, f := range edit {
		f(&c)
	}
	return r.Upsert(c)
}

// try begins and reports; it fails the test when the candidate is excluded.
func (r *rig) try(c *Conn, model string, o outcome.Outcome) Effect {
	r.t.Helper()
	a, x := r.Begin(Target{Conn: c, Model: model})
	if x != nil {
		r.t.Fatalf("%s is excluded: %s until %v", c.ID(), x.Reason, x.Until)
	}
	return a.Report(o)
}

// excluded returns why the connection is not planned, or "".
func (r *rig) excluded(c *Conn, model string) (exclusion.Reason, time.Duration) {
	r.t.Helper()
	p := r.Plan([]Candidate{{Conn: c, Model: model}})
	if len(p.Targets) == 1 {
		return "", 0
	}
	x := p.Excluded[0]
	if x.Until.IsZero() {
		return x.Reason, 0
	}
	return x.Reason, x.Until.Sub(r.clock.Now())
}

func success() outcome.Outcome { return outcome.Outcome{Class: outcome.Success, Status: 200} }

func failure(status int, cooldown time.Duration) outcome.Outcome {
	o := outcome.Outcome{
		Class: outcome.Failure, Scope: outcome.ScopeConnection, Status: status, Fallback: true,
		Cooldown: cooldown, SetsLevel: true, Level: 1, Reason: outcome.ReasonServerError,
	}
	if status == 429 {
		o.Reason = outcome.ReasonRateLimit
	}
	return o
}
