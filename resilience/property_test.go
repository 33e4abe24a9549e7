package resilience

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/clock"
	"breakwater/resilience/cooldown"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// model is the arbitrary life of an engine with a few connections.
type model struct {
	t        *rapid.T
	clock    *clock.Fake
	engine   *Engine
	conns    []*Conn
	attempts []*Attempt
	seq      uint64
	saved    map[string]ConnectionState
	rows     map[string]BreakerState
	cfg      settings.Settings
}

func (m *model) SaveConnectionState(s ConnectionState) { m.saved[s.ID] = s }
func (m *model) SaveBreaker(s BreakerState)            { m.rows[s.Name] = s }
func (m *model) DeleteBreakers()                       { clear(m.rows) }

func (m *model) start() {
	m.seq, m.attempts, m.conns = 0, nil, nil
	m.engine = New(Config{Clock: m.clock, Settings: m.cfg, Store: m, OnChange: func(c Change) {
		if c.Seq <= m.seq {
			m.t.Fatalf("change %d after %d", c.Seq, m.seq)
		}
		m.seq = c.Seq
	}})
	for i, id := range []string{"a", "b", "c", "d"} {
		m.conns = append(m.conns, m.engine.Upsert(Connection{
			ID: id, Provider: []string{"one", "two"}[i%2], Active: true, PerModelQuota: i == 1,
			Profile: []settings.ProfileName{settings.APIKey, settings.OAuth}[i%2],
		}))
	}
}

// restart makes a new engine from what was stored.
func (m *model) restart() {
	var conns []ConnectionState
	var rows []BreakerState
	before := map[string]Status{}
	for _, c := range m.conns {
		before[c.ID()] = m.engine.ConnectionStatus(c)
	}
	for _, s := range m.saved {
		conns = append(conns, s)
	}
	for _, r := range m.rows {
		rows = append(rows, r)
	}
	m.start()
	m.engine.Restore(conns, rows)
	for _, c := range m.conns {
		was, is := before[c.ID()], m.engine.ConnectionStatus(c)
		if was.Words != is.Words || was.Attention.Words != is.Attention.Words || !was.Attention.Since.Equal(is.Attention.Since) || was.TestStatus != is.TestStatus || !was.RateLimitedUntil.Equal(is.RateLimitedUntil) || was.BackoffLevel != is.BackoffLevel {
			m.t.Fatalf("%s: a restart turned %+v into %+v", c.ID(), was, is)
		}
	}
}

func (m *model) outcome() outcome.Outcome {
	rt := m.t
	o := outcome.Outcome{
		Class:    rapid.SampledFrom([]outcome.Class{outcome.Neutral, outcome.Success, outcome.Failure, outcome.Failure, outcome.Failure}).Draw(rt, "class"),
		Scope:    outcome.Scope(rapid.IntRange(0, int(outcome.ScopeLocal)).Draw(rt, "scope")),
		Status:   rapid.SampledFrom([]int{401, 402, 403, 404, 408, 429, 500, 502, 503, 504}).Draw(rt, "status"),
		Reason:   rapid.SampledFrom([]outcome.Reason{outcome.ReasonRateLimit, outcome.ReasonQuota, outcome.ReasonServerError, outcome.ReasonRequestRejected, outcome.ReasonTruncated, outcome.ReasonConcurrencyLimited, outcome.ReasonAuth, outcome.ReasonNotAPI, outcome.ReasonWrongAddress}).Draw(rt, "reason"),
		Cooldown: time.Duration(rapid.Int64Range(0, int64(60*24*time.Hour)).Draw(rt, "cooldown")),
		UsedHint: rapid.Bool().Draw(rt, "hint"),
		Network:  rapid.Bool().Draw(rt, "network"),
		Words:    rapid.SampledFrom([]string{"", "no access", "not here"}).Draw(rt, "words"),
	}
	if rapid.IntRange(0, 19).Draw(rt, "terminal?") == 0 {
		o.Terminal = rapid.SampledFrom([]outcome.Terminal{outcome.Banned, outcome.Expired, outcome.CreditsExhausted}).Draw(rt, "terminal")
	}
	if o.SetsLevel = rapid.Bool().Draw(rt, "sets"); o.SetsLevel {
		o.Level = rapid.IntRange(-1, 9).Draw(rt, "level")
	}
	return o
}

func (m *model) report(i int) {
	a := m.attempts[i]
	m.attempts = append(m.attempts[:i], m.attempts[i+1:]...)
	c := a.target.Conn
	before := m.engine.ConnectionStatus(c)
	o := m.outcome()
	e := a.Report(o)
	after := m.engine.ConnectionStatus(c)
	if o.Class == outcome.Failure && before.Attention.Needed() && !after.Attention.Needed() {
		m.t.Fatalf("a failure lifted the need for attention: %+v", o)
	}
	if o.Class == outcome.Failure && o.OfAddress() && e.Counted {
		m.t.Fatalf("the provider is blamed for a page: %+v", o)
	}
	misplaced := before.TestStatus == cooldown.WrongAddress && o.Terminal != outcome.NotTerminal
	if terminal(before) && !a.retry && !misplaced && o.Class != outcome.Success && before.TestStatus != after.TestStatus {
		m.t.Fatalf("terminal %s became %s by %+v", before.TestStatus, after.TestStatus, o)
	}
	if terminal(after) && !after.RateLimitedUntil.IsZero() {
		m.t.Fatalf("a terminal state cools: %+v", after)
	}
	if o.Class == outcome.Failure && after.RateLimitedUntil.Before(before.RateLimitedUntil) && !terminal(after) {
		m.t.Fatalf("a cooldown was shortened from %v to %v", before.RateLimitedUntil, after.RateLimitedUntil)
	}
	if o.Class == outcome.Failure && !before.RateLimitedUntil.IsZero() && before.BackoffLevel != after.BackoffLevel {
		m.t.Fatalf("the herd moved the level from %d to %d", before.BackoffLevel, after.BackoffLevel)
	}
	if e.Cooldown < 0 || e.Cooldown > cooldown.MaxStated+time.Second {
		m.t.Fatalf("effect %+v", e)
	}
	if a.Report(o) != (Effect{}) {
		m.t.Fatal("the second report had an effect")
	}
}

func terminal(s Status) bool {
	return s.TestStatus != cooldown.Active && s.TestStatus != cooldown.Unavailable
}

func (m *model) check() {
	now := m.clock.Now()
	last := false
	for _, t := range m.engine.Plan([]Candidate{{m.conns[0], ""}, {m.conns[1], ""}, {m.conns[2], ""}, {m.conns[3], ""}}).Targets {
		if last && !t.Conn.AskedLast() {
			m.t.Fatalf("%s comes after one that needs attention", t.Conn.ID())
		}
		last = t.Conn.AskedLast()
	}
	for _, c := range m.conns {
		s := m.engine.ConnectionStatus(c)
		if s.BackoffLevel < 0 || s.ExpiredRetries < 0 || s.ExpiredRetries > cooldown.ExpiredRetryMax {
			m.t.Fatalf("%s: %+v", c.ID(), s)
		}
		if s.RateLimitedUntil.Sub(now) > cooldown.MaxStated+time.Second {
			m.t.Fatalf("%s cools past the ceiling: %v", c.ID(), s.RateLimitedUntil)
		}
		if stored, ok := m.saved[c.ID()]; ok && stored.TestStatus != s.TestStatus {
			m.t.Fatalf("%s is %s, stored %s", c.ID(), s.TestStatus, stored.TestStatus)
		}
	}
}

// TestEngineProperties drives an engine with arbitrary outcomes, clock steps of
// ±3 h, suspends of 10 h and restarts.
func TestEngineProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{t: rt, clock: clock.NewFake(t0), saved: map[string]ConnectionState{}, rows: map[string]BreakerState{}, cfg: settings.Defaults()}
		m.cfg.ProviderCooldown.Enabled = rapid.Bool().Draw(rt, "gate")
		m.cfg.ModelLockout.Enabled = rapid.Bool().Draw(rt, "lockout")
		m.start()
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) { m.t = rt; m.check() },
			"begin": func(rt *rapid.T) {
				m.t = rt
				c := rapid.SampledFrom(m.conns).Draw(rt, "conn")
				t := Target{c, rapid.SampledFrom([]string{"", "m1", "m2"}).Draw(rt, "model")}
				if a, x := m.engine.Begin(t); x == nil {
					m.attempts = append(m.attempts, a)
				} else if p := m.engine.Plan([]Candidate{t}); len(p.Targets) > 0 {
					rt.Fatalf("planned, but excluded by %s", x.Reason)
				}
			},
			"report": func(rt *rapid.T) {
				m.t = rt
				if len(m.attempts) > 0 {
					m.report(rapid.IntRange(0, len(m.attempts)-1).Draw(rt, "which"))
				}
			},
			"wait": func(rt *rapid.T) {
				m.clock.Advance(time.Duration(rapid.IntRange(0, 900).Draw(rt, "s")) * time.Second)
			},
			"step": func(rt *rapid.T) {
				m.clock.Advance(rapid.SampledFrom([]time.Duration{-3 * time.Hour, 3 * time.Hour, 10 * time.Hour}).Draw(rt, "by"))
			},
			"restart": func(rt *rapid.T) {
				m.t = rt
				if rapid.IntRange(0, 4).Draw(rt, "really") == 0 {
					m.restart()
				}
			},
			"clear": func(rt *rapid.T) {
				m.engine.ClearConnection(rapid.SampledFrom(m.conns).Draw(rt, "conn").ID())
			},
		})
		m.t = rt
		m.waysOut()
	})
}

// waysOut checks that every exclusion ends besides by time: by the operator's
// resets, a clear and a good test.
func (m *model) waysOut() {
	for _, a := range m.attempts {
		a.Release()
	}
	m.engine.ResetBreakers()
	for _, c := range m.conns {
		m.engine.ClearConnection(c.ID()) // what is stated stays after a test (ruling 66)
		m.engine.TestPassed(c.ID(), "")
		p := m.engine.Plan([]Candidate{{c, "m1"}})
		if len(p.Targets) != 1 {
			m.t.Fatalf("%s is still excluded: %s", c.ID(), p.Excluded[0].Reason)
		}
	}
}

// TestConcurrentUse is for the race detector, and checks that changes arrive
// in order and one at a time whatever happens.
func TestConcurrentUse(t *testing.T) {
	var mu sync.Mutex
	var seqs []uint64
	clk := clock.NewFake(t0)
	e := New(Config{Clock: clk, Settings: settings.Defaults(), Store: discard{}, OnChange: func(c Change) {
		if !mu.TryLock() {
			t.Error("two changes at once")
			return
		}
		defer mu.Unlock()
		seqs = append(seqs, c.Seq)
	}})
	var cands []Candidate
	for i := range 8 {
		cands = append(cands, Candidate{e.Upsert(Connection{
			ID: string(rune('a' + i)), Provider: []string{"one", "two"}[i%2], Profile: settings.Local, Active: true, EgressShared: true,
		}), "m1"})
		e.SetEgress(cands[i].Conn, "192.0.2.1", t0)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 400 {
				a, _ := e.Begin(cands[(i+w)%8])
				e.Plan(cands)
				if a != nil {
					o := failure([]int{429, 503, 502}[i%3], time.Second)
					o.Scope = []outcome.Scope{outcome.ScopeConnection, outcome.ScopeModel, outcome.ScopeEgress}[i%3]
					if i%4 == 0 {
						o = success()
					}
					a.Report(o)
					a.Release()
				}
				switch i % 50 {
				case 0:
					clk.Advance(10 * time.Second)
				case 10:
					e.SetSettings(e.Settings())
				case 20:
					e.Breakers()
					e.Lockouts()
					e.ConnectionStatus(cands[w].Conn)
				case 30:
					e.ClearConnection(cands[w].Conn.ID())
					e.TestPassed(cands[w].Conn.ID(), "m1")
				case 40:
					e.ResetBreakers()
				}
			}
		})
	}
	wg.Wait()
	e.Plan(nil)
	for i, s := range seqs {
		if s != uint64(i+1) {
			t.Fatalf("change %d has number %d", i, s)
		}
	}
	if len(seqs) == 0 {
		t.Error("nothing happened")
	}
}

type discard struct{}

func (discard) SaveConnectionState(ConnectionState) {}
func (discard) SaveBreaker(BreakerState)            {}
func (discard) DeleteBreakers()                     {}

// TestDeliveryFromWithin checks that a receiver may call the engine back: its
// changes come after the one it is being told of.
func TestDeliveryFromWithin(t *testing.T) {
	var e *Engine
	var kinds []ChangeKind
	e = New(Config{Clock: clock.NewFake(t0), Settings: settings.Defaults(), OnChange: func(c Change) {
		kinds = append(kinds, c.Kind)
		if c.Kind == ChangeCooldown {
			e.ClearConnection(c.Connection)
			kinds = append(kinds, "returned")
		}
	}})
	c := e.Upsert(Connection{ID: "a", Provider: "p", Active: true})
	a, _ := e.Begin(Target{c, "m"})
	a.Report(failure(429, time.Minute))
	if len(kinds) != 3 || kinds[1] != "returned" || kinds[2] != ChangeCleared {
		t.Errorf("order = %v", kinds)
	}
}
