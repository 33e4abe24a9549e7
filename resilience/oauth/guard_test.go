package oauth

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/clock"
)

// guardRig drives the guard of one key.
type guardRig struct {
	*Guard
	clock *clock.Fake
	rules GuardRules
}

func newGuardRig(threshold int64, cooldown time.Duration) *guardRig {
	return &guardRig{NewGuard(), clock.NewFake(t0), GuardRules{threshold, cooldown}}
}

func (g *guardRig) begin() (GuardPermit, bool) { return g.Begin(g.clock.Now(), "k", g.rules) }

func (g *guardRig) report(p GuardPermit, r GuardResult) bool {
	return g.Report(g.clock.Now(), "k", g.rules, p, r)
}

func (g *guardRig) status() GuardStatus { return g.Status(g.clock.Now(), "k", g.rules) }

// fail has n refreshes fail, one after the other.
func (g *guardRig) fail(n int) {
	for range n {
		p, _ := g.begin()
		g.report(p, GuardFailed)
	}
}

func (g *guardRig) String() string {
	return fmt.Sprintf("%s %d", g.status().State, g.status().Failures)
}

// The table of states and events, with two failures to open and a minute.
func TestGuardStatesAndEvents(t *testing.T) {
	states := map[string]func(*guardRig) GuardPermit{
		"CLOSED":    func(*guardRig) GuardPermit { return GuardPermit{} },
		"CLOSED 1":  func(g *guardRig) GuardPermit { g.fail(1); return GuardPermit{} },
		"OPEN":      func(g *guardRig) GuardPermit { g.fail(2); return GuardPermit{} },
		"HALF_OPEN": func(g *guardRig) GuardPermit { g.fail(2); g.clock.Advance(time.Minute); return GuardPermit{} },
		"probing": func(g *guardRig) GuardPermit {
			g.fail(2)
			g.clock.Advance(time.Minute)
			p, _ := g.begin()
			return p
		},
	}
	events := map[string]func(*guardRig, GuardPermit){
		"passed":       func(g *guardRig, p GuardPermit) { g.report(p, GuardPassed) },
		"failed":       func(g *guardRig, p GuardPermit) { g.report(p, GuardFailed) },
		"neutral":      func(g *guardRig, p GuardPermit) { g.report(p, GuardNeutral) },
		"late failure": func(g *guardRig, _ GuardPermit) { g.report(GuardPermit{probe: true, generation: 99}, GuardFailed) },
		"59 s pass":    func(g *guardRig, _ GuardPermit) { g.clock.Advance(59 * time.Second) },
		"2 min pass":   func(g *guardRig, _ GuardPermit) { g.clock.Advance(2 * time.Minute) },
		"retry":        func(g *guardRig, _ GuardPermit) { g.Retry("k") },
		"forget":       func(g *guardRig, _ GuardPermit) { g.Forget("k") },
		"reset":        func(g *guardRig, _ GuardPermit) { g.Reset() },
		"back an hour": func(g *guardRig, _ GuardPermit) { g.clock.Advance(-time.Hour) },
	}
	// After each event, in this order: the state, the failures, and whether a
	// refresh may go.
	order := []string{"passed", "failed", "neutral", "late failure", "59 s pass", "2 min pass", "retry", "forget", "reset", "back an hour"}
	for from, row := range map[string][]string{
		"CLOSED":    {"CLOSED 0 true", "CLOSED 1 true", "CLOSED 0 true", "CLOSED 0 true", "CLOSED 0 true", "CLOSED 0 true", "CLOSED 0 true", "CLOSED 0 true", "CLOSED 0 true", "CLOSED 0 true"},
		"CLOSED 1":  {"CLOSED 0 true", "OPEN 2 false", "CLOSED 1 true", "CLOSED 1 true", "CLOSED 1 true", "CLOSED 1 true", "CLOSED 1 true", "CLOSED 0 true", "CLOSED 0 true", "CLOSED 1 true"},
		"OPEN":      {"OPEN 2 false", "OPEN 2 false", "OPEN 2 false", "OPEN 2 false", "OPEN 2 false", "HALF_OPEN 2 true", "HALF_OPEN 2 true", "CLOSED 0 true", "CLOSED 0 true", "OPEN 2 false"},
		"HALF_OPEN": {"HALF_OPEN 2 true", "HALF_OPEN 2 true", "HALF_OPEN 2 true", "HALF_OPEN 2 true", "HALF_OPEN 2 true", "HALF_OPEN 2 true", "HALF_OPEN 2 true", "CLOSED 0 true", "CLOSED 0 true", "OPEN 2 false"},
		"probing":   {"CLOSED 0 true", "OPEN 3 false", "HALF_OPEN 2 true", "HALF_OPEN 2 false", "HALF_OPEN 2 false", "HALF_OPEN 2 true", "HALF_OPEN 2 false", "CLOSED 0 true", "CLOSED 0 true", "HALF_OPEN 2 false"},
	} {
		for i, event := range order {
			want := row[i]
			t.Run(from+", "+event, func(t *testing.T) {
				g := newGuardRig(2, time.Minute)
				p := states[from](g)
				events[event](g, p)
				before := g.String()
				if _, ok := g.begin(); fmt.Sprint(before, " ", ok) != want {
					t.Errorf("%s %v, want %s", before, ok, want)
				}
			})
		}
		if len(row) != len(events) || len(order) != len(events) {
			t.Errorf("%s knows %d of %d events", from, len(row), len(events))
		}
	}
}

func TestGuardFigures(t *testing.T) {
	t.Run("Claude sheet §3.5 five failures in a row, 30 minutes", func(t *testing.T) {
		g := newGuardRig(5, 30*time.Minute)
		g.fail(4)
		p, _ := g.begin()
		g.report(p, GuardPassed) // the row is broken
		g.fail(4)
		if s := g.status(); s.State != GuardClosed || s.Failures != 4 {
			t.Errorf("after 4 failures: %+v", s)
		}
		p, _ = g.begin()
		if !g.report(p, GuardFailed) {
			t.Error("it did not say that it opened")
		}
		if s := g.status(); s.State != GuardOpen || !s.Until.Equal(t0.Add(30*time.Minute)) {
			t.Errorf("after 5: %+v", s)
		}
		g.clock.Advance(30*time.Minute - time.Millisecond)
		if _, ok := g.begin(); ok {
			t.Error("a refresh went out before its time")
		}
		g.clock.Advance(time.Millisecond)
		for i, want := range []bool{true, false, false} {
			if _, ok := g.begin(); ok != want {
				t.Errorf("refresh %d at the end of the cooldown: %v", i+1, ok)
			}
		}
	})
	t.Run("new figures count at once", func(t *testing.T) {
		g := newGuardRig(1, time.Hour)
		g.fail(1)
		g.rules.Cooldown = time.Minute
		g.clock.Advance(time.Minute)
		if s := g.status(); s.State != GuardHalfOpen {
			t.Errorf("%+v", s)
		}
	})
	t.Run("keys know nothing of each other", func(t *testing.T) {
		g := newGuardRig(1, time.Hour)
		g.fail(1)
		if _, ok := g.Begin(t0, "other", g.rules); !ok {
			t.Error("the other key is shut")
		}
	})
}

// TestGuardProperties drives a guard with arbitrary refreshes, waits and clock
// steps.
func TestGuardProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := newGuardRig(rapid.Int64Range(1, 6).Draw(rt, "threshold"), time.Duration(rapid.IntRange(60, 3600).Draw(rt, "cooldown"))*time.Second)
		var out []GuardPermit
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				s := g.status()
				if s.State == GuardClosed && s.Failures >= g.rules.Threshold || s.State != GuardClosed && s.Failures < g.rules.Threshold {
					rt.Fatalf("%s with %d failures of %d", s.State, s.Failures, g.rules.Threshold)
				}
				if (s.State == GuardOpen) == s.Until.IsZero() || s.Until.Sub(g.clock.Now()) > g.rules.Cooldown+clock.Slew {
					rt.Fatalf("%s until %s at %s", s.State, s.Until, g.clock.Now())
				}
			},
			"begin": func(rt *rapid.T) {
				before := g.status().State
				p, ok := g.begin()
				if ok != (before == GuardClosed) && (before != GuardHalfOpen || ok != p.probe) {
					rt.Fatalf("%s admits: %v, probe %v", before, ok, p.probe)
				}
				if ok {
					out = append(out, p)
				}
			},
			"report": func(rt *rapid.T) {
				if len(out) == 0 {
					return
				}
				i := rapid.IntRange(0, len(out)-1).Draw(rt, "which")
				before, p := g.status(), out[i]
				result := rapid.SampledFrom([]GuardResult{GuardNeutral, GuardPassed, GuardFailed}).Draw(rt, "result")
				g.report(p, result)
				out = append(out[:i], out[i+1:]...)
				after := g.status()
				if before.State == GuardOpen && after != before {
					rt.Fatalf("OPEN %+v became %+v", before, after)
				}
				if result != GuardFailed && after.Failures > before.Failures {
					rt.Fatal("counted what did not fail")
				}
			},
			"wait":  func(rt *rapid.T) { g.clock.Advance(time.Duration(rapid.IntRange(0, 4000).Draw(rt, "s")) * time.Second) },
			"step":  func(*rapid.T) { g.clock.Advance(-3 * time.Hour) },
			"retry": func(*rapid.T) { g.Retry("k") },
		})
		// Whatever happened, waiting lets one refresh through, and its success
		// everything.
		g.clock.Advance(g.rules.Cooldown + probeLease + clock.Slew)
		p, ok := g.begin()
		if !ok {
			rt.Fatal("still shut")
		}
		if g.report(p, GuardPassed); g.status() != (GuardStatus{State: GuardClosed}) {
			rt.Fatalf("after a success %+v", g.status())
		}
	})
}
