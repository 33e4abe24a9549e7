package resilience

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
)

const (
	tooLong   = `{"error":{"message":"maximum context length exceeded: context_length_exceeded"}}`
	malformed = `{"error":{"message":"malformed request"}}`
)

func TestWhatEndsARequest(t *testing.T) {
	fallback := func(f *Failure) { f.Outcome.Fallback = true }
	for _, tt := range []struct {
		name           string
		f              Failure
		single, combos bool
	}{
		{"a rate limit", limited(), false, false},
		{"a refused request", refused(413), true, true},
		{"a malformed body", refused(400, body(malformed)), true, true},
		{"a malformed body that may be retried", refused(400, body(malformed), fallback), false, true},
		{"a conversation that is too long", refused(400, body(tooLong)), true, false},
		{"an unknown 400", refused(400, body(`{"error":{"message":"no"}}`)), true, false},
		{"an unknown model", refused(404), true, false},
		{"an unprocessable request", refused(422), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if single, combos := EndsRequest(&tt.f), EndsCombo(&tt.f); single != tt.single || combos != tt.combos {
				t.Errorf("ends a single model's request: %v, a combo's: %v", single, combos)
			}
		})
	}
}

func TestExhaustionOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    Failure
		want combo.FailureClass
	}{
		{"an answer that ended early", refused(502, code(CodeEarlyEOF)), combo.MarksConnection},
		{"a stream that did not begin", refused(504, code(codeNotReady)), combo.MarksConnection},
		{"a refused request", refused(400), combo.MarksNothing},
		{"a failure of the request only", broken(500, scope(outcome.ScopeRequest)), combo.MarksNothing},
		{"this machine", broken(500, scope(outcome.ScopeLocal)), combo.MarksNothing},
		{"an empty answer", broken(502, reason(outcome.ReasonEmptyAnswer)), combo.MarksNothing},
		{"used-up quota", broken(429, reason(outcome.ReasonQuota)), combo.MarksProvider},
		{"no credit", broken(402), combo.MarksProvider},
		{"a rate limit", limited(), combo.MarksTransient},
		{"an unknown model", broken(404), combo.MarksNothing},
		{"an unprocessable request", broken(422), combo.MarksNothing},
		{"overload", broken(529), combo.MarksNothing},
		{"a server error", broken(500), combo.MarksConnection},
		{"a refused key", broken(401), combo.MarksConnection},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := exhaustionOf(&tt.f); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// target is one of provider/model, with a connection of its own where one is
// given.
func target(provider, model, connection string) *combo.Target {
	return &combo.Target{Spec: &combo.Spec{Key: provider + "/" + model + connection, Model: provider + "/" + model, Provider: provider, Connection: connection}}
}

func TestPassExcludesWhatAFailureUsedUp(t *testing.T) {
	a1, a2 := target("p", "a", "one"), target("p", "b", "two")
	same, other := target("p", "a", "three"), target("q", "a", "")
	perModel := func(f *Failure) { f.PerModelQuota = true }
	order := []*combo.Target{a1, a2, same, other}
	for _, tt := range []struct {
		name string
		f    Failure
		want []bool // of order
	}{
		{"quota of the account", broken(429, reason(outcome.ReasonQuota)), []bool{true, false, false, false}},
		{"quota of one model", broken(429, reason(outcome.ReasonQuota), perModel), []bool{false, false, false, false}},
		{"a server error", broken(500), []bool{true, false, false, false}},
		{"a server error of one model", broken(500, perModel), []bool{false, false, false, false}},
		{"a refused request", refused(400), []bool{true, false, true, false}},
		{"a rate limit", limited(), []bool{false, false, false, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Pass
			p.Record(a1, &tt.f, order)
			for i, o := range order {
				if got := p.Excludes(o); got != tt.want[i] {
					t.Errorf("target %d: excluded %v, want %v", i, got, tt.want[i])
				}
			}
		})
	}
}

func TestPassStops(t *testing.T) {
	a, b, other := target("p", "a", "one"), target("q", "a", "two"), target("p", "b", "three")
	large := target("p", "c", "four")
	large.Facts.Context = 400_000
	alike := refused(404, body("no such model"))
	for _, tt := range []struct {
		name     string
		order    []*combo.Target
		failures []Failure
		want     Stop
	}{
		{"too long for the only model left", []*combo.Target{a, b}, []Failure{refused(400, body(tooLong))}, StopRequest},
		// Ruling 55 (c): only a window that is known to be larger is worth a try.
		{"too long, another model of an unknown window is left", []*combo.Target{a, b, other}, []Failure{refused(400, body(tooLong))}, StopRequest},
		{"too long, a larger window is left", []*combo.Target{a, b, large}, []Failure{refused(400, body(tooLong))}, NotStopped},
		{"three identical refusals", []*combo.Target{a, other}, []Failure{alike, alike, alike}, StopIdentical},
		{"two identical refusals", []*combo.Target{a, other}, []Failure{alike, alike}, NotStopped},
		{"a different one in between", []*combo.Target{a, other}, []Failure{alike, alike, refused(404, body("else")), alike}, NotStopped},
		{"identical without a body", []*combo.Target{a, other}, []Failure{refused(404), refused(404), refused(404)}, NotStopped},
		{"identical server errors", []*combo.Target{a, other}, []Failure{broken(500, body("x")), broken(500, body("x")), broken(500, body("x"))}, NotStopped},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Pass
			for i := range tt.failures {
				p.Record(a, &tt.failures[i], tt.order)
			}
			if p.Stop != tt.want {
				t.Errorf("got %q, want %q", p.Stop, tt.want)
			}
		})
	}
}

func TestPassCeilings(t *testing.T) {
	for _, tt := range []struct {
		name     string
		stopped  Stop
		limits   Limits
		attempts int
		spent    time.Duration
		want     Stop
	}{
		{"within both", NotStopped, Limits{Attempts: 3, Time: time.Minute}, 2, time.Second, NotStopped},
		{"the attempts are used up", NotStopped, Limits{Attempts: 3, Time: time.Minute}, 3, time.Hour, StopAttempts},
		{"the time is over", NotStopped, Limits{Attempts: 3, Time: time.Minute}, 1, time.Minute, StopTimeout},
		{"no time limit means the largest", NotStopped, Limits{Attempts: 3}, 1, maxComboTime - 1, NotStopped},
		{"which holds", NotStopped, Limits{Attempts: 3}, 1, maxComboTime, StopTimeout},
		{"a larger one is cut", NotStopped, Limits{Attempts: 3, Time: time.Hour}, 1, maxComboTime, StopTimeout},
		{"the first reason stays", StopRequest, Limits{}, 9, time.Hour, StopRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Pass{Stop: tt.stopped}
			p.CheckLimits(tt.limits, tt.attempts, tt.spent)
			if p.Stop != tt.want {
				t.Errorf("got %q, want %q", p.Stop, tt.want)
			}
		})
	}
}

func TestRetriesTarget(t *testing.T) {
	cooled := func(f *Failure) { f.Until = t0 }
	room := Retries{Made: 0, Max: 1}
	for _, tt := range []struct {
		name string
		f    Failure
		r    Retries
		want bool
	}{
		{"a gateway error", broken(502), room, true},
		{"a rate limit without a cooldown", limited(), room, true},
		{"a timeout", broken(408), room, true},
		{"overload", broken(529), room, false},
		{"a refused key", broken(401), room, false},
		{"a refused request", refused(500), room, false},
		{"a cooled connection", broken(502, cooled), room, false},
		{"a broken stream", broken(502, code(CodeEarlyEOF)), room, false},
		{"no retries left", broken(502), Retries{Made: 1, Max: 1}, false},
		{"no attempts left", broken(502), Retries{Max: 1, Exhausted: true}, false},
		{"failover first", broken(502), Retries{Max: 1, FailoverFirst: true}, false},
		{"failover first on the last target", broken(502), Retries{Max: 1, FailoverFirst: true, Last: true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := RetriesTarget(&tt.f, tt.r); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestFallbackDelay(t *testing.T) {
	cooldown := func(d time.Duration) func(*Failure) { return func(f *Failure) { f.Outcome.Cooldown = d } }
	for _, tt := range []struct {
		name       string
		f          Failure
		configured time.Duration
		want       time.Duration
	}{
		{"as configured", broken(502, cooldown(3*time.Second)), time.Second, time.Second},
		{"not longer than the cooldown", broken(503, cooldown(time.Second)), time.Minute, time.Second},
		{"the longest cooldown", broken(504, cooldown(5*time.Second)), time.Second, time.Second},
		{"a longer cooldown", broken(504, cooldown(5*time.Second+1)), time.Second, 0},
		{"no cooldown", broken(502), time.Second, 0},
		{"another status", broken(500, cooldown(time.Second)), time.Second, 0},
		{"switched off", broken(502, cooldown(time.Second)), 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := FallbackDelay(&tt.f, tt.configured); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestEmptiesGate(t *testing.T) {
	until := func(d time.Duration) func(*Failure) { return func(f *Failure) { f.Until = t0.Add(d) } }
	for _, tt := range []struct {
		name string
		f    Failure
		want bool
	}{
		{"limited", limited(until(time.Second)), true},
		{"a broken gateway", broken(503, until(time.Second)), true},
		{"not resting", limited(), false},
		{"back by now", limited(until(0)), false},
		{"a server error", broken(500, until(time.Second)), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := EmptiesGate(&tt.f, t0); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestChecksFor(t *testing.T) {
	for _, tt := range []struct {
		name        string
		combo, more bool
		want        AnswerChecks
	}{
		{"one model, the last connection", false, false, AnswerChecks{}},
		{"one model, more connections", false, true, AnswerChecks{Empty: true}},
		{"a combo's last target", true, false, AnswerChecks{Validation: true}},
		{"a combo's other targets", true, true, AnswerChecks{true, true, true, true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ChecksFor(tt.combo, tt.more); got != tt.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// anyFailure draws a failure of any kind.
func anyFailure(t *rapid.T) Failure {
	return Failure{
		Connection: rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "connection"),
		Code:       rapid.SampledFrom([]string{"", CodeEarlyEOF, codeNotReady, combo.CodeTargetTimeout}).Draw(t, "code"),
		Body:       []byte(rapid.SampledFrom([]string{"", tooLong, malformed, "x"}).Draw(t, "body")),
		Until:      rapid.SampledFrom([]time.Time{{}, t0, t0.Add(time.Second), t0.Add(time.Hour)}).Draw(t, "until"),
		Header:     rapid.SampledFrom([]map[string][]string{nil, {}}).Draw(t, "header"),
		Outcome: outcome.Outcome{
			Class:    rapid.SampledFrom([]outcome.Class{outcome.Neutral, outcome.Failure}).Draw(t, "class"),
			Scope:    rapid.SampledFrom([]outcome.Scope{outcome.ScopeRequest, outcome.ScopeModel, outcome.ScopeConnection, outcome.ScopeLocal}).Draw(t, "scope"),
			Reason:   rapid.SampledFrom([]outcome.Reason{outcome.ReasonRateLimit, outcome.ReasonQuota, outcome.ReasonServerError, outcome.ReasonEmptyAnswer, outcome.ReasonNetwork}).Draw(t, "reason"),
			Status:   rapid.SampledFrom([]int{0, 400, 401, 402, 403, 404, 408, 410, 422, 429, 499, 500, 502, 503, 504, 529}).Draw(t, "status"),
			Network:  rapid.Bool().Draw(t, "network"),
			Fallback: rapid.Bool().Draw(t, "fallback"),
		},
		PerModelQuota: rapid.Bool().Draw(t, "per model quota"),
		Passthrough:   rapid.Bool().Draw(t, "passthrough"),
	}
}

// Whatever fails: a stop lasts, an excluded target stays excluded within the
// pass, and no failure blames both the upstream and the request.
func TestPassProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := []*combo.Target{target("p", "a", "one"), target("p", "b", "two"), target("q", "a", "three")}
		var p Pass
		var stop Stop
		gone := map[*combo.Target]bool{}
		for range rapid.IntRange(1, 8).Draw(t, "failures") {
			f, at := anyFailure(t), rapid.SampledFrom(order).Draw(t, "target")
			p.Record(at, &f, order)
			if stop != NotStopped && p.Stop == NotStopped {
				t.Fatalf("%q was taken back", stop)
			}
			stop = p.Stop
			for _, o := range order {
				if gone[o] && !p.Excludes(o) {
					t.Fatalf("%s came back within the pass", o.Key)
				}
				gone[o] = p.Excludes(o)
			}
			if f.AtUpstream() && f.RefusesRequest() {
				t.Fatalf("both are to blame: %+v", f)
			}
		}
	})
}
