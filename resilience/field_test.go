package resilience

import (
	"testing"
	"time"

	"breakwater/resilience/classify"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// fails reports n countable failures, past the dedup of a connection.
func (r *rig) fails(c *Conn, n int) {
	r.t.Helper()
	for range n {
		r.try(c, "m1", failure(503, 0))
		r.clock.Advance(6 * time.Second)
	}
}

func (r *rig) breakerState() BreakerStatus {
	r.t.Helper()
	return r.Breakers()[0]
}

func TestFieldCases(t *testing.T) {
	t.Run("P13 a cooled connection gets no traffic before its time", func(t *testing.T) {
		r := newRig(t)
		alpha := r.conn("alpha", "acme")
		r.try(alpha, "m1", failure(429, 15*time.Second))
		for i := range 3 {
			if why, _ := r.excluded(alpha, "m1"); why != exclusion.Cooling {
				t.Fatalf("after %d s: excluded = %q, want cooling", 5*i, why)
			}
			if _, x := r.Begin(Target{Conn: alpha, Model: "m1"}); x == nil {
				t.Fatal("the last gate let it through")
			}
			r.clock.Advance(5 * time.Second)
		}
		if why, _ := r.excluded(alpha, "m1"); why != "" {
			t.Fatalf("after 15 s: excluded = %q", why)
		}
	})
	t.Run("P14 nobody left: the earliest end, and nothing changes", func(t *testing.T) {
		r := newRig(t)
		alpha, beta := r.conn("alpha", "acme"), r.conn("beta", "acme")
		r.try(beta, "m1", failure(429, 40*time.Second))
		r.try(alpha, "m1", failure(429, 10*time.Second))
		writes, changes := r.writes, len(r.changes)
		p := r.Plan([]Candidate{{alpha, "m1"}, {beta, "m1"}})
		if len(p.Targets) != 0 || p.Earliest().Sub(t0) != 10*time.Second {
			t.Errorf("plan = %+v", p)
		}
		if r.writes != writes || len(r.changes) != changes {
			t.Error("planning changed something")
		}
	})
	t.Run("P15 a 429 is neither success nor breaker failure", func(t *testing.T) {
		r := newRig(t)
		alpha := r.conn("alpha", "acme")
		r.conn("other", "acme", disableCooling)
		r.fails(r.Connection("other"), 4)
		r.mark(alpha, "m1", answer{status: 429, body: "slow down"})
		if n := r.breakerState().FailureCount; n != 4 {
			t.Errorf("failure count = %d, want 4", n)
		}
		if why, _ := r.excluded(alpha, "m1"); why != exclusion.Cooling {
			t.Errorf("alpha is %q", why)
		}
	})
	t.Run("P20 requests that are wrong in themselves open nothing", func(t *testing.T) {
		for _, status := range []int{400, 401, 403, 404, 409, 413, 422, 429} {
			r := newRig(t)
			alpha := r.conn("alpha", "acme", disableCooling)
			for range 20 {
				a, x := r.Begin(Target{Conn: alpha, Model: "m1"})
				if x != nil { // a 401 is terminal, which is the connection's affair
					break
				}
				a.Report(r.classify(alpha, "m1", answer{status: status, body: `{"error":{"code":"context_length_exceeded"}}`}))
				r.clock.Advance(6 * time.Second)
			}
			if b := r.breakerState(); b.State != "CLOSED" || b.FailureCount != 0 {
				t.Errorf("status %d: %s with %d failures", status, b.State, b.FailureCount)
			}
		}
	})
	t.Run("P22 a hanging probe is replaced after one reset time", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("alpha", "acme", disableCooling)
		r.fails(c, 12)
		r.clock.Advance(30 * time.Second)
		hanging, x := r.Begin(Target{Conn: c, Model: "m1"})
		if x != nil || !hanging.Probe() {
			t.Fatalf("no probe: %+v", x)
		}
		if _, x := r.Begin(Target{Conn: c, Model: "m1"}); x == nil || x.Reason != exclusion.Probing {
			t.Fatalf("second attempt: %+v", x)
		}
		if why, left := r.excluded(c, "m1"); why != exclusion.Probing || left != 30*time.Second {
			t.Fatalf("%q for %s", why, left)
		}
		r.clock.Advance(30 * time.Second)
		fresh, x := r.Begin(Target{Conn: c, Model: "m1"})
		if x != nil {
			t.Fatalf("no new probe: %+v", x)
		}
		hanging.Report(failure(504, 0))
		if s := r.breakerState().State; s != "HALF_OPEN" {
			t.Fatalf("a late result moved the breaker to %s", s)
		}
		fresh.Report(success())
		if s := r.breakerState().State; s != "CLOSED" {
			t.Errorf("state = %s", s)
		}
	})
	t.Run("P22 the probe's client leaves", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("alpha", "acme", disableCooling)
		r.fails(c, 12)
		r.clock.Advance(30 * time.Second)
		a, _ := r.Begin(Target{Conn: c, Model: "m1"})
		a.Release()
		a.Release()
		if _, x := r.Begin(Target{Conn: c, Model: "m1"}); x != nil {
			t.Errorf("the probe did not come back: %+v", x)
		}
	})
	t.Run("a probe that meets an account's limit is given back", func(t *testing.T) {
		r := newRig(t)
		c, other := r.conn("alpha", "acme", disableCooling), r.conn("beta", "acme")
		r.fails(c, 12)
		r.clock.Advance(30 * time.Second)
		r.try(other, "m1", failure(429, time.Minute))
		if _, x := r.Begin(Target{Conn: c, Model: "m1"}); x != nil {
			t.Errorf("no probe left: %+v", x)
		}
	})
	t.Run("P42 a missing count_tokens route costs nothing", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("alpha", "acme", perModel)
		r.try(c, "m1", outcome.Outcome{Class: outcome.Neutral, Status: 404})
		if why, _ := r.excluded(c, "m1"); why != "" || len(r.Lockouts()) != 0 || r.writes != 0 {
			t.Errorf("excluded %q, %d locks, %d writes", why, len(r.Lockouts()), r.writes)
		}
	})
}

// TestProviderBreaker holds the breaker cases that speak of the wrapper around
// it (sheet §1.8).
func TestProviderBreaker(t *testing.T) {
	t.Run("cases 13, 15, 16 client aborts and closed streams", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		gone := classify.Transport(classify.ClientGone, classify.Input{Provider: "openai", Model: "m1"})
		for range 5 {
			r.try(c, "m1", gone)
		}
		if n := r.breakerState().FailureCount; n != 0 || r.writes != 0 {
			t.Errorf("%d failures, %d writes", n, r.writes)
		}
	})
	t.Run("cases 14, 17 gateway errors are no aborts", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai", disableCooling)
		for range 12 {
			e := r.mark(c, "m1", answer{status: 502, body: "Bad Gateway from upstream"})
			if !e.Counted {
				t.Fatalf("effect = %+v", e)
			}
			r.clock.Advance(6 * time.Second)
		}
		if s := r.breakerState().State; s != "OPEN" {
			t.Errorf("state = %s", s)
		}
	})
	t.Run("case 24 waits in our own queue", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		for range 12 {
			r.try(c, "m1", classify.Transport(classify.LocalLimit, classify.Input{}))
			r.clock.Advance(6 * time.Second)
		}
		if b := r.breakerState(); b.FailureCount != 0 {
			t.Errorf("%d failures", b.FailureCount)
		}
	})
	network := func(r *rig, c *Conn) {
		o := failure(502, 0)
		o.Network = true
		r.try(c, "m1", o)
	}
	t.Run("case 25 network errors of one provider count once in 10 s", func(t *testing.T) {
		r := newRig(t)
		for i := range 12 {
			network(r, r.conn(string(rune('a'+i)), "openai", disableCooling))
			r.clock.Advance(500 * time.Millisecond)
		}
		if b := r.breakerState(); b.State != "CLOSED" || b.FailureCount != 1 {
			t.Errorf("%s with %d", b.State, b.FailureCount)
		}
	})
	t.Run("case 26 twelve windows of network errors open it", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai", disableCooling)
		for range 12 {
			network(r, c)
			r.clock.Advance(10 * time.Second)
		}
		if s := r.breakerState().State; s != "OPEN" {
			t.Errorf("state = %s", s)
		}
	})
	t.Run("case 41 the twelfth failure shuts an API-key provider", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai", disableCooling)
		r.fails(c, 11)
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Fatalf("after 11: %s", why)
		}
		r.try(c, "m1", failure(503, 0))
		if why, left := r.excluded(c, "m1"); why != exclusion.BreakerOpen || left <= 0 || left > 10*time.Minute || r.breakerState().FailureCount != 12 {
			t.Fatalf("after 12: %q for %s", why, left)
		}
		r.clock.Advance(11 * time.Minute)
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("after 11 min: %s", why)
		}
	})
	t.Run("case 42 another connection's failure does not extend it", func(t *testing.T) {
		r := newRig(t)
		a, b := r.conn("a", "openai", disableCooling), r.conn("b", "openai", disableCooling)
		late, _ := r.Begin(Target{b, "m1"})
		r.fails(a, 12)
		before := r.breakerState()
		if e := late.Report(failure(503, 0)); e.Counted {
			t.Error("it counted")
		}
		if after := r.breakerState(); !after.LastFailureTime.Equal(before.LastFailureTime) || !after.Until.Equal(before.Until) {
			t.Errorf("from %+v to %+v", before, after)
		}
	})
	t.Run("case 40 a success of a provider without a name", func(t *testing.T) {
		r := newRig(t)
		r.try(r.conn("a", ""), "m1", success())
		if r.writes != 0 {
			t.Error("a success wrote something")
		}
	})
	t.Run("case 43 one connection counts once in 5 s", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai", disableCooling)
		r.try(c, "m1", failure(503, 0))
		r.clock.Advance(4 * time.Second)
		if e := r.try(c, "m1", failure(503, 0)); e.Counted || r.breakerState().FailureCount != 1 {
			t.Errorf("effect %+v, count %d", e, r.breakerState().FailureCount)
		}
		r.try(c, "m1", success()) // clears the key
		if e := r.try(c, "m1", failure(503, 0)); !e.Counted {
			t.Error("not counted after a success")
		}
	})
	t.Run("case 44 the key of a connection survives ten thousand others", func(t *testing.T) {
		r := newRig(t)
		last := r.conn("last", "openai", disableCooling)
		for range 3 {
			r.try(last, "m1", failure(503, 0))
		}
		for i := range 10_001 {
			r.conn(string(rune(i+1_000)), "openai")
		}
		r.try(last, "m1", failure(503, 0))
		if n := r.breakerState().FailureCount; n != 1 {
			t.Errorf("count = %d", n)
		}
	})
	t.Run("a probe always settles, whatever came just before", func(t *testing.T) {
		r := newRig(t, func(s *settings.Settings) {
			s.ProviderBreaker.APIKey = settings.BreakerProfile{FailureThreshold: 1, DegradationThreshold: 1, ResetTimeoutMs: 1000}
		})
		c := r.conn("a", "openai", disableCooling)
		network(r, c)
		r.clock.Advance(time.Second)
		network(r, c)
		if b := r.breakerState(); b.State != "OPEN" || b.OpenCycleCount != 1 {
			t.Errorf("breaker = %+v", b)
		}
	})
	t.Run("of several reasons the one that lasts counts", func(t *testing.T) {
		r := newRig(t)
		c, other := r.conn("a", "openai"), r.conn("b", "openai", disableCooling)
		late, _ := r.Begin(Target{c, "m1"})
		r.fails(other, 12)
		late.Report(failure(429, time.Hour))
		if why, left := r.excluded(c, "m1"); why != exclusion.Cooling || left != time.Hour {
			t.Errorf("%q for %s", why, left)
		}
		if why, left := r.excluded(other, "m1"); why != exclusion.BreakerOpen || left != 24*time.Second {
			t.Errorf("%q for %s", why, left)
		}
	})
	t.Run("the report that opens it says so, with events in order", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai", disableCooling)
		r.fails(c, 11)
		if e := r.try(c, "m1", failure(503, 0)); !e.BreakerOpened {
			t.Errorf("effect = %+v", e)
		}
		var to []string
		for i, ch := range r.changes {
			if ch.Seq != uint64(i+1) {
				t.Fatalf("change %d has number %d", i, ch.Seq)
			}
			to = append(to, ch.To)
		}
		if len(to) != 2 || to[0] != "DEGRADED" || to[1] != "OPEN" || !r.changes[1].Until.Equal(r.clock.Now().Add(30*time.Second)) {
			t.Errorf("changes = %+v", r.changes)
		}
		if row := r.rows["openai"]; row.State != "OPEN" || row.FailureCount != 12 || row.FailureThreshold != 12 {
			t.Errorf("row = %+v", row)
		}
		if s := r.status(c); s.State != StateOpen || s.Until.IsZero() {
			t.Errorf("status = %+v", s)
		}
	})
}
