package combo

import (
	"time"

	"breakwater/resilience/exclusion"
)

// Spec is what is settled of a target when its combo is resolved. It is shared
// by all requests for the combo and never changed afterwards.
type Spec struct {
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

	Facts         Facts
	Tier          string  // of the account: ultra, pro, standard, free; empty: unknown
	MaxConcurrent float64 // cap of the connection; not positive: none
	Data          any     // the caller's own, see Planner.Fixed

	tally string // under which the combo counts it
}

// ModelID returns the model's name without the provider.
func (s *Spec) ModelID() string { return bare(s.Model) }

// Target is one place a request may be sent to: what is settled of it, and how
// it stands at the moment of the request.
type Target struct {
	*Spec
	Live Live
}

// unused is the Usage of a target that was never tried, or not looked up.
var unused Usage

// Usage returns what the combo has counted of the target. It is to be read only.
func (t *Target) Usage() *Usage {
	if t.Live.Usage == nil {
		return &unused
	}
	return t.Live.Usage
}

// Breaker is the state of a breaker as far as routing needs it.
type Breaker uint8

// The states; the zero value is closed.
const (
	Closed Breaker = iota
	Degraded
	HalfOpen
	Open
)

// Live is what is known of a target at the moment of the request. The zero
// value means that nothing is known and nothing is wrong.
type Live struct {
	Breaker             Breaker
	Cutoff              bool       // below the quota cutoff
	Session             SessionTie // the session's tie to the connection
	Last                bool       // needs attention: asked after all others (ruling 62)
	exclusion.Exclusion            // why the target cannot be used at the moment

	Usage   *Usage // shared and never changed; nil: see Target.Usage
	Quota   *Quota // shared and never changed; nil: nothing is known
	Account AccountFacts

	InFlight int // requests under way on the connection
	// CacheAffinity and Quality are factors from outside, 0 to 1; nil when unknown.
	CacheAffinity, Quality *float64
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
	ResetAt   time.Time // when its plan renews, zero: unknown
	BadStatus bool      // unhealthy, though not held
	SoftQuota bool      // to be spared, though not cut off
	Paid402   bool      // answered 402 just now
}

// Usable reports that nothing holds the target back.
func (t *Target) Usable() bool { return !t.Live.Excludes() && t.Live.Breaker != Open }
