package claude

import (
	"slices"
	"sync"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/hint"
)

// The pace of the usage endpoint, which is throttled per account (Claude sheet
// §3.7).
const (
	pollInterval   = 180 * time.Second
	maxPollPenalty = 15 * time.Minute
)

// Usages keeps the windows of all keys, in memory only. It is safe for
// concurrent use.
type Usages struct {
	mu    sync.Mutex
	known bounded[usageMemory]
}

type usageMemory struct {
	usage Usage
	next  deadline // no call of the endpoint before
}

// NewUsages returns an empty record.
func NewUsages() *Usages { return &Usages{} }

// Observe takes the windows out of an answer's headers. Answers without any
// change nothing.
func (s *Usages) Observe(now time.Time, k Key, header map[string][]string) {
	h := readUnified(header)
	u := fromHeaders(clock.Wall(now), &h)
	if !u.any() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.ensure(k).usage.merge(now, u, FromHeaders)
}

// Due reports whether the usage endpoint may be asked, and if so takes the
// turn: nobody else may for a while. Take reports the reply.
func (s *Usages) Due(now time.Time, k Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.known.ensure(k)
	if m.next.holds(now) {
		return false
	}
	m.next = lasting(now, pollInterval)
	return true
}

// Take keeps what the usage endpoint answered. A refusal puts the next call off
// for as long as it says, within bounds.
func (s *Usages) Take(now time.Time, k Key, r Reply) {
	u, ok := Usage{}, false
	if r.good() {
		u, ok = ParseUsage(clock.Wall(now), r.Body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.known.ensure(k)
	if ok {
		m.usage.merge(now, u, FromEndpoint)
		m.usage.Extra = u.Extra
	}
	if !r.Failed && r.Status == statusLimited {
		asked := hint.Parse(hint.Input{Status: r.Status, Header: r.Header, Now: now, Ceiling: maxPollPenalty}).Wait
		m.next = lasting(now, max(pollInterval, asked))
	}
}

// Of returns what is known of a key.
func (s *Usages) Of(k Key) (u Usage, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.known.get(k)
	if m == nil || !m.usage.any() {
		return Usage{}, false
	}
	u = m.usage
	u.Models = slices.Clone(u.Models)
	return u, true
}

// Newest returns the windows of the connection's key that was heard of last;
// for views, where a passthrough connection is one thing.
func (s *Usages) Newest(connection string) (u Usage, known bool) {
	s.mu.Lock()
	keys := s.known.of(connection)
	s.mu.Unlock()
	for _, k := range keys {
		if c, ok := s.Of(k); ok && (!known || c.at().After(u.at())) {
			u, known = c, true
		}
	}
	return u, known
}

// Forget drops everything about a connection.
func (s *Usages) Forget(connection string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known.forget(connection)
}

// at is when any window was read last.
func (u *Usage) at() time.Time {
	at := u.Session.At
	for _, w := range append([]Window{u.Weekly}, u.Models...) {
		if w.At.After(at) {
			at = w.At
		}
	}
	return at
}

// merge takes over what a source says now.
func (u *Usage) merge(now time.Time, n Usage, from Source) {
	u.Session.take(now, n.Session)
	u.Weekly.take(now, n.Weekly)
	if len(n.Models) == 0 && from == FromHeaders {
		return
	}
	// The endpoint lists all windows of single models, headers the one they
	// know; either replaces its own.
	kept := slices.DeleteFunc(slices.Clone(u.Models), func(w Window) bool { return w.Source == from })
	u.Models = append(kept, n.Models...)
}

// take replaces the window. Headers came with real traffic, so the endpoint
// does not replace them while they are fresh.
func (w *Window) take(now time.Time, n Window) {
	age := now.Sub(w.At)
	fresh := w.Source == FromHeaders && age >= 0 && age < pollInterval
	if n.Known() && (n.Source == FromHeaders || !fresh) {
		*w = n
	}
}
