package combo

import (
	"cmp"
	"slices"
	"time"
)

// Rand returns a number from 0 up to, but not including, 1. The program hands
// in a cryptographic source, tests a scripted one.
type Rand func() float64

// Target is one place a request may be sent to.
type Target struct {
	Kind       Kind // a model, or a combo that runs as a black box
	StepID     string
	Key        string // executionKey: the step ids along the nesting path, and "@" with the connection when one step became several
	Model      string // "provider/model"
	Provider   string
	Connection string   // empty: any connection of the provider
	Allowed    []string // the connections it may use, empty for any
	Weight     float64
	Label      string
	Prompt     string
	Protected  bool // left only when every failure seen on it was quota
	Combo      string
	Group      int // the top-level step it belongs to
	Data       any // the caller's own, see Planner.Fixed
	Live       Live

	tally string // under which the combo counts it
}

// ModelID returns the model's name without the provider.
func (t *Target) ModelID() string { return bare(t.Model) }

// Breaker is the state of a breaker as far as routing needs it.
type Breaker uint8

// The states; the zero value is closed.
const (
	Closed Breaker = iota
	Degraded
	HalfOpen
	Open
)

// Hold is why a target cannot be used at the moment (sheet §2.2).
type Hold string

// The holds. The first four end by themselves.
const (
	NotHeld            Hold = ""
	CircuitOpen        Hold = "circuit_open"
	ProviderCooldown   Hold = "provider_cooldown"
	ConnectionCooldown Hold = "connection_cooldown"
	ModelLockout       Hold = "model_lockout"
	FreeTierDrained    Hold = "free_tier_drained"
	Unavailable        Hold = "unavailable"
	Exhausted          Hold = "exhausted"
	QuotaCutoff        Hold = "quota_cutoff"
	ContextRequired    Hold = "context_requirements"
)

// Temporary reports that a timer ends the hold (sheet §2.9).
func (h Hold) Temporary() bool {
	switch h {
	case CircuitOpen, ProviderCooldown, ConnectionCooldown, ModelLockout:
		return true
	default:
		return false
	}
}

// Live is what is known of a target at the moment of the request. The zero
// value means that nothing is known and nothing is wrong.
type Live struct {
	Breaker Breaker
	Hold    Hold
	Until   time.Time // end of the hold, zero when no timer ends it
	Cutoff  bool      // below the quota cutoff

	Usage   Usage
	Quota   Quota
	Facts   Facts
	Account AccountFacts

	InFlight      int     // requests under way on the connection
	MaxConcurrent float64 // cap of the connection; not positive: none
	// CacheAffinity and Quality are factors from outside, 0 to 1; nil when unknown.
	CacheAffinity, Quality *float64
	// Session is the session's tie to the connection.
	Session SessionTie
}

// SessionTie says which connection served the session before.
type SessionTie uint8

// The ties.
const (
	NoTie        SessionTie = iota // no session, or its first request
	SameAccount                    // this connection
	OtherAccount                   // another one
)

// AccountFacts is what the auto engine weighs of an account.
type AccountFacts struct {
	Tier      string    // ultra, pro, standard, free; empty: unknown
	ResetAt   time.Time // when its plan renews, zero: unknown
	BadStatus bool      // unhealthy, though not held
	SoftQuota bool      // to be spared, though not cut off
	Paid402   bool      // answered 402 just now
}

// Usable reports that nothing holds the target back.
func (t *Target) Usable() bool { return t.Live.Hold == NotHeld && t.Live.Breaker != Open }

// Input is everything a strategy may look at.
type Input struct {
	Combo   string // the combo's name
	ComboID string
	Targets []*Target
	Config  *Config
	State   State
	Now     time.Time
	Rand    Rand

	CacheKey string // the prompt cache key or a hash of the stable prefix, empty: none
	Session  string // the session's key, empty: none
	Hints    Hints  // what the auto engine is told of the request

	// Refusal is set by a strategy that turns the request down.
	Refusal *Refusal
	// Reserved is the connection a slot was taken on; Result gives it back.
	Reserved string
}

// Result is the end of a request, for the strategies that learn from it.
type Result struct {
	Entry    *Entry
	Combo    string
	ComboID  string
	Declared []*Target // as the strategy saw them
	Order    []*Target // as they were tried
	Config   *Config
	State    State
	Now      time.Time

	Served *Target   // the target that answered, nil: none
	Failed []*Target // those that failed, in order
	// Connection is the one that answered when Served names none.
	Connection string
	Reserved   string
	Relay      *Relay // context-relay only
}

// connection returns the connection that served the request.
func (r *Result) connection() string {
	if r.Served != nil && r.Served.Connection != "" {
		return r.Served.Connection
	}
	return r.Connection
}

// indexOf returns the place of an execution key, or -1.
func indexOf(list []*Target, key string) int {
	for i := range list {
		if list[i].Key == key {
			return i
		}
	}
	return -1
}

// pick returns a random index below n.
func pick(rand Rand, n int) int { return min(int(rand()*float64(n)), n-1) }

// shuffle is Fisher–Yates from the end.
func shuffle[T any](rand Rand, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := pick(rand, i+1)
		list[i], list[j] = list[j], list[i]
	}
}

// draw picks an index by weight: it walks the list subtracting each weight and
// takes the first that brings the draw to zero. Without any weight all are
// alike.
func draw(rand Rand, weights []float64) int {
	sum := 0.0
	for _, w := range weights {
		sum += max(w, 0)
	}
	if sum <= 0 {
		return pick(rand, len(weights))
	}
	r, last := rand()*sum, 0
	for i, w := range weights {
		if w <= 0 { // never drawn while another has weight
			continue
		}
		last = i
		if r -= w; r <= 0 {
			return i
		}
	}
	return last
}

// scored is a target's place in a ranking.
type scored struct {
	at    int
	score float64
}

// rank returns the targets by score, highest first; equal scores keep their
// declared order.
func rank(targets []*Target, score func(t *Target) float64) []scored {
	list := make([]scored, len(targets))
	for i := range targets {
		list[i] = scored{i, score(targets[i])}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return list
}

func take(targets []*Target, list []scored) []*Target {
	out := make([]*Target, len(list))
	for i, s := range list {
		out[i] = targets[s.at]
	}
	return out
}

// front returns the targets with the one at i first.
func front(targets []*Target, i int) []*Target {
	out := make([]*Target, 0, len(targets))
	out = append(out, targets[i])
	out = append(out, targets[:i]...)
	return append(out, targets[i+1:]...)
}

// rotate returns the targets from i on, then those before it.
func rotate(targets []*Target, i int) []*Target {
	out := make([]*Target, 0, len(targets))
	return append(append(out, targets[i:]...), targets[:i]...)
}
