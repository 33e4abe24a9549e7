package classify

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"breakwater/resilience/outcome"
)

// Gate is the rotation switch of one status class.
type Gate struct {
	On        bool
	Threshold int           // errors within Window before a request moves on
	Window    time.Duration // 0 counts as 120 s
}

// Rotation says on which statuses a request moves on (sheet §3.7).
type Rotation struct {
	Enabled bool
	On429   Gate
	On500   Gate // every 5xx but 502
	On502   Gate
	On400   Gate // additive only: off never blocks a 400
	// Reset replaces the ladder for a rate limit without a hint; zero is none.
	Reset time.Duration
	// ConnectionReset is the connection's own, which goes first.
	ConnectionReset time.Duration
	// DisableTagWithoutReset is kept for the settings' sake.
	DisableTagWithoutReset bool
}

const rotationWindow = 120 * time.Second

// DefaultRotation returns the figures that apply when nothing is set.
func DefaultRotation() Rotation {
	on := Gate{On: true, Threshold: 1, Window: rotationWindow}
	off := on
	off.On = false
	return Rotation{Enabled: true, On429: on, On500: on, On502: on, On400: off, DisableTagWithoutReset: true}
}

// RotationFromEnv reads the OMNIROUTE_ROTATION_* and OMNIROUTE_ROTATE_* names
// through get; what cannot be read keeps its default.
func RotationFromEnv(get func(string) string) Rotation {
	r := DefaultRotation()
	flag := func(name string, v *bool) {
		switch strings.ToLower(strings.TrimSpace(get(name))) {
		case "true", "1", "yes", "on":
			*v = true
		case "false", "0", "no", "off":
			*v = false
		}
	}
	flag("OMNIROUTE_ROTATION_ENABLED", &r.Enabled)
	flag("OMNIROUTE_ROTATION_DISABLE_TAG_WITHOUT_RESET", &r.DisableTagWithoutReset)
	if n, ok := positive(get("OMNIROUTE_ROTATION_RATE_LIMIT_RESET_SECONDS")); ok {
		r.Reset = time.Duration(n) * time.Second
	}
	for class, g := range map[string]*Gate{"429": &r.On429, "500": &r.On500, "502": &r.On502, "400": &r.On400} {
		flag("OMNIROUTE_ROTATE_ON_"+class, &g.On)
		if n, ok := positive(get("OMNIROUTE_ROTATE_" + class + "_THRESHOLD")); ok {
			g.Threshold = n
		}
		if n, ok := positive(get("OMNIROUTE_ROTATE_" + class + "_WINDOW_SECONDS")); ok {
			g.Window = time.Duration(n) * time.Second
		}
	}
	return r
}

// positive reads a whole number from 1 to a billion.
func positive(s string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	return n, err == nil && n > 0 && n <= 1e9
}

// GateOverride is a connection's word on one class; absent fields inherit.
type GateOverride struct {
	On            *bool
	Threshold     int // 0 inherits
	WindowSeconds int // 0 inherits
}

// Overrides is providerSpecificData.rotationOverrides of one connection.
type Overrides struct {
	RateLimitResetSeconds int // 0 inherits
	On429, On500          GateOverride
	On502, On400          GateOverride
}

// With returns r as the connection's overrides change it.
func (r Rotation) With(o Overrides) Rotation {
	for _, p := range []struct {
		gate *Gate
		over GateOverride
	}{{&r.On429, o.On429}, {&r.On500, o.On500}, {&r.On502, o.On502}, {&r.On400, o.On400}} {
		if p.over.On != nil {
			p.gate.On = *p.over.On
		}
		if p.over.Threshold > 0 {
			p.gate.Threshold = p.over.Threshold
		}
		if p.over.WindowSeconds > 0 {
			p.gate.Window = time.Duration(p.over.WindowSeconds) * time.Second
		}
	}
	if o.RateLimitResetSeconds > 0 {
		r.ConnectionReset = time.Duration(o.RateLimitResetSeconds) * time.Second
	}
	return r
}

// delay returns what replaces the ladder for a rate limit: the connection's
// word, then the provider's, then the environment's (guide §2).
func (r Rotation) delay(provider time.Duration) time.Duration {
	switch {
	case r.ConnectionReset > 0:
		return r.ConnectionReset
	case provider > 0:
		return provider
	}
	return r.Reset
}

// gate returns the class of a status and its number; ok is false for statuses
// that are not gated.
func (r Rotation) gate(status int) (g Gate, class int, ok bool) {
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
	return Gate{}, 0, false
}

// rotationGate keeps a request on its connection where the operator wants it
// so, and moves a 400 on where the operator asked for that.
func rotationGate(f *facts) (outcome.Outcome, bool) {
	g, class, ok := f.rotation.gate(f.Status)
	if !ok {
		return pass()
	}
	open := f.rotation.Enabled && g.On && f.opt.Streak.reached(f.Connection, class, g, f.Now)
	switch {
	case class == 400 && !open, class != 400 && open:
		return pass()
	case class == 400:
		cooldown := f.rotation.delay(f.opt.ProviderDelay)
		if cooldown <= 0 {
			cooldown = fixedCooldown
		}
		return fixed(outcome.ReasonUnknown, cooldown), true
	}
	o := fixed(outcome.ReasonUnknown, 0)
	o.Fallback = false
	return o, true
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
func (s *Streak) reached(connection string, class int, g Gate, now time.Time) bool {
	if s == nil || g.Threshold <= 1 {
		return true
	}
	window := g.Window
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
	if len(recent) >= g.Threshold {
		delete(s.seen, key)
		return true
	}
	s.seen[key] = recent
	return false
}
