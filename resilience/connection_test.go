package resilience

import (
	"testing"
	"time"

	"breakwater/resilience/classify"
	"breakwater/resilience/cooldown"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// answer is one upstream error, for the real classifier.
type answer struct {
	status int
	body   string
	header map[string][]string
	auth   classify.Auth
	signal string // an operator's phrase of a closed account
}

// classify turns an answer into the outcome the proxy would report.
func (r *rig) classify(c *Conn, model string, in answer) outcome.Outcome {
	r.t.Helper()
	input := r.Input(c, model)
	input.Status, input.Header, input.Body = in.status, in.header, []byte(in.body)
	if in.auth != "" {
		input.Auth = in.auth
	}
	if in.signal != "" {
		opt := *input.Options
		opt.BannedSignals = []string{in.signal}
		input.Options = &opt
	}
	return classify.Response(input)
}

// mark is markAccountUnavailable: classify, then report.
func (r *rig) mark(c *Conn, model string, in answer) Effect {
	r.t.Helper()
	return r.try(c, model, r.classify(c, model, in))
}

func (r *rig) status(c *Conn) Status { return r.ConnectionStatus(c) }

func (r *rig) wantStatus(c *Conn, test string, cooling time.Duration) {
	r.t.Helper()
	s := r.status(c)
	left := time.Duration(0)
	if !s.RateLimitedUntil.IsZero() {
		left = s.RateLimitedUntil.Sub(r.clock.Now())
	}
	if s.TestStatus != test || left != cooling {
		r.t.Fatalf("test_status %q, cooling for %s; want %q, %s", s.TestStatus, left, test, cooling)
	}
}

func oauth(c *Connection)          { c.Profile = settings.OAuth }
func perModel(c *Connection)       { c.PerModelQuota = true }
func disableCooling(c *Connection) { c.DisableCooling = true }

func TestMarkUnavailable(t *testing.T) {
	for _, c := range []struct {
		name     string
		provider string
		edit     func(*Connection)
		in       answer
		test     string
		errType  string
	}{
		{"case 164 401 unauthorized", "openai", nil, answer{status: 401, body: "unauthorized"}, "expired", "unauthorized"},
		{"case 165 402 payment required", "openai", nil, answer{status: 402, body: "payment required"}, "credits_exhausted", "quota_exhausted"},
		{"case 168 invalid credentials", "openai", nil, answer{status: 401, body: "Invalid authentication credentials provided"}, "active", "oauth_invalid_token"},
		{"case 173 disableCooling and a 401", "openai", disableCooling, answer{status: 401, body: "unauthorized"}, "expired", "unauthorized"},
		{"case 173 disableCooling and a 402", "openai", disableCooling, answer{status: 402, body: "payment required"}, "credits_exhausted", "quota_exhausted"},
		{"case 178 API-key 401", "openai", nil, answer{status: 401, body: "nope"}, "expired", "unauthorized"},
		{"ruling 12: a deactivated account is banned", "openai", nil, answer{status: 401, body: "your account has been disabled"}, "banned", "account_deactivated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			conn := r.conn("a", c.provider, func(x *Connection) {
				if c.edit != nil {
					c.edit(x)
				}
			})
			e := r.mark(conn, "m1", c.in)
			if e.Cooldown != 0 || !e.Until.IsZero() {
				t.Errorf("returned a cooldown of %s", e.Cooldown)
			}
			r.wantStatus(conn, c.test, 0)
			if s := r.status(conn); s.LastErrorType != c.errType {
				t.Errorf("last error type = %q, want %q", s.LastErrorType, c.errType)
			}
			if c.test != "active" && string(e.Terminal) != c.test {
				t.Errorf("effect tells %q", e.Terminal)
			}
			if r.saved["a"].TestStatus != c.test {
				t.Errorf("stored %q", r.saved["a"].TestStatus)
			}
		})
	}
	t.Run("case 166 403 on a key cools", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "glm")
		r.mark(c, "m1", answer{status: 403, body: "forbidden"})
		r.wantStatus(c, "unavailable", 3*time.Second)
		if s := r.status(c); s.LastErrorType != "" || s.ErrorCode != 403 {
			t.Errorf("type %q, code %d", s.LastErrorType, s.ErrorCode)
		}
	})
	t.Run("case 167 a project that is not set up", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "gemini-cli", oauth)
		e := r.mark(c, "m1", answer{status: 403, body: "Gemini API has not been used in project 42", auth: classify.AuthOAuth})
		if e.Terminal != outcome.NotTerminal || r.status(c).LastErrorType != "project_route_error" {
			t.Errorf("effect %+v, type %q", e, r.status(c).LastErrorType)
		}
		r.wantStatus(c, "active", 0)
	})
	t.Run("case 169 a terminal state is not overwritten", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		late, _ := r.Begin(Target{Conn: c, Model: "m1"})
		r.mark(c, "m1", answer{status: 402, body: "payment required"})
		writes, before := r.writes, r.status(c)
		e := late.Report(r.classify(c, "m1", answer{status: 503, body: "down"}))
		if e.Cooldown != 0 || e.Terminal != outcome.CreditsExhausted {
			t.Errorf("effect = %+v", e)
		}
		if after := r.status(c); after.TestStatus != before.TestStatus || after.ErrorCode != 402 {
			t.Errorf("overwritten: %+v", after)
		}
		if r.saved["a"].ErrorCode != 402 || r.writes > writes+1 { // the breaker's row only
			t.Errorf("%d writes", r.writes-writes)
		}
	})
	t.Run("case 172 disableCooling and a 503", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai", disableCooling)
		r.mark(c, "m1", answer{status: 503, body: "down"})
		r.wantStatus(c, "active", 0)
		if s := r.status(c); s.ErrorCode != 503 || s.BackoffLevel != 0 {
			t.Errorf("code %d, level %d", s.ErrorCode, s.BackoffLevel)
		}
		if why, _ := r.excluded(c, "m1"); why != "" {
			t.Errorf("excluded: %s", why)
		}
	})
	t.Run("case 178 cookie 401 stays active", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "perplexity-web", oauth)
		r.mark(c, "m1", answer{status: 401, body: "nope", auth: classify.AuthCookie})
		if s := r.status(c); s.TestStatus != "active" {
			t.Errorf("test_status = %q", s.TestStatus)
		}
	})
	t.Run("case 180 a live cooldown is not shortened", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		late, _ := r.Begin(Target{Conn: c, Model: "m1"})
		r.Restore([]ConnectionState{{ID: "a", TestStatus: "unavailable", BackoffLevel: 2, RateLimitedUntil: ParseDeadline("1893557045000")}}, nil)
		e := late.Report(r.classify(c, "m1", answer{status: 429, body: "rate limit"}))
		r.wantStatus(c, "unavailable", time.Hour)
		if e.Cooldown != time.Hour || c.Level() != 2 {
			t.Errorf("returned %s, level %d", e.Cooldown, c.Level())
		}
	})
	t.Run("case 183 one key's monthly limit leaves the other free", func(t *testing.T) {
		r := newRig(t)
		a, b := r.conn("a", "opencode-go"), r.conn("b", "opencode-go")
		r.mark(a, "m1", answer{status: 429, body: `{"error":{"message":"Monthly usage limit reached. Resets in 13 days."}}`})
		if why, left := r.excluded(a, "m1"); why != exclusion.Cooling || left <= 0 {
			t.Errorf("a: %q for %s", why, left)
		}
		if why, _ := r.excluded(b, "m1"); why != "" {
			t.Errorf("b is excluded: %s", why)
		}
	})
	t.Run("case 184 a missing file is the request's", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		o := r.classify(c, "m1", answer{status: 404, body: "Files [file-abc] were not found"})
		if o.Fallback {
			t.Error("another target was to be tried")
		}
		if e := r.try(c, "m1", o); e != (Effect{}) || r.writes != 0 {
			t.Errorf("effect %+v, %d writes", e, r.writes)
		}
	})
	t.Run("case 185 an operator's phrase of a closed account", func(t *testing.T) {
		for signal, want := range map[string]string{"": "expired", "api key revoked": "banned"} {
			r := newRig(t)
			c := r.conn("a", "openai")
			r.mark(c, "m1", answer{status: 401, body: "Error: API key revoked by its owner", signal: signal})
			r.wantStatus(c, want, 0)
		}
	})
}

func TestSelection(t *testing.T) {
	t.Run("case 171 terminal connections are passed over, but not by a forced test", func(t *testing.T) {
		r := newRig(t)
		a, b := r.conn("a", "openai"), r.conn("b", "openai")
		r.mark(a, "m1", answer{status: 402, body: "payment required"})
		p := r.Plan([]Candidate{{a, "m1"}, {b, "m1"}})
		if len(p.Targets) != 1 || p.Targets[0].Conn != b || p.Excluded[0].Reason != exclusion.CreditsExhausted {
			t.Errorf("plan = %+v", p)
		}
		if p := r.Plan([]Candidate{{a, "m1"}}); len(p.Targets) != 0 || !p.Earliest().IsZero() {
			t.Errorf("plan = %+v", p)
		}
		r.BeginTest(Target{a, "m1"}).Report(failure(503, time.Minute))
		r.wantStatus(a, "credits_exhausted", 0)
		r.BeginTest(Target{a, "m1"}).Release()
		r.wantStatus(a, "credits_exhausted", 0)
		r.BeginTest(Target{a, "m1"}).Report(success())
		r.wantStatus(a, "active", 0)
	})
	t.Run("a forced test that fails only goes on record", func(t *testing.T) {
		r := newRig(t)
		c := r.conn("a", "openai")
		if e := r.BeginTest(Target{c, "m1"}).Report(failure(503, time.Minute)); e != (Effect{}) {
			t.Errorf("effect = %+v", e)
		}
		r.wantStatus(c, "active", 0)
		if s := r.status(c); s.ErrorCode != 503 || s.BackoffLevel != 0 || r.Breakers()[0].FailureCount != 0 {
			t.Errorf("status = %+v", s)
		}
	})
	t.Run("case 181 filter and earliest end", func(t *testing.T) {
		r := newRig(t)
		off := r.conn("off", "p", func(c *Connection) { c.Active = false })
		future, past, none, soon := r.conn("future", "p"), r.conn("past", "p"), r.conn("none", "p"), r.conn("soon", "p")
		r.Restore([]ConnectionState{
			{ID: "future", TestStatus: "unavailable", RateLimitedUntil: t0.Add(90 * time.Second)},
			{ID: "past", TestStatus: "unavailable", RateLimitedUntil: t0.Add(-time.Second)},
			{ID: "soon", TestStatus: "unavailable", RateLimitedUntil: t0.Add(30 * time.Second)},
		}, nil)
		p := r.Plan([]Candidate{{off, "m"}, {future, "m"}, {past, "m"}, {none, "m"}, {soon, "m"}})
		if len(p.Targets) != 2 || p.Targets[0].Conn != past || p.Targets[1].Conn != none {
			t.Errorf("targets = %+v", p.Targets)
		}
		if left := p.Earliest().Sub(t0); left != 30*time.Second || ResetAfter(left) != "reset after 30s" {
			t.Errorf("earliest in %s: %s", left, ResetAfter(left))
		}
	})
	t.Run("case 182, ruling 9: a restart is no amnesty", func(t *testing.T) {
		r := newRig(t)
		for _, id := range []string{"far", "past", "banned", "expired", "credits", "clean", "beyond"} {
			r.conn(id, "p")
		}
		r.Restore([]ConnectionState{
			{ID: "far", TestStatus: "unavailable", RateLimitedUntil: t0.Add(13 * 24 * time.Hour), BackoffLevel: 3, RawHint: "13 days"},
			{ID: "past", TestStatus: "unavailable", RateLimitedUntil: t0.Add(-time.Hour), BackoffLevel: 2},
			{ID: "banned", TestStatus: "banned"},
			{ID: "expired", TestStatus: "expired", ExpiredRetries: 3, ExpiredRetryAt: t0},
			{ID: "credits", TestStatus: "credits_exhausted"},
			{ID: "clean", TestStatus: "active"},
			{ID: "beyond", TestStatus: "unavailable", RateLimitedUntil: t0.Add(400 * 24 * time.Hour), BackoffLevel: -4},
			{ID: "unknown", TestStatus: "banned"},
		}, nil)
		for id, want := range map[string]exclusion.Reason{"far": exclusion.Cooling, "past": "", "banned": exclusion.Banned, "expired": exclusion.Expired, "credits": exclusion.CreditsExhausted, "clean": ""} {
			if why, _ := r.excluded(r.Connection(id), "m"); why != want {
				t.Errorf("%s: %q, want %q", id, why, want)
			}
		}
		if _, left := r.excluded(r.Connection("far"), "m"); left != 13*24*time.Hour {
			t.Errorf("far: %s left", left)
		}
		if _, left := r.excluded(r.Connection("beyond"), "m"); left != 30*24*time.Hour {
			t.Errorf("beyond: %s left", left)
		}
		if s := r.status(r.Connection("far")); s.BackoffLevel != 3 || s.RawHint != "13 days" || r.Connection("past").Level() != 2 || r.Connection("beyond").Level() != 0 {
			t.Errorf("levels not as stored: %+v", s)
		}
	})
}

func TestDeadlines(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Time
	}{
		{"1893553505000", t0.Add(time.Minute)},
		{"1893553505000.0", t0.Add(time.Minute)},
		{"2030-01-02T03:05:05Z", t0.Add(time.Minute)},
		{"2030-01-02T03:05:05.000Z", t0.Add(time.Minute)},
		{"2030-01-02 03:05:05", t0.Add(time.Minute)},
		{"", time.Time{}},
		{"soon", time.Time{}},
		{"NaN", time.Time{}},
		{"-5", time.Time{}},
		{"1e300", time.Time{}},
	} {
		t.Run("case 179 "+c.text, func(t *testing.T) {
			if got := ParseDeadline(c.text); !got.Equal(c.want) {
				t.Errorf("read as %v, want %v", got, c.want)
			}
		})
	}
	for d, want := range map[time.Duration]string{
		-time.Second: "reset after 0s", 0: "reset after 0s", time.Millisecond: "reset after 1s",
		3723 * time.Second: "reset after 1h 2m 3s", time.Hour: "reset after 1h", 61 * time.Second: "reset after 1m 1s",
	} {
		if got := ResetAfter(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	t.Run("case 186 pauses of token refreshing", func(t *testing.T) {
		for n, want := range map[int]time.Duration{1: 5, 2: 10, 3: 20, 4: 40, 20: 240} {
			if got := cooldown.RefreshPause(n); got != want*time.Minute {
				t.Errorf("%d: %s, want %d min", n, got, want)
			}
		}
	})
	t.Run("case 187 waiting within the budget", func(t *testing.T) {
		w := settings.Defaults().WaitForCooldown
		for left, want := range map[time.Duration]bool{300 * time.Second: true, 30 * time.Second: false, 60 * time.Second: true} {
			if got := w.Allows(time.Minute, left); got != want {
				t.Errorf("%s left: %v", left, got)
			}
		}
	})
}
