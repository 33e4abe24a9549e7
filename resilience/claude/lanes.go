package claude

import (
	"sync"
	"time"
)

// LaneChange tells that a lane was entered or has ended.
type LaneChange struct {
	Key     Key
	At      time.Time
	Entered bool
	Until   time.Time // of a lane that was entered: reset and grace
	Reason  EndReason // of a lane that ended
}

// Lanes holds the lanes of all keys, in memory only: a restart costs one more
// refusal at the wall. It is safe for concurrent use.
type Lanes struct {
	random func() float64
	note   func(LaneChange)

	mu    sync.Mutex
	known bounded[lane]
	// operator counts, by connection, how often a person has ended the lane: a
	// request that was under way then must not enter it again.
	operator map[string]uint64
}

// NewLanes returns an empty set. random gives numbers from 0 to 1 for the
// jitter. note, which may be nil, hears of every change in order; both are
// called under the lock, so note must only queue.
func NewLanes(random func() float64, note func(LaneChange)) *Lanes {
	if note == nil {
		note = func(LaneChange) {}
	}
	return &Lanes{random: random, note: note, operator: map[string]uint64{}}
}

// live returns the key's lane if it is active. The caller holds s.mu.
func (s *Lanes) live(now time.Time, k Key) *lane {
	l := s.known.get(k)
	if l == nil {
		return nil
	}
	if l.expire(now) {
		s.note(LaneChange{Key: k, At: l.since, Reason: l.reason})
	}
	if !l.active {
		return nil
	}
	return l
}

// accept enters the lane if the activation test allows. The caller holds s.mu.
func (s *Lanes) accept(now time.Time, k Key, u *unified) bool {
	l := s.known.get(k)
	fresh := l == nil
	if fresh {
		l = &lane{}
	}
	if !l.accept(now, u) {
		return false
	}
	if fresh {
		s.known.add(k, l)
	}
	s.note(LaneChange{Key: k, At: l.since, Entered: true, Until: l.end.until})
	return true
}

// stop ends an active lane. The caller holds s.mu.
func (s *Lanes) stop(now time.Time, k Key, l *lane, reason EndReason) Decision {
	l.stop(now, reason)
	s.note(LaneChange{Key: k, At: l.since, Reason: reason})
	return Decision{Action: End, Reason: reason}
}

// End is a person's end of a connection's lanes: the switch was turned off, or
// "leave the lane" was chosen (ruling 22). Requests that wait for a slot go on
// without the header; they do not enter the lane again.
func (s *Lanes) End(now time.Time, connection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.operator[connection]++
	for _, k := range s.known.of(connection) {
		if l := s.live(now, k); l != nil {
			s.stop(now, k, l, EndOperator)
		}
	}
}

// Lift ends what keeps a connection's lanes from being entered: a spent budget
// and a wait that was too long. A lane that is active stays.
func (s *Lanes) Lift(connection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.known.of(connection) {
		l := s.known.get(k)
		l.budget, l.cooling = deadline{}, deadline{}
	}
}

// Forget drops everything about a connection that was removed.
func (s *Lanes) Forget(connection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.forget(connection)
	s.operator[connection]++ // its requests may still be under way
}
