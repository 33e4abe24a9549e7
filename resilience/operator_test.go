package resilience

import (
	"testing"
	"time"

	"breakwater/resilience/breaker"
	"breakwater/resilience/classify"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

func TestEgressLock(t *testing.T) {
	quota := func() outcome.Outcome {
		o := failure(429, time.Hour)
		o.Scope, o.Reason = outcome.ScopeEgress, outcome.ReasonQuota
		return o
	}
	shared := func(c *Connection) { c.EgressShared = true }
	t.Run("settings case 104 siblings behind the same address", func(t *testing.T) {
		r := newRig(t)
		c := map[string]*Conn{}
		for _, id := range []string{"failing", "free", "terminal", "longer", "elsewhere", "old", "unknown"} {
			c[id] = r.conn(id, "opencode", shared)
			if id != "unknown" {
				r.SetEgress(c[id], "192.0.2.1", t0)
			}
		}
		other := r.conn("other", "openai")
		r.SetEgress(other, "192.0.2.1", t0)
		r.SetEgress(c["elsewhere"], "192.0.2.2", t0.Add(time.Second))
		r.SetEgress(c["elsewhere"], "192.0.2.1", t0.Add(-time.Second)) // an older sighting
		c["old"].egress.Store(&egress{ip: "192.0.2.1", at: t0.Add(-25 * time.Hour)})
		r.mark(c["terminal"], "m1", answer{status: 402, body: "payment required"})
		r.try(c["longer"], "m1", failure(429, 5*time.Hour))
		r.try(c["failing"], "m1", quota())
		for id, want := range map[string]time.Duration{"failing": time.Hour, "free": time.Hour, "longer": 5 * time.Hour, "terminal": 0, "elsewhere": 0, "old": 0, "unknown": 0} {
			if _, left := r.excluded(c[id], "m1"); left != want {
				t.Errorf("%s: %s, want %s", id, left, want)
			}
		}
		if why, _ := r.excluded(other, "m1"); why != "" {
			t.Errorf("another provider is %q", why)
		}
		if c["free"].Level() != 0 || c["failing"].Level() != 1 {
			t.Error("the sibling climbed the ladder, or the failing one did not")
		}
	})
	t.Run("settings case 105 no address is known", func(t *testing.T) {
		r := newRig(t)
		a, b := r.conn("a", "opencode", shared), r.conn("b", "opencode", shared)
		r.SetEgress(b, "192.0.2.1", t0)
		r.SetEgress(b, "", t0)
		r.try(a, "m1", quota())
		if why, _ := r.excluded(b, "m1"); why != "" {
			t.Errorf("b is %q", why)
		}
	})
}

func TestRoutesOfCombos(t *testing.T) {
	r := newRig(t)
	c := r.conn("a", "openai", disableCooling)
	a, _ := r.Begin(Target{c, "m1"})
	a.Route(breaker.Route{Combo: true, NextSameProvider: true})
	if e := a.Report(failure(503, 0)); e.Counted || a.Target().Model != "m1" {
		t.Errorf("case 31: %+v", e)
	}
}

func TestOperatorSettings(t *testing.T) {
	r := newRig(t, func(s *settings.Settings) {
		delay := int64(60)
		s.ProviderQuotaOverrides = map[string]settings.QuotaOverride{"openai": {RateLimitCooldownSeconds: &delay}}
		s.Rotation.RateLimitResetSeconds = 10
		s.ErrorRules = map[string][]settings.ErrorRule{"glm": {
			{Status: 503, Scope: "model", Reason: "model_capacity", CooldownMs: 7_200_000},
			{Match: "busy", Scope: "provider", CooldownMs: 5_000},
		}}
		s.ErrorDefaults = map[string]settings.ErrorDefault{"kimi": {CooldownMs: 1_800_000, Scope: "connection"}}
	})
	rate := answer{status: 429, body: "rate limit"}
	after := func(a answer, seconds string) answer {
		a.header = map[string][]string{"Retry-After": {seconds}}
		return a
	}
	for _, c := range []struct {
		name, provider string
		edit           func(*Connection)
		in             answer
		want           time.Duration
	}{
		{"case 128 a hint before everything", "openai", func(c *Connection) { c.Rotation.RateLimitResetSeconds = 20 }, after(rate, "120"), 2 * time.Minute},
		{"case 128 the connection's delay", "openai", func(c *Connection) { c.Rotation.RateLimitResetSeconds = 20 }, rate, 20 * time.Second},
		{"case 128 the provider's delay", "openai", func(*Connection) {}, rate, time.Minute},
		{"case 128 the environment's delay", "groq", func(*Connection) {}, rate, 10 * time.Second},
		{"a rule's scope is the model, its wait exact", "glm", func(*Connection) {}, answer{status: 503, body: "down"}, 2 * time.Hour},
		{"a rule of a user's own provider", "glm:example.test", func(*Connection) {}, answer{status: 429, body: "too busy"}, 5 * time.Second},
		{"a rule by text", "glm", func(*Connection) {}, answer{status: 429, body: "too busy"}, 5 * time.Second},
		{"settings case 101 a stated reset beats the default", "kimi", func(*Connection) {}, after(answer{status: 503}, "7200"), 2 * time.Hour},
		{"settings case 102 the default beats a short hint", "kimi", func(*Connection) {}, after(answer{status: 503}, "10"), 30 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := r.conn(c.name, c.provider, c.edit)
			if e := r.mark(conn, "m1", c.in); e.Cooldown != c.want || conn.Level() != 0 {
				t.Errorf("cooldown %s, level %d; want %s, 0", e.Cooldown, conn.Level(), c.want)
			}
		})
	}
	if l := r.Lockouts(); len(l) != 1 || l[0].Provider != "glm" {
		t.Errorf("locks = %+v", l)
	}
	own := r.conn("own", "claude", oauth, func(c *Connection) { c.Passthrough = true })
	if got := r.Input(own, "m").Auth; got != classify.AuthPassthrough {
		t.Errorf("auth = %q", got)
	}
}

func TestRestatedQuotas(t *testing.T) {
	quota := answer{status: 403, body: `{"error":{"message":"用户额度不足"}}`}
	t.Run("settings cases 87, 88 a quota of the account cools the connection", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "agentrouter", perModel)
		r.mark(c, "m1", quota)
		if s := r.status(c); s.TestStatus != "unavailable" || s.State != StateCooling || s.ErrorCode != 429 || len(s.Lockouts) != 0 {
			t.Errorf("status = %+v", s)
		}
	})
	t.Run("settings case 89 a refused model is locked, capped", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "agentrouter", perModel)
		e := r.mark(c, "m1", answer{status: 403, body: `{"error":{"message":"无权访问模型"}}`})
		r.wantLocked(c, "m1", "m2", "forbidden")
		if e.Cooldown != 30*time.Minute {
			t.Errorf("locked for %s", e.Cooldown)
		}
	})
	t.Run("settings case 91 a terminal state stays", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "agentrouter", perModel)
		late, _ := r.Begin(Target{c, "m1"})
		r.Restore([]ConnectionState{{ID: "a", TestStatus: "credits_exhausted"}}, nil)
		if e := late.Report(r.classify(c, "m1", quota)); e.Cooldown != 0 || r.status(c).TestStatus != "credits_exhausted" {
			t.Errorf("effect %+v", e)
		}
	})
	t.Run("settings case 92 a longer cooldown stays", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "agentrouter", perModel)
		late, _ := r.Begin(Target{c, "m1"})
		r.Restore([]ConnectionState{{ID: "a", TestStatus: "unavailable", RateLimitedUntil: t0.Add(time.Hour)}}, nil)
		late.Report(r.classify(c, "m1", quota))
		r.wantStatus(c, "unavailable", time.Hour)
	})
	t.Run("settings case 93 with disableCooling the model is locked instead", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "agentrouter", perModel, disableCooling)
		r.mark(c, "m1", quota)
		if s := r.status(c); s.State != StateModelLocked || s.TestStatus != "active" {
			t.Errorf("status = %+v", s)
		}
	})
}
