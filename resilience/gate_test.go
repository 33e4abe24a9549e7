package resilience

import (
	"strconv"
	"testing"
	"time"

	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

func gateOn(s *settings.Settings) { s.ProviderCooldown.Enabled = true }

// plain is a failure that cools nothing by itself.
func plain(status int) outcome.Outcome {
	o := failure(status, 0)
	o.SetsLevel = false
	return o
}

func TestProviderWindowGate(t *testing.T) {
	t.Run("case 52 off unless enabled", func(t *testing.T) {
		for _, on := range []bool{false, true} {
			r := newRig(t, func(s *settings.Settings) { s.ProviderCooldown.Enabled = on })
			c := r.conn("conn-1", "openai")
			r.try(c, "m1", plain(429))
			if why, _ := r.excluded(c, "m1"); (why == exclusion.ProviderCooldown) != on {
				t.Errorf("enabled %v: %q", on, why)
			}
		}
	})
	t.Run("cases 53, 54 the pace of a connection grows", func(t *testing.T) {
		r := newRig(t, gateOn)
		c := r.conn("conn-1", "openai")
		for _, want := range []time.Duration{5, 10, 20} {
			a := r.BeginTest(Target{c, "m1"}) // past the gate, as parallel attempts are
			a.test = false
			a.Report(plain(429))
			if why, left := r.excluded(c, "m1"); why != exclusion.ProviderCooldown || left != want*time.Second {
				t.Fatalf("%q for %s, want %d s", why, left, want)
			}
		}
		if s := r.status(c); s.State != StateCooling || s.Until.Sub(t0) != 20*time.Second {
			t.Errorf("status = %+v", s)
		}
	})
	t.Run("case 55 nameless providers never cool", func(t *testing.T) {
		for _, name := range []string{"unknown", ""} {
			r := newRig(t, gateOn)
			c := r.conn("a", name)
			r.try(c, "m1", plain(429))
			if why, _ := r.excluded(c, "m1"); why != "" {
				t.Errorf("provider %q: %s", name, why)
			}
		}
	})
	t.Run("case 57 success clears", func(t *testing.T) {
		r := newRig(t, gateOn)
		c := r.conn("a", "openai")
		late, _ := r.Begin(Target{c, "m1"})
		r.try(c, "m1", plain(429))
		late.Report(success())
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("excluded: %s", why)
		}
	})
	t.Run("case 60 connections are independent", func(t *testing.T) {
		r := newRig(t, gateOn)
		one, two := r.conn("conn-1", "openai"), r.conn("conn-2", "openai")
		late, _ := r.Begin(Target{one, "m1"})
		r.try(one, "m1", plain(429))
		r.try(two, "m1", plain(429))
		late.Report(success())
		if why, _ := r.excluded(one, "m1"); why != "" {
			t.Errorf("conn-1: %s", why)
		}
		if why, _ := r.excluded(two, "m1"); why != exclusion.ProviderCooldown {
			t.Errorf("conn-2: %q", why)
		}
	})
	t.Run("case 62 a per-model quota explains a 500 or a 429", func(t *testing.T) {
		for _, c := range []struct {
			provider string
			edit     func(*Connection)
			status   int
			want     exclusion.Reason
		}{
			{"gemini", perModel, 500, ""},
			{"gemini", perModel, 429, ""},
			{"gemini", perModel, 503, exclusion.ProviderCooldown},
			{"openai", func(*Connection) {}, 500, exclusion.ProviderCooldown},
		} {
			r := newRig(t, gateOn)
			conn := r.conn("a", c.provider, c.edit)
			r.try(conn, "m1", plain(c.status))
			if why, _ := r.excluded(conn, "m1"); why != c.want {
				t.Errorf("%d on %s: %q, want %q", c.status, c.provider, why, c.want)
			}
		}
	})
	window := func(t *testing.T, n int, apart time.Duration) (*rig, *Conn) {
		r := newRig(t, gateOn, func(s *settings.Settings) {
			s.ProviderCooldown.MinRetryCooldownMs, s.ProviderCooldown.MaxRetryCooldownMs = 0, 0
		})
		c := r.conn("a", "openai", disableCooling)
		for i := range n {
			if i > 0 {
				r.clock.Advance(apart)
			}
			r.try(c, "m1", plain(429))
		}
		return r, c
	}
	t.Run("case 64 the fifteenth failure cools the provider", func(t *testing.T) {
		r, c := window(t, 14, time.Minute)
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Fatalf("after 14: %s", why)
		}
		r.try(c, "m1", plain(429))
		if why, left := r.excluded(r.conn("other", "openai"), "m1"); why != exclusion.ProviderCooldown || left != 10*time.Minute {
			t.Fatalf("after 15: %q for %s", why, left)
		}
		r.clock.Advance(11 * time.Minute)
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("after 11 min: %s", why)
		}
	})
	t.Run("case 64 a success clears the window", func(t *testing.T) {
		r, c := window(t, 14, time.Second)
		r.try(c, "m1", success())
		r.try(c, "m1", plain(429))
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("excluded: %s", why)
		}
	})
	t.Run("case 65 failures spread too thin", func(t *testing.T) {
		r, c := window(t, 15, 3*time.Minute)
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("excluded: %s", why)
		}
	})
	t.Run("a reset and a good test are ways out", func(t *testing.T) {
		r, c := window(t, 15, time.Second)
		r.TestPassed("a", "")
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("after the test: %s", why)
		}
		r, c = window(t, 15, time.Second)
		r.ResetBreakers()
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("after the reset: %s", why)
		}
	})
}

func TestRegistry(t *testing.T) {
	t.Run("cases 27, 28 a thousand providers come and go", func(t *testing.T) {
		r := newRig(t)
		r.fails(r.conn("x", "broken", disableCooling), 12)
		r.Remove("x")
		for i := range 1200 {
			id := strconv.Itoa(i)
			c := r.conn(id, "p"+id, disableCooling)
			if i%2 == 0 {
				r.try(c, "m1", failure(503, 0)) // not clean, so it is remembered
			}
			r.Remove(id)
		}
		list := r.Breakers()
		if len(list) > 500 {
			t.Errorf("%d breakers are kept", len(list))
		}
		if list[0].Name != "broken" || list[0].FailureCount != 12 || list[0].State == "CLOSED" {
			t.Errorf("the open breaker was lost: %+v", list[0])
		}
	})
	t.Run("state stays with the id, not with the provider", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "one")
		r.try(c, "m1", failure(429, time.Hour))
		if r.conn("a", "one", perModel) != c || r.status(c).State != StateCooling {
			t.Error("an edit lost the state")
		}
		moved := r.conn("a", "two")
		if moved == c || r.status(moved).State != StateServing {
			t.Error("another provider kept the state")
		}
		if why, _ := r.excluded(c, "m1"); why != exclusion.Off {
			t.Errorf("the old handle is %q", why)
		}
		r.Remove("a")
		if r.Connection("a") != nil {
			t.Error("still there")
		}
		r.Remove("a")
	})
	t.Run("breakers are restored, unknown states dropped", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		r.Restore(nil, []BreakerState{
			{Name: "openai", State: "OPEN", FailureCount: 12, LastFailureTime: t0.Add(-10 * time.Second), OpenCycleCount: 1},
			{Name: "unused", State: "OPEN", FailureCount: 12, LastFailureTime: t0},
			{Name: "odd", State: "AJAR"},
			{Name: "", State: "OPEN"},
			{Name: "fine", State: "CLOSED"},
		})
		if why, left := r.excluded(c, "m1"); why != exclusion.BreakerOpen || left != 20*time.Second {
			t.Errorf("%q for %s", why, left)
		}
		if list := r.Breakers(); len(list) != 2 || list[1].Name != "unused" {
			t.Errorf("breakers = %+v", list)
		}
		if why, _ := r.excluded(r.conn("b", "unused"), "m1"); why != exclusion.BreakerOpen {
			t.Errorf("a later connection finds %q", why)
		}
	})
}

func TestSettingsApplyAtOnce(t *testing.T) {
	r := newRig(t)
	c := r.conn("a", "openai", disableCooling)
	r.fails(c, 1)
	s := r.Settings()
	s.ProviderBreaker.APIKey.FailureThreshold, s.ProviderBreaker.APIKey.DegradationThreshold = 2, 1
	r.SetSettings(s)
	r.fails(c, 1)
	if b := r.breakerState(); b.State != "OPEN" || b.FailureThreshold != 2 {
		t.Errorf("breaker = %+v", b)
	}
	on := true
	s.ConnectionCooldown.APIKey.UseUpstream429BreakerHints = &on
	r.SetSettings(s)
	if b := r.breakerState(); b.State != "CLOSED" {
		t.Errorf("a changed 429 hint left the breaker %s", b.State)
	}
	o := failure(503, 0)
	o.BreakerKind = outcome.KindQuotaExhausted
	for range 2 {
		r.try(c, "m1", o)
		r.clock.Advance(6 * time.Second)
	}
	if left := r.breakerState().RetryAfter; left != time.Hour-6*time.Second {
		t.Errorf("quota hold leaves %s", left)
	}
	same := s.Clone()
	r.SetSettings(same)
	if b := r.breakerState(); b.State != "OPEN" {
		t.Error("unchanged hints reset the breakers")
	}
	off := false
	s.ConnectionCooldown.APIKey.UseUpstream429BreakerHints = &off
	r.SetSettings(s)
	for range 2 {
		r.try(c, "m1", o)
		r.clock.Advance(6 * time.Second)
	}
	if left := r.breakerState().RetryAfter; left != 24*time.Second {
		t.Errorf("without hints %s are left", left)
	}
}

func TestEditsWhileCooling(t *testing.T) {
	t.Run("disableCooling ends a cooldown at once", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		r.try(c, "m1", failure(429, time.Hour))
		r.conn("a", "openai", disableCooling)
		if why, _ := r.excluded(c, "m1"); why != "" || !r.saved["a"].RateLimitedUntil.IsZero() {
			t.Errorf("%q, stored %+v", why, r.saved["a"])
		}
		r.Restore([]ConnectionState{{ID: "a", TestStatus: "unavailable", RateLimitedUntil: t0.Add(time.Hour)}}, nil)
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("restored: %q", why)
		}
	})
	t.Run("an attempt that outlives its connection leaves no trace", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		a, _ := r.Begin(Target{c, "m1"})
		test := r.BeginTest(Target{c, "m1"})
		r.Remove("a")
		if e := a.Report(failure(503, time.Hour)); e != (Effect{}) || test.Report(failure(503, 0)) != (Effect{}) || r.writes != 0 {
			t.Errorf("effect %+v, %d writes", e, r.writes)
		}
	})
}
