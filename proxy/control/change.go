package control

import (
	"time"

	"breakwater/resilience"
	"breakwater/resilience/lease"
)

// Events that tell what has just changed; the snapshot that follows shows how
// things stand. Each carries a Change.
const (
	EventBreaker  EventType = "breaker"  // Provider; From and To are its states
	EventCooldown EventType = "cooldown" // To is cooling, a terminal state, needs_attention, or active again
	EventLockout  EventType = "lockout"  // Model; To is locked or free
	EventLane     EventType = "lane"     // a Claude connection; To is on or off
	EventLease    EventType = "lease"    // To is the lease's state
	EventSettings EventType = "settings" // To names what was changed
)

// Change is one change of state. It holds names, states and times, never what
// an upstream wrote or an owner is called.
type Change struct {
	At             time.Time  `json:"at"`
	Provider       string     `json:"provider,omitempty"`
	ConnectionID   string     `json:"connectionId,omitempty"`
	ConnectionName string     `json:"connectionName,omitempty"`
	Model          string     `json:"model,omitempty"`
	From           string     `json:"from,omitempty"`
	To             string     `json:"to"`
	Until          *time.Time `json:"until,omitempty"`
	Reason         string     `json:"reason,omitempty"`
	Generation     int64      `json:"generation,omitempty"` // of a lease
	Revision       int64      `json:"revision,omitempty"`   // of the settings
}

// Announce publishes a change. The name of the connection is filled in.
func (s *Service) Announce(kind EventType, c Change) {
	if s.hub.empty() {
		return
	}
	c.At = time.Now().Round(0)
	if r, ok := s.Route(c.ConnectionID); ok {
		c.ConnectionName = r.Record.Name
	}
	s.hub.publish(Event{Type: kind, Change: &c})
}

// tell publishes what the engine reports.
func (s *Service) tell(c resilience.Change) {
	out := Change{Provider: c.Provider, ConnectionID: c.Connection, From: c.From, To: c.To, Until: s.Real(c.Until), Reason: c.Reason}
	switch c.Kind {
	case resilience.ChangeBreaker:
		s.Announce(EventBreaker, out)
	case resilience.ChangeCooldown:
		out.To = string(StateCooling)
		s.Announce(EventCooldown, out)
	case resilience.ChangeTerminal, resilience.ChangeAttention:
		s.Announce(EventCooldown, out)
	case resilience.ChangeCleared:
		out.To = "active"
		s.Announce(EventCooldown, out)
	case resilience.ChangeLockout:
		out.Model, out.To = c.To, "locked"
		if c.Until.IsZero() {
			out.To = "free"
		}
		s.Announce(EventLockout, out)
	}
}

// tellLease publishes what became of a lease. The owner's digest stays out of
// it.
func (s *Service) tellLease(l lease.Lease) {
	s.Announce(EventLease, Change{
		Provider: l.Provider, ConnectionID: l.ConnectionID, To: string(l.State), Generation: l.Generation,
		Until: s.Real(l.ExpiresAt), Reason: string(l.EndReason),
	})
}
