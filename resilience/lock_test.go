package resilience

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"breakwater/resilience/classify"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// one returns the only lock there is.
func (r *rig) one() Lockout {
	r.t.Helper()
	list := r.Lockouts()
	if len(list) != 1 {
		r.t.Fatalf("%d locks: %+v", len(list), list)
	}
	return list[0]
}

// wantLocked checks that only the model is out, and the connection active.
func (r *rig) wantLocked(c *Conn, model, sibling, reason string) {
	r.t.Helper()
	if why, left := r.excluded(c, model); why != exclusion.ModelLocked || left <= 0 {
		r.t.Fatalf("%s: %q for %s", model, why, left)
	}
	if why, _ := r.excluded(c, sibling); why != "" {
		r.t.Errorf("%s is excluded: %s", sibling, why)
	}
	if s := r.status(c); s.TestStatus != "active" || s.State != StateModelLocked || s.BackoffLevel != 0 || len(s.Lockouts) != 1 {
		r.t.Errorf("status = %+v", s)
	}
	if l := r.one(); l.Reason != reason {
		r.t.Errorf("reason = %q, want %q", l.Reason, reason)
	}
}

func TestModelLocks(t *testing.T) {
	t.Run("case 170 a refused mode of Grok", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "grok-web", oauth)
		o := failure(403, time.Minute)
		o.Scope, o.Reason, o.ErrorType = outcome.ScopeModel, outcome.ReasonAuth, "forbidden"
		r.try(c, "heavy", o)
		r.wantLocked(c, "heavy", "fast", "forbidden")
		if s := r.status(c); s.LastErrorType != "forbidden" {
			t.Errorf("last error type = %q", s.LastErrorType)
		}
	})
	t.Run("case 176 two subscription 403s on one model", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "ollama-cloud", perModel)
		late, _ := r.Begin(Target{c, "big"})
		in := answer{status: 403, body: "this model requires a subscription, upgrade for access"}
		r.mark(c, "big", in)
		late.Report(r.classify(c, "big", in))
		r.wantLocked(c, "big", "small", "forbidden")
	})
	t.Run("case 177 a deactivated account has no model lock", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "ollama-cloud", perModel)
		r.mark(c, "big", answer{status: 403, body: "this account is deactivated"})
		r.wantStatus(c, "banned", 0)
		if n := len(r.Lockouts()); n != 0 {
			t.Errorf("%d locks", n)
		}
	})
	t.Run("case 205 only where quotas are per model", func(t *testing.T) {
		for _, c := range []struct {
			provider string
			edit     func(*Connection)
			locks    int
		}{{"gemini", perModel, 1}, {"openai", func(*Connection) {}, 0}} {
			r := newRig(t)
			r.mark(r.conn("a", c.provider, c.edit), "m1", answer{status: 429, body: "rate limit"})
			if n := len(r.Lockouts()); n != c.locks {
				t.Errorf("%s: %d locks", c.provider, n)
			}
		}
	})
	t.Run("case 209 vertex, one model at a time", func(t *testing.T) {
		for status, reason := range map[int]string{404: "not_found", 503: "server_error", 403: "forbidden"} {
			r := newRig(t)
			c := r.conn("a", "vertex", perModel)
			r.mark(c, "m1", answer{status: status, body: `{"error":{"message":"model m1"}}`})
			r.wantLocked(c, "m1", "m2", reason)
		}
	})
	t.Run("case 212 whose whole account a 429 takes out", func(t *testing.T) {
		quota := answer{status: 429, body: "usage limit reached"}
		for _, c := range []struct {
			provider string
			edit     func(*Connection)
			in       answer
			want     bool
		}{
			{"gemini", perModel, quota, false},
			{"openai-compatible-x", perModel, quota, false},
			{"openai", func(*Connection) {}, quota, false},
			{"github", func(x *Connection) { oauth(x); perModel(x) }, quota, false},
			{"codex", func(x *Connection) { oauth(x); perModel(x) }, quota, false},
			{"claude", oauth, quota, true},
			{"kiro", oauth, answer{status: 429, body: "rate limit"}, false},
			{"kiro", oauth, answer{status: 503, body: "down"}, false},
			{"kiro", oauth, quota, true},
		} {
			r := newRig(t)
			conn := r.conn("a", c.provider, c.edit)
			r.mark(conn, "spark-1", c.in)
			s := r.status(conn)
			if got := s.State == StateCooling && s.Reason == outcome.ReasonQuota; got != c.want {
				t.Errorf("%s %d: account out = %v (%s, %s)", c.provider, c.in.status, got, s.State, s.Reason)
			}
		}
	})
	t.Run("a bare 500 and an empty stream lock nothing", func(t *testing.T) {
		for _, edit := range []func(*outcome.Outcome){
			func(o *outcome.Outcome) { o.Status = 500 },
			func(o *outcome.Outcome) { o.Reason, o.Cooldown = outcome.ReasonEmptyAnswer, 0 },
			func(o *outcome.Outcome) { o.Cooldown = 0 },
		} {
			r := newRig(t)
			c := r.conn("a", "gemini", perModel)
			o := failure(502, time.Minute)
			o.Scope = outcome.ScopeModel
			edit(&o)
			if e := r.try(c, "m1", o); e.Cooldown != 0 || len(r.Lockouts()) != 0 {
				t.Errorf("%+v: effect %+v", o, e)
			}
		}
	})
	t.Run("streams that break lock the model the third time", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "gemini", perModel)
		for i, want := range []int{0, 0, 1} {
			in := r.Input(c, "m1")
			if in.StreamBreaks != i {
				t.Fatalf("the classifier hears of %d breaks, not of %d", in.StreamBreaks, i)
			}
			r.try(c, "m1", classify.Transport(classify.Truncated, in))
			if n := len(r.Lockouts()); n != want {
				t.Fatalf("after %d breaks: %d locks", i+1, n)
			}
			r.clock.Advance(6 * time.Second)
		}
	})
	t.Run("a failure that comes in while the provider is out locks nothing", func(t *testing.T) {
		r := newRig(t)
		c, other := r.conn("a", "gemini", perModel), r.conn("b", "gemini", disableCooling)
		late, _ := r.Begin(Target{c, "m1"})
		r.fails(other, 12)
		o := failure(429, time.Minute)
		o.Scope = outcome.ScopeModel
		if late.Report(o); len(r.Lockouts()) != 0 {
			t.Error("it does")
		}
	})
	t.Run("stated waits pass the cap, guesses do not", func(t *testing.T) {
		for _, c := range []struct {
			edit func(*outcome.Outcome)
			want time.Duration
		}{
			{func(o *outcome.Outcome) { o.UsedHint, o.Cooldown = true, 3*time.Hour }, 3 * time.Hour},
			{func(o *outcome.Outcome) { o.QuotaResetHint = 3 * time.Hour }, 30 * time.Minute},
			{func(o *outcome.Outcome) { o.Cooldown = 6 * time.Hour }, 30 * time.Minute},
			{func(o *outcome.Outcome) { o.HintSource, o.Cooldown = classify.SourceRule, time.Minute }, time.Minute},
			{func(o *outcome.Outcome) { o.HintSource, o.Cooldown = classify.SourceRule, 3*time.Hour }, 3 * time.Hour},
			{func(o *outcome.Outcome) { o.Cooldown = 3 * time.Second }, 2 * time.Minute}, // ruling 50: its base
			{func(o *outcome.Outcome) {
				o.Status, o.Reason, o.Cooldown = 404, outcome.ReasonNotFound, 5*time.Second
			}, 5 * time.Second}, // a model that is not pulled
			{func(o *outcome.Outcome) {
				o.Status, o.Reason, o.Cooldown, o.QuotaResetHint = 404, outcome.ReasonNotFound, 24*time.Hour, 24*time.Hour
			}, 24 * time.Hour}, // a model that is gone
		} {
			r := newRig(t)
			conn := r.conn("a", "gemini", perModel)
			o := failure(429, time.Minute)
			o.Scope = outcome.ScopeModel
			c.edit(&o)
			if e := r.try(conn, "m1", o); e.Cooldown != c.want {
				t.Errorf("%+v: %s, want %s", o, e.Cooldown, c.want)
			}
		}
	})
	t.Run("a lock that is not prolonged is no news", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "gemini", perModel)
		late, _ := r.Begin(Target{c, "m1"})
		o := failure(429, time.Hour)
		o.Scope, o.UsedHint = outcome.ScopeModel, true
		r.try(c, "m1", o)
		o.Cooldown = time.Minute
		if e := late.Report(o); e.Cooldown != time.Hour || len(r.changes) != 1 {
			t.Errorf("effect %+v, changes %+v", e, r.changes)
		}
	})
	t.Run("case 189, ruling 13: refused requests", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "claude", oauth)
		in := answer{status: 403, body: `{"error":{"type":"permission_error","message":"Request not allowed"}}`, auth: classify.AuthOAuth}
		for _, want := range []time.Duration{5, 15, 45, 60} {
			if e := r.mark(c, "m1", in); e.Cooldown != want*time.Minute || e.Terminal != "" {
				t.Fatalf("effect %+v, want %d min", e, want)
			}
			r.wantLocked(c, "m1", "m2", "request_rejected")
			r.clock.Advance(want * time.Minute)
		}
		r.try(c, "m1", success())
		if n := r.Input(c, "m1").Rejections; n != 0 {
			t.Errorf("a success leaves %d", n)
		}
		if e := r.mark(c, "", in); e.Cooldown != 5*time.Minute || r.status(c).State != StateCooling {
			t.Errorf("without a model: %+v", e)
		}
	})
}

func TestModelLockoutSwitch(t *testing.T) {
	on := func(s *settings.Settings) { s.ModelLockout.Enabled = true }
	t.Run("ruling 50: it governs the error codes only", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		r.mark(c, "m1", answer{status: 503, body: "down"})
		r.wantStatus(c, "unavailable", 3*time.Second)
		r = newRig(t, on)
		c = r.conn("a", "openai")
		e := r.mark(c, "m1", answer{status: 503, body: "down"})
		r.wantLocked(c, "m1", "m2", "server_error")
		if e.Cooldown != 2*time.Minute || !e.Counted {
			t.Errorf("effect = %+v", e)
		}
	})
	t.Run("case 215 a bad answer", func(t *testing.T) {
		r := newRig(t, on)
		c := r.conn("a", "codex", oauth)
		r.try(c, "gpt-5.6-luna", classify.Transport(classify.EmptyAnswer, classify.Input{Provider: "codex", Model: "gpt-5.6-luna"}))
		r.wantLocked(c, "gpt-5.6-luna", "gpt-5.1", "quality_failure")
	})
	t.Run("an account's quota, a terminal state and an unlisted status stay the connection's", func(t *testing.T) {
		for _, in := range []answer{
			{status: 429, body: "reached your weekly usage limit"}, {status: 402, body: "payment required"}, {status: 500, body: "oops"},
		} {
			r := newRig(t, on)
			r.mark(r.conn("a", "openai"), "m1", in)
			if n := len(r.Lockouts()); n != 0 {
				t.Errorf("%d: %d locks", in.status, n)
			}
		}
	})
	t.Run("terminal and model: the connection falls", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "gemini", perModel)
		o := failure(402, 0)
		o.Scope, o.Terminal = outcome.ScopeModel, outcome.CreditsExhausted
		r.try(c, "m1", o)
		r.wantStatus(c, "credits_exhausted", 0)
	})
	t.Run("no model is known: the connection cools", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "gemini", perModel)
		o := failure(429, time.Minute)
		o.Scope = outcome.ScopeModel
		r.try(c, "", o)
		r.wantStatus(c, "unavailable", time.Minute)
	})
}

func TestLockRecovery(t *testing.T) {
	locked := func(t *testing.T, failures int) (*rig, *Conn) {
		r := newRig(t)
		c := r.conn("a", "gemini", perModel)
		var all []*Attempt
		for range failures {
			a, _ := r.Begin(Target{c, "m1"})
			all = append(all, a)
		}
		for _, a := range all {
			o := failure(429, time.Minute)
			o.Scope = outcome.ScopeModel
			a.Report(o)
		}
		return r, c
	}
	t.Run("a success under way decays the lock", func(t *testing.T) {
		r, c := locked(t, 2)
		r.BeginTest(Target{c, "other"}).Release()
		a := &Attempt{e: r.Engine, target: Target{c, "m1"}}
		a.Report(success())
		if l := r.one(); l.FailureCount != 1 {
			t.Errorf("count = %d", l.FailureCount)
		}
		(&Attempt{e: r.Engine, target: Target{c, "m1"}}).Report(success())
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("excluded: %s", why)
		}
		last := r.changes[len(r.changes)-1]
		if last.Kind != ChangeLockout || last.From != "m1" || !last.Until.IsZero() {
			t.Errorf("last change = %+v", last)
		}
	})
	t.Run("resets lift locks", func(t *testing.T) {
		for name, lift := range map[string]func(*rig) int{
			"connection reset":               func(r *rig) int { return r.ClearConnection("a").Lockouts },
			"ruling 66 a token of the model": func(r *rig) int { r.TestPassed("a", "m1"); return 1 },
			"breaker reset":                  func(r *rig) int { return r.ResetBreakers() },
			"by model":                       func(r *rig) int { return r.ClearLockouts("gemini", "a", "m1") },
			"all":                            func(r *rig) int { return r.ClearLockouts("", "", "") },
		} {
			r, c := locked(t, 1)
			if n := lift(r); n != 1 {
				t.Errorf("%s: %d", name, n)
			}
			if why, _ := r.excluded(c, "m1"); why != "" || len(r.Lockouts()) != 0 {
				t.Errorf("%s left it %q", name, why)
			}
		}
		for _, proves := range []string{"", "m2"} { // a list, and another model (ruling 66)
			r, c := locked(t, 1)
			r.TestPassed("a", proves)
			if why, _ := r.excluded(c, "m1"); why == "" {
				t.Errorf("a test of %q lifted it", proves)
			}
		}
		r, _ := locked(t, 1)
		if n := r.ClearLockouts("openai", "", ""); n != 0 {
			t.Error("another provider's lock was lifted")
		}
	})
	t.Run("a restart forgets locks", func(t *testing.T) {
		r, _ := locked(t, 1)
		fresh := newRig(t)
		c := fresh.conn("a", "gemini", perModel)
		fresh.Restore([]ConnectionState{r.saved["a"]}, nil)
		if why, _ := fresh.excluded(c, "m1"); why != "" {
			t.Errorf("excluded: %s", why)
		}
	})
	t.Run("a clock step does not stretch a lock", func(t *testing.T) {
		r, c := locked(t, 1)
		r.clock.Advance(-3 * time.Hour)
		if _, left := r.excluded(c, "m1"); left != 2*time.Minute {
			t.Errorf("%s left", left)
		}
	})
	t.Run("case 214 what the client is told", func(t *testing.T) {
		r, c := locked(t, 1)
		p := r.Plan([]Candidate{{c, "m1"}})
		body, ok := p.ModelCooldown(t0.Add(2*time.Minute - 1200*time.Millisecond))
		if !ok || body.ResetSeconds != 2 || body.CredentialsCooling != 1 || body.RetryAfter != "2030-01-02T03:06:05Z" {
			t.Errorf("body = %+v", body)
		}
		bare, _ := json.Marshal(ModelCooldown{Model: "m1", ResetSeconds: 1})
		if s := string(bare); strings.Contains(s, "credentials") || strings.Contains(s, "retry_after") {
			t.Errorf("optional fields in %s", s)
		}
		if _, ok := r.Plan([]Candidate{{c, "m2"}}).ModelCooldown(t0); ok {
			t.Error("a plan with a target has a cooldown body")
		}
		r.conn("a", "gemini", func(x *Connection) { x.Active = false })
		if _, ok := r.Plan([]Candidate{{c, "m1"}}).ModelCooldown(t0); ok {
			t.Error("a switched-off connection counts as model-locked")
		}
	})
}

// One fault of the moment on a provider that counts per model leaves the model
// out for seconds, not for the minutes of a refused quota.
func TestServerFaultLocksAModelForSeconds(t *testing.T) {
	for _, status := range []int{502, 503, 529} {
		r := newRig(t)
		c := r.conn("a", "gemini", perModel)
		for n, want := range []time.Duration{3 * time.Second, 6 * time.Second} {
			e := r.mark(c, "m1", answer{status: status, body: `{"error":{"message":"try again"}}`})
			if e.Cooldown != want {
				t.Errorf("failure %d with %d: out for %v, want %v", n+1, status, e.Cooldown, want)
			}
			r.clock.Advance(want + time.Second)
		}
	}
}

// The operator's reset lifts everything of a terminal connection but that state:
// also its locked models (ruling 66, in place of settings sheet §6.1).
func TestResetLeavesATerminalConnectionAlone(t *testing.T) {
	r := newRig(t)
	c := r.conn("a", "gemini", perModel)
	r.mark(c, "m1", answer{status: 429, body: `{"error":{"message":"slow down"}}`})
	r.mark(c, "m2", answer{status: 401, body: `{"error":{"message":"bad key"}}`})
	if got := r.ClearConnection("a"); !got.Found || got.Cleared || got.Lockouts != 1 || got.Terminal != outcome.Expired {
		t.Errorf("%+v", got)
	}
	if n := len(r.Lockouts()); n != 0 {
		t.Errorf("%d models are locked", n)
	}
	if got := r.ResetConnection("a"); !got.Cleared || got.Lockouts != 0 || got.Terminal != outcome.NotTerminal {
		t.Errorf("new credentials: %+v", got)
	}
}
