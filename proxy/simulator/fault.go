package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// The kinds of faults, the same words as control.Fault.
const (
	FaultNone        = "none"
	FaultRateLimit   = "rate_limit"   // 429
	FaultOverloaded  = "overloaded"   // 529
	FaultServerError = "server_error" // 503
	FaultAuth        = "auth"         // 401
	FaultNoCredit    = "no_credit"    // what each vendor says when the money is gone
	FaultReset       = "reset"        // TCP reset before any header
	FaultStall       = "stall"        // silence before the first output
	FaultEmpty       = "empty"        // 200 without a body
	FaultErrorEvent  = "error_event"  // error event before the first output
	FaultCut         = "cut"          // the stream breaks after some output
	FaultSlow        = "slow"         // a late and trickling answer
)

// FaultKinds lists the kinds of faults in the order in which they are offered.
var FaultKinds = []string{
	FaultNone, FaultRateLimit, FaultOverloaded, FaultServerError, FaultAuth, FaultNoCredit,
	FaultReset, FaultStall, FaultEmpty, FaultErrorEvent, FaultCut, FaultSlow,
}

// Fault is what goes wrong with an account, as the demo's panel sets it.
type Fault struct {
	Kind string `json:"kind"` // empty is none
	// RetryAfterSeconds is sent with rate_limit; zero sends no header.
	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`
	// Count is how many inference requests it hits; zero means until it is
	// changed.
	Count int `json:"count,omitempty"`
}

// Validate reports an unknown kind or a negative figure.
func (f Fault) Validate() error {
	if f.Kind != "" && !slices.Contains(FaultKinds, f.Kind) {
		return fmt.Errorf("unknown fault %q, known are %v", f.Kind, FaultKinds)
	}
	if f.Count < 0 || f.RetryAfterSeconds < 0 {
		return fmt.Errorf("the figures of a fault are not negative")
	}
	return nil
}

// hits reports whether the fault concerns a route. A provider that is away or
// refuses the key does so for everything, other faults are those of a turn.
func (f Fault) hits(route Route) bool {
	switch f.Kind {
	case FaultAuth, FaultServerError, FaultReset, FaultStall, FaultEmpty:
		return true
	}
	return route == RouteInference
}

// The figures of the slow and the cut answer.
const (
	slowStart  = 1500 * time.Millisecond
	slowPace   = 700 * time.Millisecond
	cutAfter   = 3 // deltas
	noCreditAn = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
	noCreditOA = "You exceeded your current quota, please check your plan and billing details."
)

// step is how the fault answers q.
func (f Fault) step(q *request) Step {
	switch f.Kind {
	case FaultRateLimit:
		s := Status(http.StatusTooManyRequests)
		if f.RetryAfterSeconds > 0 {
			s = s.WithRetryAfter(time.Duration(f.RetryAfterSeconds) * time.Second)
		}
		return s
	case FaultOverloaded:
		return Status(529)
	case FaultServerError:
		return Status(http.StatusServiceUnavailable)
	case FaultAuth:
		return Status(http.StatusUnauthorized)
	case FaultNoCredit:
		return q.voice().noCredit()
	case FaultReset:
		return Reset()
	case FaultStall:
		return Auto().StallAfter(AfterPreamble, Forever)
	case FaultEmpty:
		return Empty()
	case FaultErrorEvent:
		return Auto().ErrorAfter(AfterPreamble, Error{})
	case FaultCut:
		return OK().CutAfter(cutAfter)
	}
	return Auto().Delayed(slowStart).Paced(slowPace)
}
