package settings

import "math"

// seedFixed reads the figures that only the environment can change (sheet
// §1.4). A zero would switch a figure off that cannot be off, so it does not
// count.
func seedFixed(f *Fixed, env Lookup) {
	for _, c := range []struct {
		name string
		at   *FixedProfile
	}{{"OAUTH", &f.OAuth}, {"API_KEY", &f.APIKey}, {"LOCAL", &f.Local}} {
		family := "OMNIROUTE_PROVIDER_BREAKER_" + c.name + "_"
		seedNumber(&c.at.ProviderFailureThreshold, env, family+"FAILURE_THRESHOLD", 1)
		seedNumber(&c.at.ProviderFailureWindowMs, env, family+"FAILURE_WINDOW_MS", 0)
		seedNumber(&c.at.ProviderCooldownMs, env, family+"COOLDOWN_MS", 0)
		if c.at != &f.Local {
			seedNumber(&c.at.MaxBackoffMultiplier, env, family+"MAX_BACKOFF_MULTIPLIER", 1)
			seedNumber(&c.at.BackoffEscalationCount, env, family+"BACKOFF_ESCALATION_COUNT", 1)
		}
	}
	b := &f.LocalBreaker
	if seedNumber(&b.FailureThreshold, env, "OMNIROUTE_CIRCUIT_BREAKER_LOCAL_THRESHOLD", 1) {
		b.DegradationThreshold = (b.FailureThreshold*60 + 99) / 100
	}
	seedNumber(&b.ResetTimeoutMs, env, "OMNIROUTE_CIRCUIT_BREAKER_LOCAL_RESET_MS", 1)
}

// seedNumber puts the environment's number in, if there is one of at least
// least.
func seedNumber(at *int64, env Lookup, name string, least int64) bool {
	n, ok := envInteger(env(name), least)
	if ok {
		*at = n
	}
	return ok
}

// seedRotation reads OMNIROUTE_ROTATION_* and OMNIROUTE_ROTATE_* (sheet §3.7).
func seedRotation(env Lookup) Rotation {
	r := defaultRotation()
	flag := func(at *bool, name string) {
		if on, ok := envSwitch(env(name), true); ok {
			*at = on
		}
	}
	flag(&r.Enabled, "OMNIROUTE_ROTATION_ENABLED")
	flag(&r.DisableTagWithoutReset, "OMNIROUTE_ROTATION_DISABLE_TAG_WITHOUT_RESET")
	seedNumber(&r.RateLimitResetSeconds, env, "OMNIROUTE_ROTATION_RATE_LIMIT_RESET_SECONDS", 0)
	for _, c := range []struct {
		class string
		at    *RotationRule
	}{{"429", &r.On429}, {"500", &r.On500}, {"502", &r.On502}, {"400", &r.On400}} {
		flag(&c.at.On, "OMNIROUTE_ROTATE_ON_"+c.class)
		seedNumber(&c.at.Threshold, env, "OMNIROUTE_ROTATE_"+c.class+"_THRESHOLD", 1)
		seedNumber(&c.at.WindowSeconds, env, "OMNIROUTE_ROTATE_"+c.class+"_WINDOW_SECONDS", 1)
	}
	return r
}

// Timeouts holds the upstream timeouts, in milliseconds; only the environment
// sets them (settings sheet §1.1).
type Timeouts struct {
	FetchMs, FetchHeadersMs, FetchBodyMs int64
	FetchConnectMs, FetchKeepaliveMs     int64
	StreamIdleMs                         int64
	StreamReadinessMs                    int64 // to the first useful event
	StreamReadinessMaxMs                 int64
	StreamActiveMs                       int64 // the whole of a stream
	StreamStallMs                        int64 // least budget between two signs of progress
	HeartbeatMs                          int64 // 0: off
}

// defaultTimeouts are the built-in figures. Idle connections live longer than
// the sheet's 4 s: a handshake a turn would cost more than a repeat that is
// harmless (ruling 67).
func defaultTimeouts() Timeouts {
	return Timeouts{
		FetchMs: 600_000, FetchHeadersMs: 600_000, FetchBodyMs: 600_000, FetchConnectMs: 30_000, FetchKeepaliveMs: 60_000,
		StreamIdleMs: 600_000, StreamReadinessMs: 80_000, StreamReadinessMaxMs: 180_000, HeartbeatMs: 15_000,
		StreamActiveMs: 1_260_000, StreamStallMs: 300_000,
	}
}

// seedTimeouts reads the timeouts: REQUEST_TIMEOUT_MS is the default of three
// of them, FETCH_TIMEOUT_MS of two more.
func seedTimeouts(env Lookup) Timeouts {
	t := defaultTimeouts()
	if shared, ok := envInteger(env("REQUEST_TIMEOUT_MS"), 0); ok {
		t.FetchMs, t.StreamIdleMs, t.StreamReadinessMs = shared, shared, shared
	}
	seedNumber(&t.FetchMs, env, "FETCH_TIMEOUT_MS", 0)
	t.FetchHeadersMs, t.FetchBodyMs = t.FetchMs, t.FetchMs
	seedNumber(&t.FetchHeadersMs, env, "FETCH_HEADERS_TIMEOUT_MS", 0)
	seedNumber(&t.FetchBodyMs, env, "FETCH_BODY_TIMEOUT_MS", 0)
	seedNumber(&t.FetchConnectMs, env, "FETCH_CONNECT_TIMEOUT_MS", 0)
	seedNumber(&t.FetchKeepaliveMs, env, "FETCH_KEEPALIVE_TIMEOUT_MS", 1)
	seedNumber(&t.StreamIdleMs, env, "STREAM_IDLE_TIMEOUT_MS", 0)
	seedNumber(&t.StreamReadinessMs, env, "STREAM_READINESS_TIMEOUT_MS", 0)
	seedNumber(&t.StreamReadinessMaxMs, env, "STREAM_READINESS_MAX_TIMEOUT_MS", 0)
	t.StreamReadinessMaxMs = max(t.StreamReadinessMaxMs, min(t.StreamReadinessMs, math.MaxInt32))
	seedNumber(&t.StreamActiveMs, env, "STREAM_ACTIVE_TIMEOUT_MS", 0)
	seedNumber(&t.StreamStallMs, env, "STREAM_CONTENT_STALL_TIMEOUT_MS", 0)
	seedNumber(&t.HeartbeatMs, env, "SSE_HEARTBEAT_INTERVAL_MS", 0)
	return t
}
