package claude

import (
	"sync"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/hint"
)

// The figures of the limit reset (Claude sheet §2.4).
const (
	recentReset = 60 * time.Second
	errorMemo   = 15 * time.Minute
	weekMemo    = 7 * 24 * time.Hour
)

// ResetChange tells how an attempt at the limit reset ended.
type ResetChange struct {
	Key     Key
	At      time.Time
	Outcome Outcome
	Next    time.Time // when the next attempt may ask
}

// Resets remembers, for every key, when a limit reset may be asked for again.
// Memory only; it is safe for concurrent use.
type Resets struct {
	note func(ResetChange)

	mu    sync.Mutex
	known bounded[resetMemory]
}

type resetMemory struct {
	recent    deadline // a grant serves those who were refused beside it
	notBefore deadline
	outcome   Outcome
	at        time.Time
	tide      Tide // the last status, if one was read
	claim     ClaimAnswer
	// organization is what bootstrap answered.
	organization string
}

// NewResets returns an empty memory. note, which may be nil, hears of every
// attempt that asked the upstream; it is called under the lock, so it must
// only queue.
func NewResets(note func(ResetChange)) *Resets {
	if note == nil {
		note = func(ResetChange) {}
	}
	return &Resets{note: note}
}

// remembered answers from memory, without any call.
func (s *Resets) remembered(now time.Time, k Key) (Outcome, time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.known.get(k)
	switch {
	case m == nil:
		return "", time.Time{}, false
	case m.recent.holds(now):
		return OutcomeRecentReset, m.notBefore.ahead(now), true
	case m.notBefore.holds(now):
		return OutcomeMemoSkip, m.notBefore.until, true
	}
	return "", time.Time{}, false
}

// remember keeps the end of an attempt that asked, and returns when the next
// one may.
func (s *Resets) remember(now time.Time, c *Claim, o Outcome) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.known.ensure(c.key)
	m.outcome, m.at, m.tide, m.claim = o, clock.Wall(now), c.tide, c.claim
	next := c.claim.NextAvailableAt
	if o == OutcomeNotOffered {
		next = c.tide.NextAvailableAt
	}
	switch {
	case !o.weekly():
		m.notBefore = lasting(now, errorMemo)
	case next.After(now):
		m.notBefore = stated(now, next, hint.MaxStated)
	default: // a date too: a clock that steps to and fro must not wear it down
		m.notBefore = stated(now, now.Add(weekMemo), hint.MaxStated)
	}
	if o.Granted() {
		m.recent = lasting(now, recentReset+time.Millisecond) // the last millisecond counts
	}
	s.note(ResetChange{Key: c.key, At: m.at, Outcome: o, Next: m.notBefore.until})
	return m.notBefore.until
}

// learned returns the organisation that bootstrap named before.
func (s *Resets) learned(k Key) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.known.get(k); m != nil {
		return m.organization
	}
	return ""
}

func (s *Resets) learn(k Key, organization string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.ensure(k).organization = organization
}

// CheckAgain lets the next attempt of a connection ask whatever it was told
// before (ruling 19).
func (s *Resets) CheckAgain(connection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.known.of(connection) {
		s.known.get(k).notBefore = deadline{}
	}
}

// Forget drops everything about a connection: it was removed, or has other
// credentials.
func (s *Resets) Forget(connection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.forget(connection)
}

// ResetStatus is everything a view shows of one key's limit reset.
type ResetStatus struct {
	Key     Key
	Outcome Outcome   // of the last attempt that asked, empty: none did
	At      time.Time // of that attempt
	Next    time.Time // when the next attempt may ask, zero: now
	Tide    Tide      // the last status
	// ResetsLeft is what the last claim said, -1: nothing.
	ResetsLeft     int
	WeeklyResetsAt time.Time // zero: not said
}

// Status returns what is known of a connection's keys, the oldest first.
func (s *Resets) Status(now time.Time, connection string) []ResetStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ResetStatus
	for _, k := range s.known.of(connection) {
		m := s.known.get(k)
		st := ResetStatus{
			Key: k, Outcome: m.outcome, At: m.at, Next: m.notBefore.ahead(now), Tide: m.tide,
			ResetsLeft: m.claim.ResetsLeft, WeeklyResetsAt: m.claim.WeeklyResetsAt,
		}
		if st.WeeklyResetsAt.IsZero() {
			st.WeeklyResetsAt = m.tide.WeeklyResetsAt
		}
		list = append(list, st)
	}
	return list
}
