package control

import (
	"strings"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/resilience"
)

// Pace of the snapshots: a change of state is published at once, together with
// what follows within settle, but not within statePause of the last; counters
// at most once in usePause.
const (
	settle     = 50 * time.Millisecond
	statePause = 200 * time.Millisecond
	usePause   = time.Second
)

// publish sends a snapshot after every change, and again when a state ends by
// itself. It has no timer running while nothing changes and nothing is due.
func (s *Service) publish() {
	var due *time.Timer
	var dueC <-chan time.Time
	var last time.Time
	for {
		state, news := true, true
		select {
		case <-s.stop:
		case <-s.stateDirty:
		case <-s.listened:
			state, news = false, false // its own first snapshot tells as much
		case <-dueC:
		case <-s.useDirty:
			state = s.pause(max(settle, usePause-time.Since(last)), s.stateDirty)
		}
		if state {
			s.pause(max(settle, statePause-time.Since(last)), nil)
		}
		if due != nil {
			due.Stop()
			due, dueC = nil, nil
		}
		if s.stopped() {
			return
		}
		if s.hub.empty() {
			continue
		}
		snap := s.snapshot()
		if news {
			last = time.Now()
			s.hub.publish(Event{Type: EventSnapshot, Snapshot: &snap})
		}
		if at := earliest(snap); !at.IsZero() {
			due = time.NewTimer(max(time.Until(at)+settle, settle))
			dueC = due.C
		}
	}
}

// pause waits for d; it reports true when something ended it early.
func (s *Service) pause(d time.Duration, urgent <-chan struct{}) (early bool) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return false
	case <-urgent:
	case <-s.stop:
	}
	return true
}

// earliest returns the first moment at which a state in the snapshot ends.
func earliest(s Snapshot) time.Time {
	var first time.Time
	look := func(t *time.Time) {
		if t != nil && t.After(s.At) && (first.IsZero() || t.Before(first)) {
			first = *t
		}
	}
	look(s.PausedUntil)
	for _, c := range s.Connections {
		look(c.Until)
		look(c.LeasedUntil)
		if c.LoginRefresh != nil {
			look(c.LoginRefresh.Until)
		}
		if c.Lane != nil {
			look(c.Lane.Until)
		}
	}
	for _, b := range s.Breakers {
		look(b.Until)
	}
	return first
}

// changed is told by the engine of every change of state, in order.
func (s *Service) changed(c resilience.Change) {
	s.markState()
	if c.Kind == resilience.ChangeTerminal || c.Kind == resilience.ChangeCleared {
		mark(s.loginsDirty)
	}
	s.tell(c)
	a := Alert{Provider: c.Provider, ProviderName: s.providerName(c.Provider), Until: s.Real(c.Until)}
	switch c.Kind {
	case resilience.ChangeBreaker:
		switch {
		case c.To == "OPEN":
			a.Kind = AlertBreakerOpen
		case c.To == "CLOSED" && (c.From == "OPEN" || c.From == "HALF_OPEN"):
			a.Kind = AlertBreakerClosed
		default:
			return
		}
	case resilience.ChangeTerminal, resilience.ChangeAttention:
		a.Kind, a.State, a.ConnectionID = AlertTerminal, State(c.To), c.Connection
		if r, ok := s.Route(c.Connection); ok {
			a.ConnectionName = r.Record.Name
		}
		if a.State == StateBanned && s.Config().AutoDisableBanned {
			s.banned.add(c.Connection)
		}
	default:
		return
	}
	s.Warn(a)
}

// providerName is the name for people of a breaker's provider.
func (s *Service) providerName(breaker string) string {
	if p, ok := catalog.Lookup(breaker); ok {
		return p.Name
	}
	return strings.TrimPrefix(breaker, customPrefix) // the host of a custom connection
}
