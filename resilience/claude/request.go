package claude

import (
	"time"

	"breakwater/resilience/clock"
)

// Request follows one generation request on one connection through all its
// attempts there. It belongs to one goroutine.
type Request struct {
	lanes    *Lanes
	key      Key
	switches Switches
	operator uint64 // see Lanes.operator

	start  time.Time // when the call began
	budget time.Duration
	last   time.Time     // the last moment seen
	asked  time.Duration // the wait that was asked for then
	wait   window

	sent      bool // the present attempt carries the header
	fullSpeed bool // the next one must not: the limit was reset
	pending   bool // AskReset was said, the outcome is not in
	wasReset  bool // this request has had its reset
	wall      *unified
}

// window is the time this request has waited for a slot.
type window struct {
	term  uint64 // of the lane; 0: not waiting
	since time.Time
}

// Open begins a request. budget is the upstream start timeout of the call that
// began at start; 0 leaves waits to the lane's own bound.
func (s *Lanes) Open(k Key, sw Switches, start time.Time, budget time.Duration) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Request{lanes: s, key: k, switches: sw, operator: s.operator[k.Connection], start: start, last: start, budget: budget}
}

// Header is asked before each attempt, after all other headers are set. The
// header it names is added when send is true.
func (r *Request) Header(now time.Time) (name, value string, send bool) {
	r.steady(now)
	r.sent = false
	if r.fullSpeed {
		r.fullSpeed = false
		return "", "", false
	}
	if !r.switches.LowPriority {
		return "", "", false
	}
	r.lanes.mu.Lock()
	defer r.lanes.mu.Unlock()
	if r.lanes.live(now, r.key) == nil {
		return "", "", false
	}
	r.sent = true
	return LaneHeader, LaneValue, true
}

// Answer is told of every answer that the attempts get, and says what it means
// (sheet §1.6).
func (r *Request) Answer(now time.Time, code int, header map[string][]string) Decision {
	r.steady(now)
	r.lanes.mu.Lock()
	defer r.lanes.mu.Unlock()
	l := r.lane(now)
	if l == nil && code != statusLimited {
		return Decision{}
	}
	u := readUnified(header)
	if l != nil && r.sent {
		return r.inLane(now, l, code, &u)
	}
	if code != statusLimited || !u.atWall() {
		return Decision{}
	}
	return r.atWall(now, l, &u)
}

// AfterReset goes on where AskReset stopped, with whether the limit was reset.
func (r *Request) AfterReset(now time.Time, granted bool) Decision {
	if !r.pending {
		return Decision{}
	}
	r.pending = false
	if granted {
		r.fullSpeed = true
		return Decision{Action: Retry, Via: ViaReset}
	}
	r.steady(now)
	r.lanes.mu.Lock()
	defer r.lanes.mu.Unlock()
	return r.atWall(now, r.lane(now), r.wall)
}

// lane returns the active lane as far as this request has a part in it. The
// caller holds the lock.
func (r *Request) lane(now time.Time) *lane {
	if !r.switches.LowPriority {
		return nil
	}
	return r.lanes.live(now, r.key)
}

// atWall decides on a refusal at the wall that came without the header.
func (r *Request) atWall(now time.Time, l *lane, u *unified) Decision {
	again := Decision{Action: Retry, Via: ViaAccepted}
	if l != nil { // a sibling was faster
		return again
	}
	// Once a request: a reset that does not help would be asked for again at
	// the speed of the network.
	if r.switches.AutoReset && !r.wasReset && u.sessionWall() {
		r.wasReset, r.pending, r.wall = true, true, u
		return Decision{Action: AskReset}
	}
	if !r.switches.LowPriority || r.operator != r.lanes.operator[r.key.Connection] || !r.lanes.accept(now, r.key, u) {
		return Decision{}
	}
	return again
}

// inLane decides on the answer to an attempt that carried the header.
func (r *Request) inLane(now time.Time, l *lane, code int, u *unified) Decision {
	l.hints(u)
	slow := u.slow()
	switch {
	case code == statusLimited:
		return r.refused(now, l, u)
	case code == statusOverloaded && (slow == wordAbsent || slow == wordActive):
		return r.pause(now, l, ViaCapacity)
	case l.rolledOver(u):
		return r.lanes.stop(now, r.key, l, EndReset)
	case slow == wordActive:
		l.served++
		r.wait = window{}
	case slow == wordNotNeeded:
		l.standard++
		r.wait = window{}
	case u.overage():
		return r.lanes.stop(now, r.key, l, EndExtraUsage)
	}
	return Decision{}
}

// refused decides on a 429 in the lane.
func (r *Request) refused(now time.Time, l *lane, u *unified) Decision {
	slow := u.slow()
	if u.overage() { // paid overage covers the limit: before any other reason
		return r.lanes.stop(now, r.key, l, EndExtraUsage)
	}
	if reason, ok := endings[slow]; ok {
		if reason == EndBudget {
			l.spend(now, u)
		}
		return r.lanes.stop(now, r.key, l, reason)
	}
	switch {
	case slow == wordBusy:
		return r.pause(now, l, ViaBusy)
	case u[claim] != "" || u[overageStatus] != "":
		return r.lanes.stop(now, r.key, l, EndWall)
	}
	return Decision{} // a burst: the lane stays
}

// pause waits for a slot, or ends the lane when this request has waited as
// long as it may. There is one deadline, so that no time counts twice (ruling
// 21).
func (r *Request) pause(now time.Time, l *lane, via Via) Decision {
	if r.wait.term != l.term {
		r.wait = window{term: l.term, since: now}
	}
	by := r.wait.since.Add(l.maxWait)
	if r.budget > 0 {
		if limit := r.start.Add(r.budget - startMargin); limit.Before(by) {
			by = limit
		}
	}
	left := by.Sub(now)
	if left <= 0 {
		r.wait = window{}
		return r.lanes.stop(now, r.key, l, EndMaxWait)
	}
	r.asked = min(l.pause(r.lanes.random()), left)
	return Decision{Action: Retry, Delay: r.asked, Via: via}
}

// steady keeps the time that has passed when the clock is set back: at least
// the wait that was asked for.
func (r *Request) steady(now time.Time) {
	if back := now.Sub(r.last.Add(r.asked)); back < -clock.Slew {
		r.start, r.wait.since = r.start.Add(back), r.wait.since.Add(back)
	}
	r.last, r.asked = now, 0
}
