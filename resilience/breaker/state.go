package breaker

import (
	"maps"
	"time"

	"breakwater/resilience/outcome"
)

// State is one of the four states of a provider's breaker (guide §1).
type State uint8

// The states.
const (
	Closed   State = iota // traffic flows
	Degraded              // traffic flows, failures are elevated
	Open                  // no traffic
	HalfOpen              // one probe is let through
)

var stateNames = [...]string{Closed: "CLOSED", Degraded: "DEGRADED", Open: "OPEN", HalfOpen: "HALF_OPEN"}

// String returns the guide's name of the state.
func (s State) String() string { return stateNames[s] }

// ParseState reads the guide's name of a state.
func ParseState(name string) (State, bool) {
	for i, n := range stateNames {
		if n == name {
			return State(i), true
		}
	}
	return Closed, false
}

// Transition is one entry of a breaker's history.
type Transition struct {
	From, To     State
	At           time.Time
	FailureCount int
	Reason       string
	Until        time.Time // end of the hold, for a transition to OPEN
}

// Saved is what of a breaker survives a restart.
type Saved struct {
	State        State
	Failures     int
	LastFailure  time.Time
	LastKind     outcome.Kind
	Cycles       int
	KindFailures map[outcome.Kind]int
	// FailureThreshold and ResetTimeout are stored for display; Restore leaves
	// them to the settings.
	FailureThreshold int
	ResetTimeout     time.Duration
}

// Status is everything a breaker can tell of itself.
type Status struct {
	Saved
	DegradationThreshold  int
	EffectiveResetTimeout time.Duration
	RetryAfter            time.Duration // how long until traffic may be tried
	Until                 time.Time     // the same as a moment, zero when now
	History               []Transition  // oldest first
}

// KindThreshold opens the breaker by the failures of one kind alone.
type KindThreshold struct {
	Threshold     int  // 0: one when ImmediateOpen, else the failure threshold
	ImmediateOpen bool // open as soon as the threshold is reached
}

// Options are a breaker's figures. In a patch for Configure, zero fields and
// absent map keys keep what was set before (sheet §1.9, "Re-get").
type Options struct {
	FailureThreshold       int
	DegradationThreshold   int // 0 with a new FailureThreshold: 60 % of it, rounded up
	ResetTimeout           time.Duration
	HalfOpenRequests       int
	MaxBackoffMultiplier   int
	BackoffEscalationCount int
	// CooldownByKind replaces ResetTimeout after a failure of that kind;
	// a negative value counts as absent.
	CooldownByKind map[outcome.Kind]time.Duration
	KindThresholds map[outcome.Kind]KindThreshold
}

// DefaultOptions are the figures of a breaker that is told none (sheet §1.2).
func DefaultOptions() Options {
	return Options{
		FailureThreshold: 5, DegradationThreshold: 3, ResetTimeout: 30 * time.Second,
		HalfOpenRequests: 1, MaxBackoffMultiplier: 16, BackoffEscalationCount: 3,
	}
}

// Merge returns o with the fields and map keys that p sets.
func (o Options) Merge(p Options) Options {
	if p.FailureThreshold > 0 && p.DegradationThreshold <= 0 && p.FailureThreshold != o.FailureThreshold {
		p.DegradationThreshold = (p.FailureThreshold*60 + 99) / 100
	}
	setPositive(&o.FailureThreshold, p.FailureThreshold)
	setPositive(&o.DegradationThreshold, p.DegradationThreshold)
	setPositive(&o.ResetTimeout, p.ResetTimeout)
	setPositive(&o.HalfOpenRequests, p.HalfOpenRequests)
	setPositive(&o.MaxBackoffMultiplier, p.MaxBackoffMultiplier)
	setPositive(&o.BackoffEscalationCount, p.BackoffEscalationCount)
	o.CooldownByKind = mergeMap(o.CooldownByKind, p.CooldownByKind)
	o.KindThresholds = mergeMap(o.KindThresholds, p.KindThresholds)
	return o
}

func setPositive[T int | time.Duration](dst *T, v T) {
	if v > 0 {
		*dst = v
	}
}

func mergeMap[V any](old, patch map[outcome.Kind]V) map[outcome.Kind]V {
	if len(patch) == 0 {
		return old
	}
	merged := make(map[outcome.Kind]V, len(old)+len(patch))
	maps.Copy(merged, old)
	maps.Copy(merged, patch)
	return merged
}
