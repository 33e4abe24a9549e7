package attempt

import (
	"net/http"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience/outcome"
)

// End is how an attempt ended.
type End uint8

// The ways in which an attempt ends.
const (
	// Failed means that the client saw nothing of an answer: another target may
	// be tried. Outcome says whose fault it was.
	Failed End = iota
	// Answered means that the client has the whole answer.
	Answered
	// Broken means that the answer broke off after the client saw a part of it:
	// its connection must be cut.
	Broken
	// Left means that the client went away, which is no failure.
	Left
	// Refused means that a local rule kept the request from being sent: the
	// lease named by Fence, or a switch that the user turned meanwhile.
	Refused
)

// Result is all that an attempt leaves behind.
type Result struct {
	End End
	// Outcome is the judgement of a failure; for a probe it is neutral
	// (ruling 38).
	Outcome outcome.Outcome
	// Status is the answer's; Header and Body are a refusal's, without the
	// credential that was sent. Header is nil when no answer came.
	Status int
	Header http.Header
	Body   []byte
	// Code names a broken stream or a local limit in place of Outcome.Reason;
	// it is empty otherwise.
	Code string
	// Mended names what the answer needed before the client could use it
	// (rulings 59, 60), empty for most.
	Mended string
	// Repeats counts the calls that were made because a connection was lost
	// (ruling 67).
	Repeats int
	// Silent tells that a budget of ours ended a wait in which the target sent
	// nothing of use (ruling 69).
	Silent bool
	Usage  dialect.Usage
	// TTFB is the time until the headers of the last answer, 0 when none came.
	TTFB time.Duration
	// Repairs counts the calls that followed a refusal of reasoning that others
	// made, Removed the items of it that were left out of the last call.
	Repairs, Removed int
	// Took is how long the last call took.
	Took time.Duration
	// Fence is why the request's lease does not cover the target.
	Fence *control.LeaseError
	// Kept is the beginning of an answer that broke off before the client saw
	// it, nil for most.
	Kept Kept
}

// Kept is what an attempt had received before its answer broke off, at most
// 64 KiB.
type Kept interface {
	// Deliver hands the beginning of the answer to the client, when no other
	// target has more to offer (case 176). The client's connection must be cut
	// afterwards; it reports whether the client was still there.
	Deliver() bool
}

// Deliver implements Kept.
func (s *stream) Deliver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	return s.put(nil) && s.out(s.brokenEvent())
}

// Faulted is the result of an attempt that a fault of our own ended: no
// connection is to blame. committed tells that the client saw a part of the
// answer.
func Faulted(committed bool) Result {
	r := Result{End: Failed, Status: http.StatusBadGateway, Outcome: outcome.Outcome{
		Class: outcome.Neutral, Scope: outcome.ScopeLocal, Reason: outcome.ReasonLocalError, Status: http.StatusBadGateway, Fallback: true,
	}}
	if committed {
		r.End = Broken
	}
	return r
}
