package resilience

import (
	"testing"
	"time"

	"breakwater/resilience/classify"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

func TestClearAccountError(t *testing.T) {
	t.Run("case 174 a success clears everything", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		r.mark(c, "m1", answer{status: 429, body: "rate limit", header: map[string][]string{"Retry-After": {"30"}}})
		r.wantStatus(c, "unavailable", 30*time.Second)
		r.clock.Advance(30 * time.Second)
		r.try(c, "m1", success())
		r.wantStatus(c, "active", 0)
		want := ConnectionState{ID: "a", TestStatus: "active"}
		if got := r.saved["a"]; got != want {
			t.Errorf("stored %+v", got)
		}
		if last := r.changes[len(r.changes)-1]; last.Kind != ChangeCleared || last.From != "unavailable" || last.To != "active" {
			t.Errorf("last change = %+v", last)
		}
	})
	t.Run("case 175 a success on a clean row writes nothing", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		r.try(c, "m1", success())
		if r.writes != 0 || len(r.changes) != 0 {
			t.Errorf("%d writes, %d changes", r.writes, len(r.changes))
		}
	})
	t.Run("a success that began before the error does not clear it", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		early, _ := r.Begin(Target{Conn: c, Model: "m1"})
		r.try(c, "m1", failure(429, time.Hour))
		early.Report(success())
		r.wantStatus(c, "unavailable", time.Hour)
	})
	t.Run("ruling 8: waiting alone leaves the level, so the ladder climbs", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		for _, want := range []time.Duration{3, 6, 12, 24, 48, 96, 96} {
			if e := r.mark(c, "m1", answer{status: 429, body: "rate limit"}); e.Cooldown != want*time.Second {
				t.Fatalf("cooldown = %s, want %d s", e.Cooldown, want)
			}
			r.clock.Advance(want * time.Second)
			r.excluded(c, "m1") // selection does not reset it
		}
		r.try(c, "m1", success())
		if e := r.mark(c, "m1", answer{status: 429, body: "rate limit"}); e.Cooldown != 3*time.Second {
			t.Errorf("after a success: %s", e.Cooldown)
		}
	})
	t.Run("the herd climbs one step", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		var herd []*Attempt
		for range 20 {
			a, _ := r.Begin(Target{Conn: c, Model: "m1"})
			herd = append(herd, a)
		}
		for i, a := range herd {
			o := r.classify(c, "m1", answer{status: 429, body: "rate limit"})
			if e := a.Report(o); e.Cooldown != 3*time.Second-time.Duration(i)*10*time.Millisecond {
				t.Fatalf("%d: %s left", i, e.Cooldown)
			}
			r.clock.Advance(10 * time.Millisecond)
		}
		if c.Level() != 1 {
			t.Errorf("level = %d", c.Level())
		}
	})
	t.Run("a concurrency limit keeps the level", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		r.Restore([]ConnectionState{{ID: "a", TestStatus: "unavailable", BackoffLevel: 4, RateLimitedUntil: t0.Add(-time.Second)}}, nil)
		e := r.mark(c, "m1", answer{status: 429, body: "too many concurrent requests"})
		if e.Cooldown != time.Second || c.Level() != 4 || e.Counted {
			t.Errorf("effect %+v, level %d", e, c.Level())
		}
		if s := r.status(c); s.Reason != outcome.ReasonConcurrencyLimited {
			t.Errorf("reason = %q", s.Reason)
		}
	})
	t.Run("a stalled stream is recorded without a cooldown, unless opted in", func(t *testing.T) {
		for on, want := range map[bool]time.Duration{false: 0, true: 3 * time.Second} {
			r := newRig(t, func(s *settings.Settings) { s.StreamStallCooldown.Enabled = on })
			c := r.conn("a", "openai")
			o := failure(504, 3*time.Second)
			o.Reason, o.SkipBreaker = outcome.ReasonStreamStall, true
			if e := r.try(c, "m1", o); e.Cooldown != want || r.status(c).LastErrorType != "server_error" {
				t.Errorf("enabled %v: %+v, type %q", on, e, r.status(c).LastErrorType)
			}
		}
	})
}

func TestOAuthStreak(t *testing.T) {
	r := newRig(t)
	c := r.conn("a", "codex", oauth)
	refused := answer{status: 401, body: "Invalid authentication credentials provided", auth: classify.AuthOAuth}
	for _, want := range []time.Duration{5, 10, 20, 40, 80, 120, 120} {
		e := r.mark(c, "m1", refused)
		if e.Cooldown != want*time.Second {
			t.Fatalf("cooldown = %s, want %d s", e.Cooldown, want)
		}
		if s := r.status(c); s.TestStatus != "active" || s.State != StateCooling || s.BackoffLevel != 0 {
			t.Fatalf("status = %+v", s)
		}
		r.clock.Advance(e.Cooldown)
	}
	r.clock.Advance(2*time.Minute + time.Second)
	if e := r.mark(c, "m1", refused); e.Cooldown != 5*time.Second {
		t.Errorf("after a pause: %s", e.Cooldown)
	}
	r.clock.Advance(5 * time.Second)
	r.try(c, "m1", success())
	if e := r.mark(c, "m1", refused); e.Cooldown != 5*time.Second {
		t.Errorf("after a success: %s", e.Cooldown)
	}
	own := r.conn("own", "codex", oauth, func(c *Connection) { c.Passthrough = true })
	if e := r.mark(own, "m1", answer{status: 401, body: refused.body, auth: classify.AuthPassthrough}); e.Cooldown != 0 || e.Terminal != "" {
		t.Errorf("a client's own token cost the connection %+v", e)
	}
}

func TestExpiredRetry(t *testing.T) {
	expired := func(t *testing.T) (*rig, *Conn) {
		r := newRig(t)
		c := r.conn("a", "openai")
		r.mark(c, "m1", answer{status: 401, body: "unauthorized"})
		return r, c
	}
	t.Run("three retries, 5, 10 and 20 minutes apart, then terminal", func(t *testing.T) {
		r, c := expired(t)
		for i, wait := range []time.Duration{5, 10, 20} {
			if why, left := r.excluded(c, "m1"); why != exclusion.Expired || left != wait*time.Minute {
				t.Fatalf("retry %d: %q for %s", i, why, left)
			}
			r.clock.Advance(wait * time.Minute)
			r.mark(c, "m1", answer{status: 401, body: "unauthorized"})
			if got := r.saved["a"]; got.ExpiredRetries != i+1 || !got.ExpiredRetryAt.Equal(r.clock.Now()) {
				t.Fatalf("ruling 23: stored %+v", got)
			}
		}
		r.clock.Advance(24 * time.Hour)
		if why, left := r.excluded(c, "m1"); why != exclusion.Expired || left != 0 {
			t.Errorf("%q for %s, want expired without an end", why, left)
		}
	})
	t.Run("one retry at a time, given back when it proves nothing", func(t *testing.T) {
		r, c := expired(t)
		r.clock.Advance(5 * time.Minute)
		a, _ := r.Begin(Target{Conn: c, Model: "m1"})
		if _, x := r.Begin(Target{Conn: c, Model: "m1"}); x == nil || x.Reason != exclusion.Expired {
			t.Fatalf("a second retry: %+v", x)
		}
		a.Release()
		a, x := r.Begin(Target{Conn: c, Model: "m1"})
		if x != nil {
			t.Fatalf("not given back: %+v", x)
		}
		r.clock.Advance(5 * time.Minute) // the lease ends, the late result counts no retry
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("a hanging retry still holds its lease: %s", why)
		}
		a.Report(r.classify(c, "m1", answer{status: 401, body: "unauthorized"}))
		if n := r.status(c).ExpiredRetries; n != 0 {
			t.Errorf("late result counted: %d", n)
		}
	})
	t.Run("a good retry lifts the state", func(t *testing.T) {
		r, c := expired(t)
		r.clock.Advance(5 * time.Minute)
		r.try(c, "m1", success())
		r.wantStatus(c, "active", 0)
	})
	t.Run("an inconclusive retry only puts the next one off", func(t *testing.T) {
		r, c := expired(t)
		r.clock.Advance(5 * time.Minute)
		r.mark(c, "m1", answer{status: 503, body: "down"})
		if why, left := r.excluded(c, "m1"); why != exclusion.Expired || left != 5*time.Minute || r.status(c).ExpiredRetries != 0 {
			t.Errorf("%q for %s", why, left)
		}
	})
	t.Run("a retry may find the account banned", func(t *testing.T) {
		r, c := expired(t)
		r.clock.Advance(5 * time.Minute)
		r.mark(c, "m1", answer{status: 401, body: "your account has been disabled"})
		r.wantStatus(c, "banned", 0)
	})
	t.Run("a request's own fault gives the retry back", func(t *testing.T) {
		r, c := expired(t)
		r.clock.Advance(5 * time.Minute)
		o := failure(502, 0)
		o.Scope = outcome.ScopeRequest
		r.try(c, "m1", o)
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("excluded: %s", why)
		}
	})
	t.Run("a breaker that opened meanwhile gives nothing away", func(t *testing.T) {
		r, c := expired(t)
		r.clock.Advance(5 * time.Minute)
		other := r.conn("b", "openai", disableCooling)
		for range 12 {
			r.try(other, "m1", failure(503, 0))
			r.clock.Advance(6 * time.Second)
		}
		if _, x := r.Begin(Target{Conn: c, Model: "m1"}); x == nil || x.Reason != exclusion.BreakerOpen {
			t.Errorf("exclusion = %+v", x)
		}
	})
}

func TestWaysOut(t *testing.T) {
	cooled := func(t *testing.T) (*rig, *Conn) {
		r := newRig(t)
		c := r.conn("alpha", "acme")
		o := failure(429, 561_635*time.Second)
		o.UsedHint, o.HintSource, o.RawHint = true, "header", "561635"
		r.try(c, "m1", o)
		r.clock.Advance(time.Minute)
		if why, left := r.excluded(c, "m1"); why != exclusion.Cooling || left != 561_575*time.Second {
			t.Fatalf("%q for %s", why, left)
		}
		if s := r.status(c); s.RawHint != "561635" || s.LastErrorSource != "header" {
			t.Fatalf("hint not kept: %+v", s)
		}
		return r, c
	}
	free := func(r *rig, c *Conn) {
		r.t.Helper()
		if why, _ := r.excluded(c, "m1"); why != "" {
			r.t.Errorf("still excluded: %s", why)
		}
		if got := r.saved["alpha"]; !got.RateLimitedUntil.IsZero() || got.TestStatus != "active" {
			r.t.Errorf("stored %+v", got)
		}
	}
	t.Run("P09 operator reset", func(t *testing.T) {
		r, c := cooled(t)
		if got := r.ClearConnection("alpha"); got != (ClearResult{Found: true, Cleared: true}) {
			t.Errorf("result = %+v", got)
		}
		free(r, c)
	})
	t.Run("P09 ruling 66 what the provider has stated outlasts a good test", func(t *testing.T) {
		for _, proves := range []string{"", "m1"} {
			r, c := cooled(t)
			r.TestPassed("alpha", proves)
			if why, _ := r.excluded(c, "m1"); why != "cooling" {
				t.Errorf("after a test of %q: %q", proves, why)
			}
		}
	})
	t.Run("P09 ruling 66 the provider's own figures", func(t *testing.T) {
		r, c := cooled(t)
		QuotaProved(r.Engine, "alpha")
		free(r, c)
	})
	t.Run("ruling 66 a guessed wait falls by what a test proves", func(t *testing.T) {
		for _, tt := range []struct {
			name   string
			answer answer
			proves string
			lifted bool
		}{
			{"a rate by a list", answer{status: 429, body: "slow down"}, "", false},
			{"a rate by a token", answer{status: 429, body: "slow down"}, "m1", true},
			{"a fault by a list", answer{status: 503, body: "oops"}, "", true},
			{"a fault by a token", answer{status: 503, body: "oops"}, "m1", true},
			{"a stated fault", answer{status: 503, header: map[string][]string{"Retry-After": {"60"}}}, "m1", false},
			{"no credit", answer{status: 402, body: "payment required"}, "", true},
			{"a refused key", answer{status: 401, body: "bad key"}, "", true},
		} {
			r := newRig(t)
			c := r.conn("alpha", "acme")
			r.mark(c, "m1", tt.answer)
			r.TestPassed("alpha", tt.proves)
			if why, _ := r.excluded(c, "m1"); (why == "") != tt.lifted {
				t.Errorf("%s: %q", tt.name, why)
			}
		}
	})
	t.Run("a reset keeps terminal states, new credentials lift them", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("alpha", "acme")
		r.mark(c, "m1", answer{status: 402, body: "payment required"})
		if got := r.ClearConnection("alpha"); got != (ClearResult{Found: true, Terminal: outcome.CreditsExhausted}) {
			t.Errorf("result = %+v", got)
		}
		r.wantStatus(c, "credits_exhausted", 0)
		r.ResetConnection("alpha")
		free(r, c)
		if got := r.ClearConnection("nobody"); got.Found {
			t.Error("found nobody")
		}
		r.TestPassed("nobody", "")
	})
	t.Run("a reset of one provider leaves the others alone", func(t *testing.T) {
		r := newRig(t)
		for _, p := range []string{"acme", "other"} {
			r.try(r.conn(p+"-1", p, disableCooling), "m1", failure(503, 0))
		}
		if n := r.ResetProvider("acme", "nobody"); n != 1 || r.deleted != 0 {
			t.Errorf("%d breakers, %d deletions", n, r.deleted)
		}
		for _, b := range r.Breakers() {
			if want := map[string]int{"acme": 0, "other": 1}[b.Name]; b.FailureCount != want || r.rows[b.Name].FailureCount != want {
				t.Errorf("%s counts %d, its row %d", b.Name, b.FailureCount, r.rows[b.Name].FailureCount)
			}
		}
	})
	t.Run("ruling 31: the breaker reset leaves cooldowns", func(t *testing.T) {
		r, c := cooled(t)
		r.try(r.conn("beta", "acme", disableCooling), "m1", failure(503, 0))
		if n := r.ResetBreakers(); n != 1 || r.deleted != 1 || r.Breakers()[0].FailureCount != 0 {
			t.Errorf("%d breakers, %d deletions", n, r.deleted)
		}
		if why, _ := r.excluded(c, "m1"); why != exclusion.Cooling {
			t.Errorf("cooldown lifted: %q", why)
		}
	})
}
