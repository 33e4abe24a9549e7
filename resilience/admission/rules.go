package admission

import (
	"time"

	"breakwater/resilience/settings"
)

// Rules are the figures of one connection's queue (guide §5); 0 is no limit.
type Rules struct {
	PerMinute, PerDay             int64
	TokensPerMinute, TokensPerDay int64
	// ProviderPerMinute is the provider's own window, shared by all models of
	// the connection (sheet §5.2).
	ProviderPerMinute int64
	Spacing           time.Duration // between two starts
	Concurrent        int64
	MaxDepth          int64
	MaxWait           time.Duration // in the queue only
	Execution         time.Duration // running only
	// OwnPace tells that requests per minute were set for this connection:
	// headers then teach no spacing (sheet §5.3).
	OwnPace bool
}

// builtinRPM are the providers with a known window (sheet §5.2).
var builtinRPM = map[string]int64{"nvidia": 40}

// waitFloors are the providers that need patience (sheet §5.2).
var waitFloors = map[string]time.Duration{
	"zai-web": time.Minute, "maxai": 5 * time.Minute, "mx": 5 * time.Minute,
}

// RulesFor returns the rules in force: a connection's override wins over the
// stored setting; that, and what it was made of, is settings' affair (guide §5,
// "Precedencia").
func RulesFor(s *settings.Settings, provider string, o Overrides) Rules {
	q := &s.RequestQueue
	r := Rules{
		PerMinute: own(o.RPM, q.RequestsPerMinute), PerDay: value(o.RPD),
		TokensPerMinute: value(o.TPM), TokensPerDay: value(o.TPD),
		ProviderPerMinute: own(s.ProviderQuotaOverrides[provider].RPM, builtinRPM[provider]),
		Spacing:           millis(own(o.MinTimeMs, q.MinTimeBetweenRequestsMs)),
		Concurrent:        own(o.MaxConcurrent, q.ConcurrentRequests),
		MaxDepth:          q.MaxQueueDepth,
		MaxWait:           max(millis(q.MaxWaitMs), waitFloors[provider]),
		Execution:         millis(q.ExecutionMaxWaitMs),
		OwnPace:           value(o.RPM) > 0,
	}
	if n := value(o.MaxWaitMs); n > 0 {
		r.MaxWait = millis(n)
	}
	if n := value(o.ExecutionMaxWaitMs); n > 0 {
		r.Execution = millis(n)
	}
	return r
}

func own(override *int64, setting int64) int64 {
	if override != nil {
		return *override
	}
	return setting
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Conn is a connection as its queue sees it.
type Conn struct {
	ID, Provider string
	// APIKey tells that the provider's category is "apikey": the safety net
	// covers it while it is active.
	APIKey, Active bool
	// Protect is rateLimitProtection. Only true says anything: false and unset
	// are the same, there is no opting out (guide §5).
	Protect   bool
	Overrides Overrides
}

// Protected reports whether the connection has a queue.
func (c *Conn) Protected(autoEnable bool) bool {
	return c.Protect || autoEnable && c.APIKey && c.Active
}

// scoped says which providers count by model, and which by a family of models,
// instead of by connection (sheet §5.2).
var scoped = map[string]struct{ family, model bool }{
	"codex":       {family: true},
	"antigravity": {family: true, model: true},
	"agy":         {family: true, model: true},
	"gemini":      {model: true},
	"github":      {model: true},
}

// limiterKey returns the key of the limiter that a call goes through, and
// whether it stands for a part of the connection's models only. family is the
// quota family or scope of the model, empty for none.
func limiterKey(provider, connection, model, family string) (key string, modelScoped bool) {
	key = provider + ":" + connection
	s := scoped[provider]
	switch {
	case s.family && family != "":
		return key + ":" + family, true
	case s.model && model != "":
		return key + ":" + model, true
	default:
		return key, false
	}
}

// AdmitDepth reports whether one more may queue where queued wait already; a
// depth that is not positive bounds nothing (guide §5, checkQueueAdmission).
func AdmitDepth(queued, maxDepth int64) bool { return maxDepth <= 0 || queued < maxDepth }
