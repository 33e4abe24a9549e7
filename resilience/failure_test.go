package resilience

import (
	"testing"

	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
)

// limited, broken and refused are failures as an attempt reports them.
func limited(edit ...func(*Failure)) Failure {
	return failed(outcome.Outcome{
		Class: outcome.Failure, Scope: outcome.ScopeConnection, Reason: outcome.ReasonRateLimit, Status: 429, Fallback: true,
	}, edit...)
}

func broken(status int, edit ...func(*Failure)) Failure {
	return failed(outcome.Outcome{
		Class: outcome.Failure, Scope: outcome.ScopeConnection, Reason: outcome.ReasonServerError, Status: status, Fallback: true,
	}, edit...)
}

func refused(status int, edit ...func(*Failure)) Failure {
	return failed(outcome.Outcome{
		Class: outcome.Neutral, Scope: outcome.ScopeRequest, Reason: outcome.ReasonRequestRejected, Status: status,
	}, edit...)
}

func failed(o outcome.Outcome, edit ...func(*Failure)) Failure {
	f := Failure{
		Connection: "one", Name: "One", Provider: "p", Model: "m", Outcome: o,
		Header: map[string][]string{"Content-Type": {"application/json"}},
	}
	for _, e := range edit {
		e(&f)
	}
	return f
}

func reason(r outcome.Reason) func(*Failure) { return func(f *Failure) { f.Outcome.Reason = r } }
func scope(s outcome.Scope) func(*Failure)   { return func(f *Failure) { f.Outcome.Scope = s } }
func code(c string) func(*Failure)           { return func(f *Failure) { f.Code = c } }
func body(b string) func(*Failure)           { return func(f *Failure) { f.Body = []byte(b) } }
func header(name, value string) func(*Failure) {
	return func(f *Failure) { f.Header = map[string][]string{name: {value}} }
}
func on(connection string) func(*Failure) { return func(f *Failure) { f.Connection = connection } }
func silent(f *Failure)                   { f.Header = nil }
func ownLogin(f *Failure)                 { f.Passthrough = true }
func network(f *Failure) {
	f.Outcome.Network, f.Outcome.Reason, f.Header = true, outcome.ReasonNetwork, nil
}

func TestFailureKind(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    Failure
		want FailureKind
	}{
		{"an empty answer", broken(502, reason(outcome.ReasonEmptyAnswer)), KindQuality},
		{"a refused key", broken(401), KindAuth},
		{"no credit", broken(402), KindAuth},
		{"a forbidden model", broken(403), KindAuth},
		{"a rate limit", limited(), KindLimit},
		{"an upstream timeout", broken(408), KindTimeout},
		{"a client that left", broken(499), KindTimeout},
		{"a target that took too long", broken(504, code(combo.CodeTargetTimeout)), KindTimeout},
		{"a gateway timeout", broken(504), KindProvider},
		{"overload", broken(529), KindProvider},
		{"no status", broken(0), KindProvider},
		{"a bad request", refused(400), KindModel},
		{"an unknown model", broken(404), KindModel},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.f.Kind(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestWhoIsToBlame(t *testing.T) {
	slow := failed(outcome.Outcome{Class: outcome.Neutral, Scope: outcome.ScopeLocal, Status: 504, Reason: outcome.ReasonLocalTimeout})
	ceiling := slow
	ceiling.Code = combo.CodeTargetTimeout
	terminal := limited()
	terminal.Outcome.Terminal = outcome.CreditsExhausted
	for _, tt := range []struct {
		name                              string
		f                                 Failure
		upstream, request, model, limited bool
	}{
		{"a rate limit", limited(), true, false, false, true},
		{"a server error", broken(503), true, false, false, false},
		{"a refused request", refused(400), false, true, true, false},
		{"a failure of the request only", broken(413, scope(outcome.ScopeRequest)), false, false, false, false},
		{"our own deadline", slow, false, false, false, false},
		{"the ceiling of a target", ceiling, false, false, true, false},
		{"used-up quota", broken(429, reason(outcome.ReasonQuota)), false, false, false, true},
		{"an account without credit", terminal, true, false, false, false},
		{"an overloaded model", broken(529, reason(outcome.ReasonModelCapacity)), true, false, false, true},
		{"an empty answer", broken(502, reason(outcome.ReasonEmptyAnswer)), false, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := [4]bool{tt.f.AtUpstream(), tt.f.RefusesRequest(), tt.f.FailsModel(), tt.f.Limited()}
			if want := [4]bool{tt.upstream, tt.request, tt.model, tt.limited}; got != want {
				t.Errorf("upstream, request, model, limited: got %v, want %v", got, want)
			}
		})
	}
}

func TestCauseIsTheCodeOrElseTheReason(t *testing.T) {
	plain, coded := limited(), limited(code(CodeEarlyEOF))
	if plain.Cause() != string(outcome.ReasonRateLimit) || coded.Cause() != CodeEarlyEOF {
		t.Errorf("got %q and %q", plain.Cause(), coded.Cause())
	}
}

func TestSubscriptionWall(t *testing.T) {
	unified := header("Anthropic-Ratelimit-Unified-Status", "rejected")
	for _, tt := range []struct {
		name string
		f    Failure
		want bool
	}{
		{"the client's own limit", limited(ownLogin, unified), true},
		{"a stored login", limited(unified), false},
		{"a burst", limited(ownLogin), false},
		{"another status", broken(503, ownLogin, unified), false},
		{"nothing answered", limited(ownLogin, silent), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.f.SubscriptionWall(); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestOutOfCredit(t *testing.T) {
	restated := broken(429)
	restated.Outcome.RestatedFrom = 402
	for _, tt := range []struct {
		name string
		f    Failure
		want bool
	}{
		{"402", broken(402), true},
		{"402 restated", restated, true},
		{"words in any case", broken(403, body(`{"error":"Insufficient Funds"}`)), true},
		{"Spanish", broken(403, body("Saldo insuficiente")), true},
		{"a plain limit", limited(body("slow down")), false},
		{"no body", broken(500), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.f.OutOfCredit(); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
