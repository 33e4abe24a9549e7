package resilience

import "breakwater/resilience/classify"

// maxReopened is how often one target is asked again at most.
const maxReopened = 4

// Break is how a call ended that brought no whole answer.
type Break struct {
	Kind classify.TransportKind
	// Overdue tells that one of our deadlines ended it.
	Overdue bool
	// Final tells that the client left, or that the certificate is not trusted.
	Final bool
	// Connection tells that the transport failed: refused, reset, cut, an unknown
	// host; not an error of unknown origin.
	Connection bool
}

// Reopenable reports whether another call to the same target may succeed
// (stream sheet §6.6): after broken connections, not after the unknown.
func (b Break) Reopenable() bool {
	if b.Overdue {
		return b.Kind == classify.Stalled
	}
	return !b.Final && b.Connection
}

// Reopening is what an attempt has used of its further calls to one target.
type Reopening struct {
	Enabled bool // stream recovery is switched on
	Probe   bool // the request never asks twice
	Made    int
	// Woken tells that the one call after a sleep of the machine was made.
	Woken bool
}

// Left reports whether the same target may be asked again at all.
func (r *Reopening) Left() bool { return r.Enabled && r.Made < maxReopened && !r.Probe }

// afterSleep reports whether the same target is asked again because the machine
// slept during the call; it does so once.
func (r *Reopening) afterSleep(slept bool) bool {
	if !slept || r.Woken || r.Probe {
		return false
	}
	r.Woken = true
	return true
}

// Asks reports whether the same target is asked again after a broken call:
// where recovery is switched on, and once after a sleep of the machine.
func (r *Reopening) Asks(b Break, slept bool) bool {
	return r.afterSleep(slept) || r.Left() && b.Reopenable()
}
