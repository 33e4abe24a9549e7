package classify

import (
	"sync"
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// defaultRotation is what applies when nothing is set (sheet §3.7).
var defaultRotation = settings.Defaults().Rotation

const rotationWindow = 120 * time.Second

// RuleOverride is a connection's word on one status class; absent fields
// inherit.
type RuleOverride struct {
	On            *bool
	Threshold     int64 // 0 inherits
	WindowSeconds int64 // 0 inherits
}

// Overrides is providerSpecificData.rotationOverrides of one connection (sheet
// §3.7).
type Overrides struct {
	RateLimitResetSeconds int64 // 0 inherits
	On429, On500          RuleOverride
	On502, On400          RuleOverride
}

// Apply returns the options with the process-wide rotation r as the connection
// changes it.
func (o Overrides) Apply(opt Options, r settings.Rotation) Options {
	for _, p := range []struct {
		rule *settings.RotationRule
		over RuleOverride
	}{{&r.On429, o.On429}, {&r.On500, o.On500}, {&r.On502, o.On502}, {&r.On400, o.On400}} {
		if p.over.On != nil {
			p.rule.On = *p.over.On
		}
		if p.over.Threshold > 0 {
			p.rule.Threshold = p.over.Threshold
		}
		if p.over.WindowSeconds > 0 {
			p.rule.WindowSeconds = p.over.WindowSeconds
		}
	}
	opt.Rotation = &r
	opt.ConnectionDelay = seconds(o.RateLimitResetSeconds)
	return opt
}

// seconds converts a stored number of seconds; nonsense counts as none.
func seconds(n int64) time.Duration {
	if n <= 0 || n > int64(hint.MaxStated/time.Second) {
		return 0
	}
	return time.Duration(n) * time.Second
}

// delay returns what replaces the ladder for a rate limit: the connection's
// word, then the provider's, then the environment's (guide §2).
func (f *facts) delay() time.Duration {
	switch {
	case f.opt.ConnectionDelay > 0:
		return f.opt.ConnectionDelay
	case f.opt.ProviderDelay > 0:
		return f.opt.ProviderDelay
	}
	return seconds(f.rotation.RateLimitResetSeconds)
}

// gate returns the rule of a status and the number of its class; ok is false
// for statuses that are not gated.
func gate(r settings.Rotation, status int) (rule settings.RotationRule, class int, ok bool) {
	switch {
	case status == 429:
		return r.On429, 429, true
	case status == 502:
		return r.On502, 502, true
	case status >= 500:
		return r.On500, 500, true
	case status == 400:
		return r.On400, 400, true
	}
	return settings.RotationRule{}, 0, false
}

// rotationHolds reports whether the operator's rotation decides: it keeps a
// request on its connection where the operator wants it so, and moves a 400 on
// where the operator asked for that.
func rotationHolds(f *facts) bool {
	g, class, ok := gate(f.rotation, f.Status)
	if !ok {
		return false
	}
	open := f.rotation.Enabled && g.On && f.opt.Streak.reached(f.Connection, class, g, f.Now)
	switch {
	case class == 400 && !open, class != 400 && open:
		return false
	case class == 400:
		cooldown := f.delay()
		if cooldown <= 0 {
			cooldown = fixedCooldown
		}
		o := fixed(outcome.ReasonUnknown, cooldown)
		f.ruled = &o
		return true
	}
	o := fixed(outcome.ReasonUnknown, 0)
	o.Fallback = false
	f.ruled = &o
	return true
}

// Streak counts errors per connection and status class in sliding windows, for
// rotation thresholds above 1. It is safe for concurrent use; a nil Streak lets
// every error reach its threshold.
type Streak struct {
	mu   sync.Mutex
	seen map[streakKey][]time.Time
}

type streakKey struct {
	connection string
	class      int
}

// maxStreaks bounds the memory; beyond it the counters start anew.
const maxStreaks = 4096

// reached records one error and reports whether it is the threshold-th within
// the window; the counter then starts again.
func (s *Streak) reached(connection string, class int, g settings.RotationRule, now time.Time) bool {
	if s == nil || g.Threshold <= 1 {
		return true
	}
	window := seconds(g.WindowSeconds)
	if window <= 0 {
		window = rotationWindow
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil || len(s.seen) >= maxStreaks {
		s.seen = make(map[streakKey][]time.Time)
	}
	key := streakKey{connection, class}
	var recent []time.Time
	for _, t := range s.seen[key] {
		if age := now.Sub(t); age >= 0 && age < window {
			recent = append(recent, t)
		}
	}
	recent = append(recent, now)
	if int64(len(recent)) >= g.Threshold {
		delete(s.seen, key)
		return true
	}
	s.seen[key] = recent
	return false
}
