package resilience

import (
	"fmt"
	"testing"
	"time"

	"breakwater/resilience/breaker"
	"breakwater/resilience/clock"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// busy is an engine in which every layer has something to say: cooling and
// locked connections, a degraded and an open breaker, the window gate on.
func busy(tb testing.TB, n int) (*Engine, []Candidate) {
	s := settings.Defaults()
	s.ProviderCooldown.Enabled = true
	s.ModelLockout.Enabled = true
	e := New(Config{Clock: clock.System{}, Settings: s})
	var cands []Candidate
	for i := range n {
		c := e.Upsert(Connection{
			ID: fmt.Sprint("c", i), Provider: []string{"openai", "codex", "gemini", "groq", "glm"}[i%5],
			Profile: settings.APIKey, Active: i != 0, PerModelQuota: true,
		})
		cands = append(cands, Candidate{Conn: c, Model: "gpt-5.3-codex"})
	}
	for i, cand := range cands {
		o := failure(429, time.Hour)
		switch i % 10 {
		case 1:
			o.Scope, o.UsedHint = outcome.ScopeModel, true
		case 2:
		case 3: // groq: an open breaker
			e.provider("groq", settings.APIKey).breaker.Restore(time.Now(), breakerOpen)
			continue
		case 4: // glm: a degraded one
			e.provider("glm", settings.APIKey).breaker.Restore(time.Now(), breakerDegraded)
			continue
		case 7:
			o.Terminal = outcome.CreditsExhausted
		default:
			continue
		}
		if a, _ := e.Begin(cand); a != nil {
			a.Report(o)
		}
	}
	p := e.Plan(cands)
	if len(p.Targets) == 0 || len(p.Excluded) < n/4 {
		tb.Fatalf("%d targets, %d excluded", len(p.Targets), len(p.Excluded))
	}
	return e, cands
}

func BenchmarkPlan50(b *testing.B) {
	e, cands := busy(b, 50)
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Plan(cands)
	}
}

func BenchmarkPlan50AllServing(b *testing.B) {
	e := New(Config{Clock: clock.System{}, Settings: settings.Defaults()})
	var cands []Candidate
	for i := range 50 {
		cands = append(cands, Candidate{Conn: e.Upsert(Connection{ID: fmt.Sprint(i), Provider: fmt.Sprint("p", i%5), Active: true}), Model: "m"})
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = e.Plan(cands)
	}
}

// BenchmarkReportSuccess is one whole clean attempt: Begin and Report.
func BenchmarkReportSuccess(b *testing.B) {
	e := New(Config{Clock: clock.System{}, Settings: settings.Defaults()})
	t := Target{Conn: e.Upsert(Connection{ID: "a", Provider: "openai", Active: true}), Model: "m"}
	ok := outcome.Outcome{Class: outcome.Success, Status: 200}
	b.ReportAllocs()
	for b.Loop() {
		a, _ := e.Begin(t)
		a.Report(ok)
	}
}

// BenchmarkReportSuccessDirty is the same with a breaker failure to take back
// and the window gate on.
func BenchmarkReportSuccessDirty(b *testing.B) {
	e, cands := busy(b, 50)
	t := cands[9] // glm, degraded
	ok := outcome.Outcome{Class: outcome.Success, Status: 200}
	b.ReportAllocs()
	for b.Loop() {
		t.Conn.provider.breaker.Failure(time.Now(), outcome.KindNone)
		a, x := e.Begin(t)
		if x != nil {
			b.Fatal(x.Reason)
		}
		a.Report(ok)
	}
}

func BenchmarkBeginReportParallel(b *testing.B) {
	e := New(Config{Clock: clock.System{}, Settings: settings.Defaults()})
	t := Target{Conn: e.Upsert(Connection{ID: "a", Provider: "openai", Active: true}), Model: "m"}
	ok := outcome.Outcome{Class: outcome.Success, Status: 200}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			a, _ := e.Begin(t)
			a.Report(ok)
		}
	})
}

// TestBudgets pins the allocations that the benchmarks show.
func TestBudgets(t *testing.T) {
	e, cands := busy(t, 50)
	if n := testing.AllocsPerRun(100, func() { e.Plan(cands) }); n > 2 {
		t.Errorf("Plan over 50 connections makes %.0f allocations, 2 are allowed", n)
	}
	for _, c := range cands { // everybody out
		cfg := c.Conn.Config()
		cfg.Active = false
		e.Upsert(cfg)
	}
	if n := testing.AllocsPerRun(100, func() { e.Plan(cands) }); n > 2 {
		t.Errorf("Plan over 50 excluded connections makes %.0f allocations, 2 are allowed", n)
	}
	clean := Target{Conn: e.Upsert(Connection{ID: "x", Provider: "clean", Active: true}), Model: "m"}
	if n := testing.AllocsPerRun(100, func() {
		a, _ := e.Begin(clean)
		a.Report(success())
	}); n > 1 {
		t.Errorf("a clean attempt makes %.0f allocations, 1 is allowed", n)
	}
}

var (
	breakerOpen     = breaker.Saved{State: breaker.Open, Failures: 12, LastFailure: time.Now().Add(time.Hour)}
	breakerDegraded = breaker.Saved{State: breaker.Degraded, Failures: 8, LastFailure: time.Now().Add(time.Hour)}
)
