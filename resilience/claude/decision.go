package claude

import "time"

// Action is what to do with an answer.
type Action uint8

// The actions. After Nothing and End the answer goes its normal way, as if
// there were no lane. After Retry and AskReset it is dropped: it cools nothing,
// rotates nothing, and counts as no failure.
const (
	Nothing  Action = iota
	Retry           // the same connection again, after Delay
	AskReset        // drive the limit reset, then call Request.AfterReset
	End             // the lane has ended, for Reason
)

// Via is why an attempt is made again.
type Via string

// The reasons.
const (
	ViaNone     Via = ""
	ViaReset    Via = "limit-reset"
	ViaAccepted Via = "low-priority-accepted"
	ViaBusy     Via = "slot-busy"
	ViaCapacity Via = "capacity-busy"
)

// Decision is the answer to "what does this response mean for the lane".
type Decision struct {
	Action Action
	Delay  time.Duration // of Retry; 0: at once
	Via    Via           // of Retry
	Reason EndReason     // of End
}

// Intercepted reports that nobody else may see the answer.
func (d Decision) Intercepted() bool { return d.Action == Retry || d.Action == AskReset }
