//go:build (cgo || ci) && !nogui

package windows

import (
	"time"

	"breakwater/proxy/control"
)

func fakeProviders() []control.Provider {
	key := []string{"apikey"}
	one := func(id, name, auth, env string, dialects ...string) control.Provider {
		urls := map[string]string{}
		for _, d := range dialects {
			urls[d] = "https://api." + id + ".example/v1"
		}
		return control.Provider{ID: id, Name: name, AuthType: auth, Dialects: dialects, BaseURLs: urls, Credentials: key, Models: []string{"*"}, KeyEnv: env}
	}
	claude := one("claude", "Claude subscription", "oauth", "", "anthropic")
	claude.Credentials, claude.Claude = []string{"passthrough", "token"}, true
	claude.Models, claude.BaseURLs = []string{"claude-*"}, map[string]string{"anthropic": "https://api.anthropic.com/v1"}
	anthropic := one("anthropic", "Anthropic", "apikey", "ANTHROPIC_API_KEY", "anthropic")
	anthropic.BaseURLs, anthropic.KeyURL = map[string]string{"anthropic": "https://api.anthropic.com/v1"}, "https://console.anthropic.com/settings/keys"
	anthropic.Models = []string{"claude-*"}
	in, out := 3.0, 15.0
	anthropic.KnownModels = []control.KnownModel{{Name: "claude-sonnet-4-5", Input: &in, Output: &out, Context: 200_000}}
	ollama := one("ollama-local", "Ollama", "local", "", "chat", "responses", "anthropic")
	ollama.Credentials = []string{"none", "apikey"}
	lm := one("lm-studio", "LM Studio", "local", "", "chat", "responses")
	lm.Credentials = []string{"none", "apikey"}
	custom := one("custom", "Custom", "apikey", "", "anthropic", "chat", "responses")
	custom.Custom, custom.Credentials, custom.BaseURLs = true, []string{"apikey", "none"}, nil
	return []control.Provider{
		claude, anthropic, one("openai", "OpenAI", "apikey", "OPENAI_API_KEY", "chat", "responses"),
		one("openrouter", "OpenRouter", "apikey", "OPENROUTER_API_KEY", "chat"), one("glm", "GLM (Z.ai coding plan)", "apikey", "ZAI_API_KEY", "anthropic", "chat"),
		one("minimax", "MiniMax", "apikey", "MINIMAX_API_KEY", "anthropic", "chat"), one("kimi", "Kimi (Moonshot)", "apikey", "MOONSHOT_API_KEY", "chat"),
		one("deepseek", "DeepSeek", "apikey", "DEEPSEEK_API_KEY", "chat"), one("gemini", "Gemini", "apikey", "GEMINI_API_KEY", "chat"),
		one("groq", "Groq", "apikey", "GROQ_API_KEY", "chat", "responses"), ollama, lm, custom,
	}
}

// newFake returns a facade in one of the states that the previews show: busy,
// well, empty, nothing, paused, demo.
func newFake(state string, now time.Time) *fake {
	f := &fake{settings: control.DefaultSettings(), result: control.TestResult{Valid: true, LatencyMs: 312, StatusCode: 200, Diagnosis: control.Diagnosis{Type: "ok"}}}
	f.snap = control.Snapshot{At: now, Version: "0.1.0", Endpoint: "http://127.0.0.1:7411", SecretsIn: "keychain", Health: control.HealthWell}
	if state == "empty" {
		return f
	}
	f.snap.Connections, f.snap.Breakers = busyConnections(now), busyBreakers(now)
	f.leases = busyLeases(now)
	busyClaude(&f.snap.Connections[0], now)
	f.rows = busyRows(now)
	f.comboState()
	f.policy.env = object(`{"providerBreaker":{"apikey":{"resetTimeoutMs":45000}}}`)
	f.policy.rules = []byte(`{"claude":[{"status":429,"match":"weekly limit","scope":"connection","reason":"quota_exhausted","cooldownMs":18000000},{"status":400,"match":"prompt is too long","scope":"model","reason":"model_capacity"}],"openai":[{"status":503,"scope":"provider","reason":"server_error","cooldownMs":1800000}]}`)
	f.policy.defaults = []byte(`{"openrouter":{"cooldownMs":3600000,"scope":"connection"}}`)
	f.policy.stored = object(`{"connectionCooldown":{"apikey":{"baseCooldownMs":2500}},"providerQuotaOverrides":{"openai":{"rpm":60,"rateLimitCooldownSeconds":45}},"quotaPreflight":{"providerWindowDefaults":{"claude":{"five_hour":5,"seven_day":2}}}}`)
	f.policy.all.SessionAffinityTTLMs = 1_800_000
	switch state {
	case "well", "nothing", "paused":
		f.calm(state, now)
	case "demo":
		f.demoState(now)
	}
	return f
}

func (f *fake) calm(state string, now time.Time) {
	for i := range f.snap.Connections {
		c := &f.snap.Connections[i]
		if !c.Active {
			continue
		}
		c.State, c.Until, c.Reason, c.Lockouts = control.StateServing, nil, "", nil
		if state == "nothing" {
			c.State, c.Until, c.Reason = control.StateCooling, new(now.Add(time.Duration(40+i*400)*time.Second)), "rate_limit_exceeded"
		}
	}
	for i := range f.snap.Breakers {
		b := &f.snap.Breakers[i]
		b.State, b.FailureCount, b.Until = "CLOSED", 0, nil
	}
	f.snap.Paused = state == "paused"
}

func (f *fake) demoState(now time.Time) {
	f.snap.Demo = true
	f.snap.Connections = f.snap.Connections[:2]
	a, b := &f.snap.Connections[0], &f.snap.Connections[1]
	*a = control.Connection{
		ID: "d1", Provider: "demo", ProviderName: "Demo provider", Name: "Demo harbour", AuthType: "apikey", Credential: "apikey",
		HasSecret: true, Dialects: []string{"anthropic", "chat", "responses"}, BaseURL: "http://127.0.0.1:41873/v1", Priority: 1, Active: true,
		State: control.StateCooling, Until: new(now.Add(47 * time.Second)), Reason: "rate_limit_exceeded", Source: "header", ErrorCode: 429, LastErrorAt: new(now.Add(-13 * time.Second)), RawHint: "60",
	}
	*b = control.Connection{
		ID: "d2", Provider: "demo-oauth", ProviderName: "Demo subscription", Name: "Demo lighthouse", AuthType: "oauth", Credential: "apikey",
		HasSecret: true, Dialects: a.Dialects, BaseURL: "http://127.0.0.1:41873/v1", Priority: 2, Active: true, State: control.StateServing, Served: 3, LastUsedAt: new(now.Add(-4 * time.Second)),
	}
	f.snap.Breakers = []control.Breaker{{Provider: "demo", ProviderName: "Demo provider", State: "CLOSED", FailureCount: 1, FailureThreshold: 12}, {Provider: "demo-oauth", ProviderName: "Demo subscription", State: "CLOSED", FailureThreshold: 8}}
	f.demo = control.Demo{
		Speed: 1, Kinds: []string{"none", "rate_limit", "overloaded", "server_error", "auth", "no_credit", "reset", "stall", "empty", "error_event", "cut", "slow"},
		Faults: []control.Fault{{ConnectionID: "d1", Kind: "rate_limit", RetryAfterSeconds: 60}, {ConnectionID: "d2", Kind: "none"}},
	}
}

func busyConnections(now time.Time) []control.Connection {
	ago := func(d time.Duration) *time.Time { return new(now.Add(-d)) }
	return []control.Connection{
		{
			ID: "c1", Provider: "claude", ProviderName: "Claude subscription", Name: "Claude · work", AuthType: "oauth", Credential: "passthrough", Claude: true, LowPriorityMode: true,
			Dialects: []string{"anthropic"}, BaseURL: "https://api.anthropic.com/v1", Priority: 1, Active: true, State: control.StateCooling,
			Until: new(now.Add(4*time.Minute + 5*time.Second)), Reason: "rate_limit_exceeded", Source: "header", RawHint: "retry-after: 300", BackoffLevel: 0,
			ErrorCode: 429, LastErrorType: "upstream_rate_limited", LastErrorAt: ago(55 * time.Second), LastUsedAt: ago(55 * time.Second), Served: 214, Failed: 3,
		},
		{
			ID: "c2", Provider: "anthropic", ProviderName: "Anthropic", Name: "Anthropic · home", AuthType: "apikey", Credential: "apikey", HasSecret: true,
			Dialects: []string{"anthropic"}, BaseURL: "https://api.anthropic.com/v1", Priority: 2, Active: true, State: control.StateServing,
			LastUsedAt: ago(6 * time.Second), Served: 38, Failed: 1, InFlight: 2,
		},
		{
			ID: "c3", Provider: "glm", ProviderName: "GLM (Z.ai coding plan)", Name: "GLM · team plan", AuthType: "apikey", Credential: "apikey", HasSecret: true,
			Dialects: []string{"anthropic", "chat"}, BaseURL: "https://api.z.ai/api/anthropic/v1", DefaultModel: "glm-4.6", Priority: 3, Active: true,
			State: control.StateDegraded, LastUsedAt: ago(3 * time.Minute), Served: 12, Failed: 6, ErrorCode: 502, Reason: "server_error", LastErrorAt: ago(4 * time.Minute),
		},
		{
			ID: "c4", Provider: "openai", ProviderName: "OpenAI", Name: "OpenAI · platform", AuthType: "apikey", Credential: "apikey", HasSecret: true,
			Dialects: []string{"chat", "responses"}, BaseURL: "https://api.openai.com/v1", DefaultModel: "gpt-5-codex", Priority: 4, Active: true, State: control.StateOpen,
			Until: new(now.Add(40 * time.Second)), ErrorCode: 503, Reason: "server_error", LastErrorAt: ago(20 * time.Second), LastUsedAt: ago(20 * time.Second), Served: 61, Failed: 12,
		},
		{
			ID: "c5", Provider: "openrouter", ProviderName: "OpenRouter", Name: "OpenRouter", AuthType: "apikey", Credential: "apikey", HasSecret: true,
			Dialects: []string{"chat"}, BaseURL: "https://openrouter.ai/api/v1", Priority: 5, Active: true, State: control.StateCreditsExhausted,
			ErrorCode: 402, Reason: "quota_exhausted", LastErrorAt: ago(2 * time.Hour), LastUsedAt: ago(2 * time.Hour), Served: 4, Failed: 1,
		},
		{
			ID: "c6", Provider: "gemini", ProviderName: "Gemini", Name: "Gemini", AuthType: "apikey", Credential: "apikey", HasSecret: true,
			Dialects: []string{"chat"}, BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Priority: 6, Active: true, State: control.StateModelLocked,
			Until: new(now.Add(26 * time.Hour)), Reason: "model_capacity", LastUsedAt: ago(40 * time.Minute), Served: 9,
			Lockouts: []control.Lockout{
				{Model: "gemini-3.1-pro-preview", Reason: "quota_exhausted", Until: now.Add(26 * time.Hour), FailureCount: 2},
				{Model: "gemini-3.5-flash", Reason: "model_capacity", Until: now.Add(9*time.Minute + 12*time.Second), FailureCount: 1},
			},
		},
		{
			ID: "c7", Provider: "ollama-local", ProviderName: "Ollama", Name: "Ollama on this machine", AuthType: "local", Credential: "none",
			Dialects: []string{"chat", "responses", "anthropic"}, BaseURL: "http://127.0.0.1:11434/v1", DefaultModel: "qwen3-coder:30b", Priority: 7, Active: false, State: control.StateOff,
		},
	}
}

func busyBreakers(now time.Time) []control.Breaker {
	b := func(id, name, state string, n, limit int) control.Breaker {
		return control.Breaker{Provider: id, ProviderName: name, State: state, FailureCount: n, FailureThreshold: limit}
	}
	open := b("openai", "OpenAI", "OPEN", 12, 12)
	open.Until = new(now.Add(40 * time.Second))
	open.OpenCycleCount, open.LastFailureKind, open.LastFailure, open.DegradationThreshold = 2, "transient", new(now.Add(-20*time.Second)), 7
	glm := b("glm", "GLM (Z.ai coding plan)", "DEGRADED", 8, 12)
	glm.DegradationThreshold, glm.LastFailureKind, glm.LastFailure = 7, "transient", new(now.Add(-4*time.Minute))
	claude := b("claude", "Claude subscription", "CLOSED", 1, 8)
	claude.DegradationThreshold = 5
	return []control.Breaker{
		claude, b("anthropic", "Anthropic", "CLOSED", 0, 12), glm, open,
	}
}

func busyRows(now time.Time) []control.Activity {
	var out []control.Activity
	id := int64(4000)
	add := func(ago time.Duration, a control.Activity) {
		a.ID, a.At, a.Method = id, now.Add(-ago), "POST"
		id--
		out = append(out, a)
	}
	base := control.Activity{
		Path: "/v1/messages", Dialect: "anthropic", Client: "claude-code", Model: "claude-sonnet-4-5", Stream: true, Status: 200, Result: "answered",
		Provider: "anthropic", ConnectionID: "c2", ConnectionName: "Anthropic · home", EgressIP: "203.0.113.7", DurationMs: 8420, FirstOutputMs: 1310, RequestBytes: 182_300, ResponseBytes: 9_400,
	}
	skipped := control.Step{Kind: control.StepSkipped, OffsetMs: 0, ConnectionID: "c1", ConnectionName: "Claude · work", Reason: "cooling", Until: new(now.Add(4*time.Minute + 5*time.Second))}
	answered := control.Step{Kind: control.StepAnswered, OffsetMs: 3, ConnectionID: "c2", ConnectionName: "Anthropic · home", Model: "claude-sonnet-4-5", Status: 200, DurationMs: 8412}
	base.Usage = control.Usage{InputTokens: 12_400, OutputTokens: 830, CacheReadTokens: 90_000}
	a := base
	a.Trace = []control.Step{skipped, answered}
	add(6*time.Second, a)
	a = base
	a.FailedOver, a.DurationMs, a.FirstOutputMs = true, 6310, 2480
	fourth := answered
	fourth.OffsetMs, fourth.DurationMs = 1124, 5180
	a.Trace = []control.Step{
		{Kind: control.StepFailed, OffsetMs: 2, Provider: "claude", ConnectionID: "c1", ConnectionName: "Claude · work", Model: "claude-sonnet-4-5", Status: 429, Reason: "rate_limit_exceeded", DurationMs: 340, Until: new(now.Add(4*time.Minute + 5*time.Second))},
		{Kind: control.StepSkipped, OffsetMs: 345, ConnectionID: "c3", ConnectionName: "GLM · team plan", Reason: "model_locked", Until: new(now.Add(9 * time.Minute))},
		{Kind: control.StepFailed, OffsetMs: 346, Provider: "openai", ConnectionID: "c4", ConnectionName: "Zen gateway", Model: "claude-sonnet-4-5", Status: 502, Reason: "server_error", DurationMs: 770},
		fourth,
	}
	add(55*time.Second, a)
	a = base
	a.Path, a.Dialect, a.Client, a.Model, a.Status, a.Result = "/v1/responses", "responses", "codex", "gpt-5-codex", 429, "refused"
	a.ConnectionID, a.ConnectionName, a.DurationMs, a.FirstOutputMs, a.ResponseBytes = "", "", 12, -1, 310
	a.Trace = []control.Step{
		{Kind: control.StepSkipped, ConnectionID: "c4", ConnectionName: "OpenAI · platform", Reason: "breaker_open", Until: new(now.Add(40 * time.Second))},
		{Kind: control.StepSkipped, ConnectionID: "c7", ConnectionName: "Ollama on this machine", Reason: "off"},
		{Kind: control.StepRefused, OffsetMs: 1, Status: 429, Reason: "all_targets_cooling_down", Until: new(now.Add(40 * time.Second))},
	}
	add(70*time.Second, a)
	a = base
	a.Result, a.Status, a.DurationMs = "client_left", 499, 2140
	a.Trace = []control.Step{answered, {Kind: control.StepLeft, OffsetMs: 2140}}
	add(100*time.Second, a)
	a = base
	a.Client, a.Path, a.Dialect, a.Model, a.Stream = "aider", "/v1/chat/completions", "chat", "openrouter/qwen/qwen3-coder-480b-a35b-instruct", false
	a.ConnectionID, a.ConnectionName, a.Status, a.Result, a.DurationMs, a.FirstOutputMs = "c5", "OpenRouter", 502, "failed", 1840, -1
	a.Trace = []control.Step{{Kind: control.StepFailed, Provider: "openrouter", ConnectionID: "c5", ConnectionName: "OpenRouter", Status: 402, Reason: "quota_exhausted", DurationMs: 610}}
	add(2*time.Minute, a)
	a = base
	a.Result, a.DurationMs = "truncated", 31_000
	a.Trace = []control.Step{{Kind: control.StepCut, OffsetMs: 30_900, ConnectionName: "Anthropic · home", Reason: "stream_truncated"}}
	add(3*time.Minute, a)
	clients := []string{"claude-code", "codex", "opencode", "openai-sdk", "unknown"}
	for i := range 40 {
		a = base
		a.Client = clients[i%len(clients)]
		if i%5 == 1 || i%5 == 3 {
			a.Path, a.Dialect, a.Model, a.ConnectionID, a.ConnectionName = "/v1/responses", "responses", "gpt-5-codex", "c4", "OpenAI · platform"
		}
		a.DurationMs = int64(900 + 731*i%9000)
		a.Trace = []control.Step{{Kind: control.StepAnswered, OffsetMs: 2, ConnectionID: a.ConnectionID, ConnectionName: a.ConnectionName, Status: 200, DurationMs: a.DurationMs - 4}}
		add(time.Duration(4+2*i)*time.Minute, a)
	}
	return out
}
