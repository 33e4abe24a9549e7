package settings

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestPatchIsStrict(t *testing.T) {
	t.Run("case 44", func(t *testing.T) {
		_, err := Patch(nil, []byte(`{}`))
		if err == nil || err.Error() != "Must provide resilience settings to update" {
			t.Errorf("error = %v", err)
		}
	})
	for body, field := range map[string]string{
		`{"foo":{}}`:         "foo", // case 45
		`{"requestQueue":7}`: "requestQueue", `{"requestQueue":{"foo":1}}`: "requestQueue.foo",
		`{"requestQueue":{"maxWaitMs":"30000"}}`: "requestQueue.maxWaitMs", `{"requestQueue":{"maxWaitMs":1.5}}`: "requestQueue.maxWaitMs",
		`{"requestQueue":{"maxWaitMs":86400001}}`: "requestQueue.maxWaitMs", `{"p2cLatency":{"weight":21}}`: "p2cLatency.weight",
		`{"streamStallCooldown":{"enabled":"on"}}`:                          "streamStallCooldown.enabled",
		`{"streamRecovery":{"throughputWatchdog":{"warmupMs":-1}}}`:         "streamRecovery.throughputWatchdog.warmupMs",
		`{"waitForCooldown":{"budgetMs":1}}`:                                "waitForCooldown.budgetMs",
		`{"connectionCooldown":{"local":{}}}`:                               "connectionCooldown.local",
		`{"connectionCooldown":{"oauth":{"useUpstream429BreakerHints":1}}}`: "connectionCooldown.oauth.useUpstream429BreakerHints",
		`[]`: "body", `not json`: "body", `{"p2cLatency":{"weight":1}} {}`: "body",
	} {
		t.Run("case 45 "+body, func(t *testing.T) {
			_, err := Patch(nil, []byte(body))
			wantRefused(t, err, field)
		})
	}
	t.Run("ruling 30: sections that older schemas left out", func(t *testing.T) {
		s := patched(t, ``, `{"p2cLatency":{"weight":10},"streamRecovery":{"enabled":true,"throughputWatchdog":{"minUsefulBytes":9}},
			"streamStallCooldown":{"enabled":true},"requestQueue":{"globalConcurrentRequests":3}}`)
		if s.P2CLatency.Weight != 10 || !s.StreamRecovery.Enabled || s.StreamRecovery.ThroughputWatchdog.MinUsefulBytes != 9 ||
			!s.StreamStallCooldown.Enabled || s.RequestQueue.GlobalConcurrentRequests != 3 {
			t.Errorf("settings = %+v", s)
		}
	})
	t.Run("ruling 52: null removes a stored leaf, and its empty section", func(t *testing.T) {
		doc, err := Patch([]byte(`{"p2cLatency":{"weight":10},"requestQueue":{"maxWaitMs":5,"maxQueueDepth":6}}`),
			[]byte(`{"p2cLatency":{"weight":null},"requestQueue":{"maxWaitMs":null}}`))
		if err != nil || string(doc) != `{"requestQueue":{"maxQueueDepth":6}}` {
			t.Errorf("stored %s, %v", doc, err)
		}
	})
	t.Run("a stored section that is no object is replaced", func(t *testing.T) {
		doc, err := Patch([]byte(`{"p2cLatency":7}`), []byte(`{"p2cLatency":{"weight":10}}`))
		if err != nil || string(doc) != `{"p2cLatency":{"weight":10}}` {
			t.Errorf("stored %s, %v", doc, err)
		}
	})
}

func TestOrigins(t *testing.T) {
	o := Origins([]byte(`{"requestQueue":{"maxQueueDepth":6,"maxWaitMs":"x"},"connectionCooldown":{"oauth":{"useUpstream429BreakerHints":true}},
		"tokenRefreshBreaker":{"scope":"connection"},"providerQuotaOverrides":{}}`),
		env("RATE_LIMIT_MAX_WAIT_MS", "9", "RATE_LIMIT_MAX_QUEUE_DEPTH", "8", "PROVIDER_COOLDOWN_ENABLED", "1", "RATE_LIMIT_AUTO_ENABLE", "0"))
	for path, want := range map[string]Origin{
		"requestQueue.maxQueueDepth": FromStore, "requestQueue.maxWaitMs": FromEnv, "providerCooldown.enabled": FromEnv,
		"requestQueue.autoEnableApiKeyProviders": FromEnv, "p2cLatency.weight": FromDefault, "tokenRefreshBreaker.scope": FromStore,
		"connectionCooldown.oauth.useUpstream429BreakerHints": FromStore, "providerQuotaOverrides": FromStore,
	} {
		if o[path] != want {
			t.Errorf("%s: %s, want %s", path, o[path], want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	s := patched(t, ``, `{"requestQueue":{"maxWaitMs":77},"providerQuotaOverrides":{"a":{"rpm":3}},"quotaPreflight":{"providerWindowDefaults":{"c":{"w":3}}},
		"connectionCooldown":{"apikey":{"useUpstream429BreakerHints":false}},"tokenRefreshBreaker":{"scope":"connection"}}`)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again, notes := Resolve(text, nil, none)
	if !reflect.DeepEqual(again, s) || len(notes) != 0 {
		t.Errorf("after a round trip: %+v, %v", again, notes)
	}
	t.Run("every leaf is in the JSON under its path", func(t *testing.T) {
		for _, l := range leaves {
			if _, ok := dig(decode(text), l.path); !ok && l.tri == nil {
				t.Errorf("%s is missing", l.path)
			}
		}
	})
	t.Run("a clone shares nothing", func(t *testing.T) {
		c := s.Clone()
		*c.ConnectionCooldown.APIKey.UseUpstream429BreakerHints = true
		*c.ProviderQuotaOverrides["a"].RPM = 99
		c.QuotaPreflight.ProviderWindowDefaults["c"]["w"] = 99
		c.ModelLockout.ErrorCodes[0] = 1
		if !reflect.DeepEqual(again, s) {
			t.Error("a change to the clone reached the original")
		}
	})
}

func TestCorrections(t *testing.T) {
	if s, notes := Normalize(Defaults()); len(notes) != 0 || !reflect.DeepEqual(s, Defaults()) {
		t.Errorf("the defaults are corrected: %v", notes)
	}
	s, notes := Resolve([]byte(`{"requestQueue":{"maxWaitMs":0,"maxQueueDepth":2.5},"p2cLatency":{"weight":"lots"},"tokenRefreshBreaker":{"scope":"x"},
		"streamStallCooldown":{"enabled":1},"connectionCooldown":{"oauth":{"useUpstream429BreakerHints":3}},"unknown":{"x":1}}`),
		[]byte(`{"enabled":"maybe","maxCooldownMs":1,"maxBackoffSteps":"x"}`), none)
	got := map[string]string{}
	for _, n := range notes {
		got[n.Field] = n.From + " -> " + n.To
	}
	want := map[string]string{
		"requestQueue.maxWaitMs": "0 -> 1", "requestQueue.maxQueueDepth": "2.5 -> 2", "p2cLatency.weight": `"lots" -> 0`,
		"tokenRefreshBreaker.scope": `"x" -> "provider"`, "streamStallCooldown.enabled": "1 -> false",
		"connectionCooldown.oauth.useUpstream429BreakerHints": "3 -> unset",
		"modelLockout.enabled":                                `"maybe" -> false`, "modelLockout.maxBackoffSteps": `"x" -> 10`,
	}
	for field, text := range want {
		if got[field] != text {
			t.Errorf("%s: %q, want %q", field, got[field], text)
		}
	}
	if !strings.HasPrefix(got["modelLockout"], `{"enabled"`) || s.ModelLockout.MaxCooldownMs != 120_000 {
		t.Errorf("modelLockout: %q", got["modelLockout"])
	}
}

func TestProfiles(t *testing.T) {
	s := Defaults()
	for name, want := range map[ProfileName]Profile{
		OAuth: {
			Name: OAuth, BaseCooldown: 5 * time.Second, MaxBackoffSteps: 8, UseUpstreamRetryHints: true,
			FailureThreshold: 8, DegradationThreshold: 5, ResetTimeout: time.Minute, MaxBackoffMultiplier: 8, BackoffEscalationCount: 2,
			ProviderFailureThreshold: 10, ProviderFailureWindow: 15 * time.Minute, ProviderCooldown: 5 * time.Minute,
		},
		APIKey: {
			Name: APIKey, BaseCooldown: 3 * time.Second, MaxBackoffSteps: 5, UseUpstreamRetryHints: true,
			FailureThreshold: 12, DegradationThreshold: 7, ResetTimeout: 30 * time.Second, MaxBackoffMultiplier: 4, BackoffEscalationCount: 3,
			ProviderFailureThreshold: 15, ProviderFailureWindow: 30 * time.Minute, ProviderCooldown: 10 * time.Minute,
		},
		Local: {
			Name: Local, BaseCooldown: 2 * time.Second, MaxBackoffSteps: 3, UseUpstreamRetryHints: true,
			FailureThreshold: 2, DegradationThreshold: 2, ResetTimeout: 15 * time.Second, MaxBackoffMultiplier: 16, BackoffEscalationCount: 3,
			ProviderFailureThreshold: 2, ProviderFailureWindow: 5 * time.Minute, ProviderCooldown: time.Minute,
		},
	} {
		if got := s.Profile(name); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := s.Profile("made up").Name; got != APIKey {
		t.Errorf("an unknown class gets the figures of %s", got)
	}
}

func TestBackoff(t *testing.T) {
	p := Defaults().Profile(APIKey)
	for level, want := range map[int]time.Duration{-1: 3, 0: 3, 1: 6, 4: 48, 5: 96, 50: 96} {
		if got, _ := p.Scaled(level, 30*time.Minute); got != want*time.Second {
			t.Errorf("level %d: %s", level, got)
		}
	}
	if _, next := p.Scaled(5, 0); next != 5 {
		t.Errorf("the level goes on to %d", next)
	}
	for _, c := range []struct{ base, ceiling, want time.Duration }{
		{time.Second, 0, 1<<63 - 1}, {0, time.Hour, 0}, {2 * time.Hour, time.Hour, time.Hour}, {3, 10, 10},
	} {
		if got := Backoff(c.base, 100, c.ceiling); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestEnvironment is core case 49: each variable changes its own field only.
func TestEnvironment(t *testing.T) {
	fields := map[string]func(*Settings){
		"OMNIROUTE_CIRCUIT_BREAKER_OAUTH_THRESHOLD":   func(s *Settings) { s.ProviderBreaker.OAuth.FailureThreshold = 42 },
		"OMNIROUTE_CIRCUIT_BREAKER_API_KEY_THRESHOLD": func(s *Settings) { s.ProviderBreaker.APIKey.FailureThreshold = 42 },
		"OMNIROUTE_CIRCUIT_BREAKER_LOCAL_THRESHOLD": func(s *Settings) {
			s.Fixed.LocalBreaker.FailureThreshold, s.Fixed.LocalBreaker.DegradationThreshold = 42, 26
		},
		"OMNIROUTE_CIRCUIT_BREAKER_LOCAL_RESET_MS":                  func(s *Settings) { s.Fixed.LocalBreaker.ResetTimeoutMs = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_OAUTH_FAILURE_THRESHOLD":        func(s *Settings) { s.Fixed.OAuth.ProviderFailureThreshold = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_OAUTH_FAILURE_WINDOW_MS":        func(s *Settings) { s.Fixed.OAuth.ProviderFailureWindowMs = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_OAUTH_COOLDOWN_MS":              func(s *Settings) { s.Fixed.OAuth.ProviderCooldownMs = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_API_KEY_FAILURE_THRESHOLD":      func(s *Settings) { s.Fixed.APIKey.ProviderFailureThreshold = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_API_KEY_FAILURE_WINDOW_MS":      func(s *Settings) { s.Fixed.APIKey.ProviderFailureWindowMs = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_API_KEY_COOLDOWN_MS":            func(s *Settings) { s.Fixed.APIKey.ProviderCooldownMs = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_LOCAL_FAILURE_THRESHOLD":        func(s *Settings) { s.Fixed.Local.ProviderFailureThreshold = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_LOCAL_FAILURE_WINDOW_MS":        func(s *Settings) { s.Fixed.Local.ProviderFailureWindowMs = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_LOCAL_COOLDOWN_MS":              func(s *Settings) { s.Fixed.Local.ProviderCooldownMs = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_OAUTH_MAX_BACKOFF_MULTIPLIER":   func(s *Settings) { s.Fixed.OAuth.MaxBackoffMultiplier = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_API_KEY_MAX_BACKOFF_MULTIPLIER": func(s *Settings) { s.Fixed.APIKey.MaxBackoffMultiplier = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_OAUTH_BACKOFF_ESCALATION_COUNT": func(s *Settings) { s.Fixed.OAuth.BackoffEscalationCount = 42 },
		"OMNIROUTE_PROVIDER_BREAKER_API_KEY_BACKOFF_ESCALATION_COUNT": func(s *Settings) {
			s.Fixed.APIKey.BackoffEscalationCount = 42
		},
		"OMNIROUTE_PROVIDER_BREAKER_OAUTH_DEGRADATION_THRESHOLD":   func(s *Settings) { s.ProviderBreaker.OAuth.DegradationThreshold = 7 },   // capped: 8 − 1
		"OMNIROUTE_PROVIDER_BREAKER_API_KEY_DEGRADATION_THRESHOLD": func(s *Settings) { s.ProviderBreaker.APIKey.DegradationThreshold = 11 }, // capped: 12 − 1
		"OMNIROUTE_CIRCUIT_BREAKER_OAUTH_RESET_MS":                 func(s *Settings) { s.ProviderBreaker.OAuth.ResetTimeoutMs = 1000 },      // raised to its least
		"OMNIROUTE_CIRCUIT_BREAKER_API_KEY_RESET_MS":               func(s *Settings) { s.ProviderBreaker.APIKey.ResetTimeoutMs = 1000 },
		"PROVIDER_COOLDOWN_MIN_MS":                                 func(s *Settings) { s.ProviderCooldown.MinRetryCooldownMs = 42 },
		"RATE_LIMIT_EXECUTION_MAX_WAIT_MS":                         func(s *Settings) { s.RequestQueue.ExecutionMaxWaitMs = 42 },
		"RATE_LIMIT_MAX_QUEUE_DEPTH":                               func(s *Settings) { s.RequestQueue.MaxQueueDepth = 42 },
		"STREAM_THROUGHPUT_WATCHDOG_WARMUP_MS":                     func(s *Settings) { s.StreamRecovery.ThroughputWatchdog.WarmupMs = 42 },
		"STREAM_THROUGHPUT_WATCHDOG_MIN_BYTES_PER_SECOND":          func(s *Settings) { s.StreamRecovery.ThroughputWatchdog.MinUsefulBytesPerSecond = 42 },
		"OMNIROUTE_ROTATION_RATE_LIMIT_RESET_SECONDS":              func(s *Settings) { s.Rotation.RateLimitResetSeconds = 42 },
		"OMNIROUTE_ROTATE_429_THRESHOLD":                           func(s *Settings) { s.Rotation.On429.Threshold = 42 },
		"OMNIROUTE_ROTATE_502_WINDOW_SECONDS":                      func(s *Settings) { s.Rotation.On502.WindowSeconds = 42 },
		"FETCH_TIMEOUT_MS": func(s *Settings) {
			s.Timeouts.FetchMs, s.Timeouts.FetchHeadersMs, s.Timeouts.FetchBodyMs = 42, 42, 42
		},
		"REQUEST_TIMEOUT_MS": func(s *Settings) {
			s.Timeouts.FetchMs, s.Timeouts.FetchHeadersMs, s.Timeouts.FetchBodyMs = 42, 42, 42
			s.Timeouts.StreamIdleMs, s.Timeouts.StreamReadinessMs = 42, 42
		},
		"FETCH_KEEPALIVE_TIMEOUT_MS":      func(s *Settings) { s.Timeouts.FetchKeepaliveMs = 42 },
		"STREAM_ACTIVE_TIMEOUT_MS":        func(s *Settings) { s.Timeouts.StreamActiveMs = 42 },
		"STREAM_CONTENT_STALL_TIMEOUT_MS": func(s *Settings) { s.Timeouts.StreamStallMs = 42 },
		"SSE_HEARTBEAT_INTERVAL_MS":       func(s *Settings) { s.Timeouts.HeartbeatMs = 42 },
	}
	for name, change := range fields {
		t.Run("core case 49 "+name, func(t *testing.T) {
			want := Defaults()
			change(&want)
			if got := Seeded(env(name, "42")); !reflect.DeepEqual(got, want) {
				t.Errorf("settings = %+v", got)
			}
			for _, bad := range []string{"", "  ", "-1", "many", "NaN"} {
				if got := Seeded(env(name, bad)); !reflect.DeepEqual(got, Defaults()) {
					t.Errorf("%q changed something", bad)
				}
			}
		})
	}
	t.Run("rotation switches, core cases 120-122", func(t *testing.T) {
		if r := Seeded(none).Rotation; !r.Enabled || !r.On429.On || !r.On500.On || !r.On502.On || r.On400.On || r.On429.Threshold != 1 || r.RateLimitResetSeconds != 0 {
			t.Errorf("defaults = %+v", r)
		}
		r := Seeded(env("OMNIROUTE_ROTATE_ON_502", "no", "OMNIROUTE_ROTATE_ON_400", "yes", "OMNIROUTE_ROTATION_ENABLED", "perhaps")).Rotation
		if r.On502.On || !r.On400.On || !r.Enabled {
			t.Errorf("rotation = %+v", r)
		}
	})
}

func TestErrorRules(t *testing.T) {
	rules := func(n int) string {
		return `{"A ":[` + strings.TrimSuffix(strings.Repeat(`{"status":429,"scope":"model"},`, n), ",") + `]}`
	}
	long := strings.Repeat("x", 201)
	for _, c := range []struct {
		name, body, field string
	}{
		{"case 94 status 99", `{"a":[{"status":99,"scope":"model"}]}`, "providerErrorRules.a.0.status"},
		{"case 94 status 600", `{"a":[{"status":600,"scope":"model"}]}`, "providerErrorRules.a.0.status"},
		{"case 94 status 404.5", `{"a":[{"status":404.5,"scope":"model"}]}`, "providerErrorRules.a.0.status"},
		{"case 94 status 0", `{"a":[{"status":0,"scope":"model"}]}`, "providerErrorRules.a.0.status"},
		{"case 95 empty match", `{"a":[{"match":"","scope":"model"}]}`, "providerErrorRules.a.0.match"},
		{"case 95 long match", `{"a":[{"match":"` + long + `","scope":"model"}]}`, "providerErrorRules.a.0.match"},
		{"case 95 200 characters", `{"a":[{"match":"` + strings.Repeat("é", 200) + `","scope":"model"}]}`, ""},
		{"case 95 no scope", `{"a":[{"status":429}]}`, "providerErrorRules.a.0.scope"},
		{"case 95 scope", `{"a":[{"status":429,"scope":"global"}]}`, "providerErrorRules.a.0.scope"},
		{"case 95 reason", `{"a":[{"status":429,"scope":"model","reason":"bad"}]}`, "providerErrorRules.a.0.reason"},
		{"case 96 negative cooldown", `{"a":[{"status":429,"scope":"model","cooldownMs":-1}]}`, "providerErrorRules.a.0.cooldownMs"},
		{"case 96 above 30 days", `{"a":[{"status":429,"scope":"model","cooldownMs":2592000001}]}`, "providerErrorRules.a.0.cooldownMs"},
		{"case 96 exactly 30 days", `{"a":[{"status":429,"scope":"model","cooldownMs":2592000000}]}`, ""},
		{"case 96 more than fits", `{"a":[{"status":429,"scope":"model","cooldownMs":9223372036854775807}]}`, "providerErrorRules.a.0.cooldownMs"},
		{"case 97 fifty", rules(50), ""},
		{"case 97 fifty-one", rules(51), "providerErrorRules"},
		{"case 98 blank provider", `{"  ":[]}`, "providerErrorRules"},
		{"case 98 long provider", `{"` + strings.Repeat("p", 101) + `":[]}`, "providerErrorRules"},
		{"case 99 neither", `{"a":[{"scope":"model"}]}`, "providerErrorRules.a.0"},
		{"case 100 a text alone", `{"a":[{"match":"insufficient_quota","scope":"connection"}]}`, ""},
		{"unknown field", `{"a":[{"status":429,"scope":"model","x":1}]}`, "providerErrorRules.a.0.x"},
		{"no list", `{"a":{}}`, "providerErrorRules.a"},
		{"nothing", `{"a":[null]}`, "providerErrorRules.a.0"},
		{"no object", `{"a":[7]}`, "providerErrorRules.a.0"},
		{"no body", `7`, "body"},
		{"cleared", `{}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseErrorRules([]byte(c.body))
			if c.field != "" {
				wantRefused(t, err, c.field)
			} else if err != nil || got == nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
	t.Run("stored rules are read leniently", func(t *testing.T) {
		got := LoadErrorRules([]byte(`{"A":[{"status":400,"scope":"model"},{"scope":"model"},7],"":[{"status":429,"scope":"model"}]}`))
		if len(got) != 1 || len(got["a"]) != 1 {
			t.Fatalf("rules = %+v", got)
		}
		if why := got["a"][0].Inactive(); why == "" {
			t.Error("ruling 15: a rule on 400 counts as active")
		}
		if why := (ErrorRule{Status: 429}).Inactive(); why != "" {
			t.Errorf("a rule on 429 is inactive: %s", why)
		}
		if got := LoadErrorRules([]byte(rules(60))); len(got["a"]) != 50 {
			t.Errorf("%d rules are kept", len(got["a"]))
		}
	})
	t.Run("defaults", func(t *testing.T) {
		got, err := ParseErrorDefaults([]byte(`{" Glm":{"cooldownMs":60000}}`))
		if err != nil || got["glm"] != (ErrorDefault{CooldownMs: 60_000, Scope: "connection"}) {
			t.Errorf("defaults = %+v, %v", got, err)
		}
		for body, field := range map[string]string{
			`{"a":{"cooldownMs":59999}}`: "providerErrorDefaults.a.cooldownMs", `{"a":{}}`: "providerErrorDefaults.a.cooldownMs",
			`{"a":{"cooldownMs":2592000001}}`: "providerErrorDefaults.a.cooldownMs", `{"a":{"cooldownMs":60000,"reason":"bored"}}`: "providerErrorDefaults.a.reason",
			`{"  ":{"cooldownMs":60000}}`:            "providerErrorDefaults",
			`{"a":{"cooldownMs":60000,"scope":"x"}}`: "providerErrorDefaults.a.scope", `{"a":7}`: "providerErrorDefaults.a",
			`{"a":{"cooldownMs":60000,"x":1}}`: "providerErrorDefaults.a.x", `[]`: "body",
		} {
			_, err := ParseErrorDefaults([]byte(body))
			wantRefused(t, err, field)
		}
		if got := LoadErrorDefaults([]byte(`{"a":{"cooldownMs":1},"b":{"cooldownMs":60000,"reason":"unknown"}}`)); len(got) != 1 || got["b"].Reason != "unknown" {
			t.Errorf("loaded %+v", got)
		}
	})
	t.Run("what is stored is read back as it was", func(t *testing.T) {
		rules := map[string][]ErrorRule{"acme": {
			{Status: 429, Scope: "model"}, {Match: "quota", Scope: "provider", Reason: "auth_error", CooldownMs: maxRuleMs},
		}}
		defaults := map[string]ErrorDefault{"acme": {CooldownMs: minDefaultMs, Scope: "model", Reason: "unknown"}}
		stored, err := json.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		if got := LoadErrorRules(stored); !reflect.DeepEqual(got, rules) {
			t.Errorf("%+v, stored as %s", got, stored)
		}
		if stored, err = json.Marshal(defaults); err != nil {
			t.Fatal(err)
		}
		if got := LoadErrorDefaults(stored); !reflect.DeepEqual(got, defaults) {
			t.Errorf("%+v, stored as %s", got, stored)
		}
	})
	t.Run("affinity", func(t *testing.T) {
		if n, err := ParseAffinityTTL(60_000.0); n != 60_000 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		for _, bad := range []any{"60000", -1.0, 86_400_001.0, nil, 1.5} {
			if _, err := ParseAffinityTTL(bad); err == nil {
				t.Errorf("%v was accepted", bad)
			}
		}
	})
}

// FuzzResolve feeds stored documents: whatever they hold, the result is within
// its bounds and reads back as itself.
func FuzzResolve(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"requestQueue":{"maxWaitMs":-1e308,"maxQueueDepth":"9"}}`, `{"quotaPreflight":{"providerWindowDefaults":{"a":{"b":5}}}}`,
		`{"providerQuotaOverrides":{"x":{"rpm":1.9}}}`, `{"connectionCooldown":{"oauth":{"useUpstream429BreakerHints":false}}}`, `{"comboCooldownWait":{"maxWaitMs":7}}`,
	} {
		f.Add([]byte(seed), []byte(`{"errorCodes":[500],"baseCooldownMs":1}`))
	}
	f.Fuzz(func(t *testing.T, stored, lockout []byte) {
		s, _ := Resolve(stored, lockout, none)
		if again, notes := Normalize(s); len(notes) != 0 || !reflect.DeepEqual(again, s) {
			t.Fatalf("not normal: %v", notes)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		ml, _ := json.Marshal(s.ModelLockout)
		if back, _ := Resolve(text, ml, none); !reflect.DeepEqual(back, s) {
			t.Fatalf("reads back as %+v, was %+v", back, s)
		}
		for _, l := range leaves {
			if l.number != nil {
				if n := *l.number(&s); n < l.lo || n > l.hi {
					t.Fatalf("%s = %d", l.path, n)
				}
			}
		}
	})
}

// FuzzPatch feeds patches: one that is accepted changes nothing but what it
// names, and applies twice to the same effect.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{`{"p2cLatency":{"weight":10}}`, `{"p2cLatency":{"weight":null}}`, `{"providerQuotaOverrides":{"a":{"rpm":1}}}`, `{"x":1}`, `{"requestQueue":{}}`} {
		f.Add([]byte(seed))
	}
	stored := []byte(`{"requestQueue":{"maxWaitMs":77},"p2cLatency":{"weight":3}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, err := Patch(stored, body)
		if err != nil {
			return
		}
		twice, err := Patch(doc, body)
		if err != nil || !bytes.Equal(doc, twice) {
			t.Fatalf("applied twice: %s, then %s (%v)", doc, twice, err)
		}
		before, after := resolve(string(stored), none), resolve(string(doc), none)
		patch := decode(body)
		for _, l := range leaves {
			_, named := dig(patch, l.path)
			section, _, _ := strings.Cut(l.path, ".")
			if _, touched := patch[section]; !named && !touched && l.show(&before) != l.show(&after) {
				t.Fatalf("%s changed from %s to %s", l.path, l.show(&before), l.show(&after))
			}
		}
	})
}
