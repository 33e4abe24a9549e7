package classify

import (
	"testing"
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// FuzzResponse: whatever an upstream answers, there is one verdict, it is the
// same when asked again, and it keeps the rules that every layer relies on.
func FuzzResponse(f *testing.F) {
	for _, s := range []struct {
		status   int
		provider string
		body     string
		name     string
		value    string
	}{
		{429, "acme", "", "Retry-After", "9999999999"},
		{403, "agentrouter", "用户额度不足", "", ""},
		{403, "agentrouter", "无权访问模型", "", ""},
		{400, "anthropic", `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, "", ""},
		{429, "claude", "Fast request rejected", "anthropic-ratelimit-unified-7d-status", "rejected"},
		{529, "claude", `{"type":"error","error":{"type":"overloaded_error"}}`, "", ""},
		{404, "openai", "Files [file-1] were not found", "", ""},
		{429, "minimax", "", "x-model-quota-remaining", "a=0"},
		{503, "acme", "", "x-omni-fallback-hint", "connection_cooldown"},
		{401, "codex", "this account is deactivated", "", ""},
		{200, "acme", `{"error":{"code":"server_is_overloaded"}}`, "", ""},
	} {
		f.Add(s.status, s.provider, "m1", s.body, s.name, s.value, 3, uint8(0))
	}
	f.Fuzz(func(t *testing.T, status int, provider, model, body, name, value string, level int, flags uint8) {
		in := Input{
			Status: status, Provider: provider, Model: model, Body: []byte(body), Level: level, Now: t0,
			Header: map[string][]string{name: {value}}, Profile: apiKeyProfile,
			PerModelQuota: flags&1 != 0, DisableCooling: flags&2 != 0, LocalURL: flags&4 != 0,
		}
		if flags&8 != 0 {
			in.Profile = oauthProfile
		}
		if flags&16 != 0 {
			in.Profile = settings.Profile{}
		}
		if flags&32 != 0 {
			in.Auth = AuthPassthrough
		}
		if flags&64 != 0 {
			in.Options = &Options{Rules: []Rule{{Status: 429, Scope: outcome.ScopeModel, Cooldown: time.Hour}}, Default: &Default{Cooldown: time.Minute}}
		}
		o := Response(in)
		if again := Response(in); again != o {
			t.Fatalf("asked twice: %+v, then %+v", o, again)
		}
		keepsRules(t, in, o)
		if e, ok := StreamEvent(in); ok {
			keepsRules(t, in, e)
		}
		for kind := Refused; kind <= Stalled; kind++ {
			keepsRules(t, in, Transport(kind, in))
		}
	})
}

// keepsRules checks what holds for every verdict.
func keepsRules(t *testing.T, in Input, o outcome.Outcome) {
	t.Helper()
	switch {
	case o.Cooldown < 0, o.Cooldown > hint.MaxStated && !o.Permanent, o.Cooldown > 365*day:
		t.Fatalf("cooldown %v: %+v", o.Cooldown, o)
	case o.QuotaResetHint < 0 || o.QuotaResetHint > hint.MaxStated:
		t.Fatalf("quota reset %v: %+v", o.QuotaResetHint, o)
	case o.UsedHint && (o.HintSource == "" || o.RawHint == ""):
		t.Fatalf("a hint of nobody: %+v", o)
	case o.Class == outcome.Success && o != (outcome.Outcome{Class: outcome.Success, Status: o.Status}):
		t.Fatalf("a success with strings attached: %+v", o)
	case o.Class == outcome.Neutral && (o.Cooldown != 0 || o.Terminal != "" || o.SetsLevel || o.Permanent || o.Trips()):
		t.Fatalf("neutral, yet it costs something: %+v", o)
	case o.Class == outcome.Failure && (o.Scope == outcome.ScopeRequest || o.Scope == outcome.ScopeLocal):
		t.Fatalf("a failure of nobody: %+v", o)
	case o.Class == outcome.Failure && !o.Fallback:
		t.Fatalf("a failure that does not move on: %+v", o)
	case o.SetsLevel && (o.Level < 0 || o.Level > noProfileMaxLevel):
		t.Fatalf("level %d: %+v", o.Level, o)
	case o.Scope == outcome.ScopeModel && o.Class == outcome.Failure && in.Model == "":
		t.Fatalf("a lock of no model: %+v", o)
	case o.Terminal != "" && in.Auth == AuthPassthrough:
		t.Fatalf("the client's credential ends the connection: %+v", o)
	}
}

// BenchmarkResponse measures the verdict on a common refusal.
func BenchmarkResponse(b *testing.B) {
	in := input(429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit. Please try again in 20s"}}`, 0, "acme", model("m1"))
	b.ReportAllocs()
	for b.Loop() {
		Response(in)
	}
}

// BenchmarkResponseLargest measures the worst head that is looked at.
func BenchmarkResponseLargest(b *testing.B) {
	body := make([]byte, 0, 128<<10)
	for len(body) < 128<<10 {
		body = append(body, "model function access credit exceed daily max context "...)
	}
	in := input(400, string(body), 0, "acme", model("m1"))
	b.ReportAllocs()
	for b.Loop() {
		Response(in)
	}
}
