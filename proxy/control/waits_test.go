package control

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/claude"
	"breakwater/resilience/clock"
	"breakwater/resilience/outcome"
	"breakwater/resilience/quota"
	"breakwater/resilience/slow"
)

// waiting is a service with one Claude login under the request queue, in a
// bubble, and what the test events answer.
type waiting struct {
	*bubble
	r      *Route
	tested Tested
}

func newWaiting(t *testing.T) *waiting { return newWaitingBy(t, clock.NewFake(t0)) }

func newWaitingBy(t *testing.T, now clock.Clock) *waiting {
	t.Helper()
	w := &waiting{bubble: &bubble{store: newMemory()}}
	w.store.records = []ConnectionRecord{{
		ID: "alpha", Provider: "claude", Name: "alpha", Credential: "oauth", Active: true, TokenURL: "https://login.test/token",
		Priority: 1, RateLimitProtection: true, LowPriorityMode: true, AutoLimitReset: true,
	}}
	s, err := New(t.Context(), Config{
		Store: w.store, Secrets: &account{access: claudeToken}, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Clock: now,
		Tester: func(context.Context, *Route) Tested { return w.tested },
		SideCall: func(_ context.Context, c SideCall) claude.Reply {
			if c.Path != claude.UsageCall().Path {
				return claude.Reply{Failed: true}
			}
			ends := t0.Add(time.Hour).Format(time.RFC3339)
			return claude.Reply{Status: 200, Body: fmt.Appendf(nil, `{"five_hour":{"utilization":10,"resets_at":%q},"seven_day":{"utilization":20,"resets_at":%[1]q}}`, ends)}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Service = s
	w.r, _ = s.Route("alpha")
	return w
}

const claudeToken = "sk-ant-oat01-0123456789abcdef0123456789abcdef"

func (w *waiting) fail(model string, o outcome.Outcome) {
	o.Class = outcome.Failure
	a, _ := w.Engine().Begin(resilience.Target{Conn: w.r.Conn, Model: model})
	a.Report(o)
}

func (w *waiting) learn(status int, body string, header map[string][]string) {
	w.Queues().Learn(admission.Call{Connection: "alpha", Model: "m1"}, admission.Answer{Status: status, Header: header, Body: []byte(body), Now: w.Now()})
}

func (w *waiting) seen() Connection {
	r, _ := w.Route("alpha")
	return w.view(r)
}

func (w *waiting) holds(k WaitKind) bool {
	return slices.ContainsFunc(w.seen().Waits, func(x Wait) bool { return x.Kind == k })
}

func (w *waiting) cooling() bool { return w.seen().RateLimitedUntil != nil }
func (w *waiting) locked() bool  { return len(w.seen().Lockouts) > 0 }

// limits are the headers that name a limit.
func limits(remaining int) map[string][]string {
	return map[string][]string{
		"X-Ratelimit-Limit-Requests": {"60"}, "X-Ratelimit-Remaining-Requests": {strconv.Itoa(remaining)}, "X-Ratelimit-Reset-Requests": {"30m"},
	}
}

// wallOf is the refusal of a subscription at its limit.
func wallOf(extra ...string) map[string][]string {
	h := map[string][]string{}
	epoch := strconv.FormatInt(t0.Add(3*time.Hour).Unix(), 10)
	for i, kv := 0, append([]string{"Status", "rejected", "Reset", epoch, "Representative-Claim", "five_hour"}, extra...); i < len(kv); i += 2 {
		h["Anthropic-Ratelimit-Unified-"+kv[i]] = []string{kv[i+1]}
	}
	return h
}

// memories are all places that remember a wait: how it comes about, and whether
// it is seen.
var memories = map[string]struct {
	set  func(t *testing.T, w *waiting)
	seen func(w *waiting) bool
}{
	"wait of a header": {func(_ *testing.T, w *waiting) {
		w.fail("", outcome.Outcome{Scope: outcome.ScopeConnection, Reason: outcome.ReasonRateLimit, Status: 429, Cooldown: 20 * time.Minute, UsedHint: true, HintSource: "header"})
	}, (*waiting).cooling},
	"wait of a text": {func(_ *testing.T, w *waiting) {
		w.fail("", outcome.Outcome{Scope: outcome.ScopeConnection, Reason: outcome.ReasonRateLimit, Status: 429, Cooldown: 20 * time.Minute, UsedHint: true, HintSource: "body"})
	}, (*waiting).cooling},
	"pause of a text": {func(_ *testing.T, w *waiting) {
		w.learn(429, `{"error":{"message":"Rate limit reached. Please try again in 20 minutes."}}`, nil)
	}, func(w *waiting) bool { return w.holds(WaitQueuePause) }},
	"guessed wait": {func(_ *testing.T, w *waiting) {
		w.fail("", outcome.Outcome{Scope: outcome.ScopeConnection, Reason: outcome.ReasonRateLimit, Status: 429, Cooldown: 20 * time.Minute})
	}, (*waiting).cooling},
	"fault": {func(_ *testing.T, w *waiting) {
		w.fail("", outcome.Outcome{Scope: outcome.ScopeConnection, Reason: outcome.ReasonServerError, Status: 503, Cooldown: 20 * time.Minute})
	}, (*waiting).cooling},
	"guessed lockout": {func(_ *testing.T, w *waiting) {
		w.fail("m1", outcome.Outcome{Scope: outcome.ScopeModel, Reason: outcome.ReasonRateLimit, Status: 429, Cooldown: time.Minute})
	}, (*waiting).locked},
	"stated lockout": {func(_ *testing.T, w *waiting) {
		w.fail("m1", outcome.Outcome{Scope: outcome.ScopeModel, Reason: outcome.ReasonRateLimit, Status: 429, Cooldown: 20 * time.Minute, UsedHint: true, HintSource: "body"})
	}, (*waiting).locked},
	"learned limit": {func(_ *testing.T, w *waiting) { w.learn(200, "", limits(20)) }, func(w *waiting) bool { return w.holds(WaitLearnedLimit) }},
	"allowance":     {func(_ *testing.T, w *waiting) { w.learn(200, "", limits(0)) }, func(w *waiting) bool { return w.holds(WaitAllowance) }},
	"quota window": {func(_ *testing.T, w *waiting) {
		now := w.Now()
		w.Quota().Put("alpha", quota.Snapshot{At: now, Windows: []quota.Window{{Kind: quota.Session, Used: 1, ResetAt: now.Add(time.Hour), At: now}}})
	}, func(w *waiting) bool { return w.holds(WaitQuotaWindow) }},
	"provider window": {func(t *testing.T, w *waiting) {
		w.every(t, `{"providerCooldown":{"enabled":true,"minRetryCooldownMs":300000,"maxRetryCooldownMs":600000}}`)
		w.fail("", outcome.Outcome{Scope: outcome.ScopeConnection, Reason: outcome.ReasonServerError, Status: 503})
	}, func(w *waiting) bool { return w.holds(WaitProviderWindow) }},
	"limit reset": {func(t *testing.T, w *waiting) {
		c := w.OpenClaude(w.r, ClaudeAsk{Bearer: claudeToken})
		c.Answer(429, wallOf())
		c.AskReset(t.Context())
	}, func(w *waiting) bool { r := w.seen().LimitReset; return r != nil && r.Next != nil }},
	"budget of the lane": {func(t *testing.T, w *waiting) {
		c := w.OpenClaude(w.r, ClaudeAsk{Bearer: claudeToken})
		c.Header()
		c.Answer(429, wallOf("Slow-Offer", "treatment", "Slow-Retry-After", "5"))
		c.AskReset(t.Context())
		c.Header()
		c.Answer(429, wallOf("Slow-Status", "budget_exhausted", "Slow-Budget-Reset", strconv.FormatInt(t0.Add(24*time.Hour).Unix(), 10)))
	}, func(w *waiting) bool {
		l := w.seen().Lane
		return l != nil && l.State == string(claude.LaneBudgetSpent)
	}},
	"refresh guard": {func(_ *testing.T, w *waiting) {
		for range 5 {
			ticket, _ := w.admitRefresh(w.r)
			w.refreshed(ticket, errNotRefreshed)
		}
	}, func(w *waiting) bool { l := w.seen().LoginRefresh; return l != nil && l.Until != nil }},
	"slow target": {func(_ *testing.T, w *waiting) {
		w.Slow().Overdue(w.Now(), slow.Key{Connection: "alpha", Model: "m1"})
	}, func(w *waiting) bool { return len(w.seen().Slow) > 0 }},
}

// liftEvents are the events, through the facade.
var liftEvents = map[string]func(t *testing.T, w *waiting) error{
	"clear": func(t *testing.T, w *waiting) error { return w.ClearCooldown(t.Context(), "alpha") },
	"key": func(t *testing.T, w *waiting) error {
		_, err := w.EditConnection(t.Context(), "alpha", ConnectionPatch{RefreshToken: new("another")})
		return err
	},
	"list": func(t *testing.T, w *waiting) error {
		w.tested = Tested{TestResult: TestResult{Valid: true, StatusCode: 200}, Body: []byte(`{"data":[]}`)}
		_, err := w.TestConnection(t.Context(), "alpha")
		return err
	},
	"token of m1": func(t *testing.T, w *waiting) error {
		w.tested = Tested{TestResult: TestResult{Valid: true, StatusCode: 200}, Body: []byte(`{"id":"1"}`), Model: "m1"}
		_, err := w.TestConnection(t.Context(), "alpha")
		return err
	},
	"token of m2": func(t *testing.T, w *waiting) error {
		w.tested = Tested{TestResult: TestResult{Valid: true, StatusCode: 200}, Body: []byte(`{"id":"1"}`), Model: "m2"}
		_, err := w.TestConnection(t.Context(), "alpha")
		return err
	},
	"failed test": func(t *testing.T, w *waiting) error {
		w.tested = Tested{TestResult: TestResult{StatusCode: 429}}
		_, err := w.TestConnection(t.Context(), "alpha")
		return err
	},
	"reset":          func(t *testing.T, w *waiting) error { _, err := w.ResetBreakers(t.Context()); return err },
	"provider reset": func(t *testing.T, w *waiting) error { _, err := w.ResetBreaker(t.Context(), "claude"); return err },
	"other reset":    func(t *testing.T, w *waiting) error { _, err := w.ResetBreaker(t.Context(), "groq"); return err },
	"unlock m1": func(t *testing.T, w *waiting) error {
		_, err := w.ClearLockouts(t.Context(), LockoutFilter{Model: "m1"})
		return err
	},
	"usage": func(t *testing.T, w *waiting) error { _, err := w.ClaudeUsage(t.Context(), "alpha"); return err },
	"never cool": func(t *testing.T, w *waiting) error {
		_, err := w.EditConnection(t.Context(), "alpha", ConnectionPatch{DisableCooling: new(true)})
		return err
	},
	"rename": func(t *testing.T, w *waiting) error {
		_, err := w.EditConnection(t.Context(), "alpha", ConnectionPatch{Name: new("other")})
		return err
	},
}

// liftedBy says which memories an event lifts (ruling 66); "*" is all of them.
var liftedBy = map[string][]string{
	"clear":          {"*"},
	"key":            {"*"},
	"list":           {"fault", "provider window", "refresh guard"},
	"token of m1":    {"guessed wait", "fault", "guessed lockout", "provider window", "refresh guard", "slow target"},
	"token of m2":    {"guessed wait", "fault", "provider window", "refresh guard"},
	"failed test":    {"refresh guard"}, // a person has asked for another try
	"reset":          {"pause of a text", "guessed lockout", "stated lockout", "provider window", "refresh guard"},
	"provider reset": {"pause of a text", "guessed lockout", "stated lockout", "provider window", "refresh guard"},
	"other reset":    {},
	"unlock m1":      {"guessed lockout", "stated lockout"},
	"usage":          {"wait of a header", "wait of a text", "pause of a text", "guessed wait", "guessed lockout", "stated lockout", "learned limit", "allowance", "quota window"},
	"never cool":     {"wait of a header", "wait of a text", "pause of a text", "guessed wait", "fault"},
	"rename":         {},
}

// Ruling 66: every memory of a wait, and every event that may lift it.
func TestEveryMemoryOfAWait(t *testing.T) {
	for event, happen := range liftEvents {
		for name, m := range memories {
			t.Run("ruling 66 "+event+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWaiting(t)
					defer w.Close()
					m.set(t, w)
					synctest.Wait()
					if !m.seen(w) {
						t.Fatalf("it is not shown: %+v", w.seen())
					}
					if err := happen(t, w); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					want := slices.Contains(liftedBy[event], name) || slices.Equal(liftedBy[event], []string{"*"})
					if lifted := !m.seen(w); lifted != want {
						t.Errorf("lifted: %v, want %v", lifted, want)
					}
				})
			})
		}
	}
}

// A connection that is shown as serving lets requests through: what a text
// states sets a cooldown and a pause, and whatever lifts the first lifts the
// second.
func TestServingConnectionsDoNotRefuse(t *testing.T) {
	for event, happen := range liftEvents {
		t.Run("ruling 66 "+event, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWaiting(t)
				defer w.Close()
				memories["wait of a text"].set(t, w)
				memories["pause of a text"].set(t, w)
				if err := happen(t, w); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				slot, err := w.Queues().Acquire(ctx, admission.Call{Connection: "alpha", Model: "m1"})
				slot.Release()
				if serving := w.seen().State == StateServing; serving && err != nil {
					t.Errorf("it is shown as serving and refuses: %v", err)
				}
			})
		})
	}
}

// A terminal state is all that a clear leaves, and a removed connection leaves
// nothing.
func TestClearOfATerminalConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaiting(t)
		defer w.Close()
		for _, name := range []string{"pause of a text", "quota window", "slow target", "stated lockout"} {
			memories[name].set(t, w)
		}
		w.fail("", outcome.Outcome{Scope: outcome.ScopeConnection, Reason: outcome.ReasonAuth, Status: 401, Terminal: outcome.Banned})
		if err := w.ClearCooldown(t.Context(), "alpha"); err != nil {
			t.Fatal(err)
		}
		if c := w.seen(); c.State != StateBanned || len(c.Waits) != 0 || len(c.Slow) != 0 || len(c.Lockouts) != 0 {
			t.Errorf("after the clear: %s, %v, %v, %v", c.State, c.Waits, c.Slow, c.Lockouts)
		}
		memories["quota window"].set(t, w)
		memories["slow target"].set(t, w)
		if err := w.DeleteConnection(t.Context(), "alpha"); err != nil {
			t.Fatal(err)
		}
		if w.Quota().Get("alpha") != nil || len(w.Slow().Snapshot(w.Now(), "alpha")) != 0 || len(w.Queues().ViewsOf("alpha")) != 0 {
			t.Error("something is remembered of a connection that is gone")
		}
	})
}

// What was lifted does not come back with a restart.
func TestLiftedLimitsStayLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWaitingBy(t, clock.System{})
		memories["learned limit"].set(t, w)
		pause(2 * admission.SweepEvery)
		if err := w.ClearCooldown(t.Context(), "alpha"); err != nil {
			t.Fatal(err)
		}
		pause(2 * time.Minute)
		w.Close()
		s, err := New(t.Context(), Config{
			Store: w.store, Secrets: &account{access: claudeToken}, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Clock: clock.System{},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r, _ := s.Route("alpha")
		if waits := s.view(r).Waits; len(waits) != 0 {
			t.Errorf("after the restart: %+v", waits)
		}
	})
}
