package control

import (
	"sync"
	"time"
)

// LiftEvent is what may end remembered waits (ruling 66).
type LiftEvent string

// The events.
const (
	// WaitsCleared is a user's clear of a connection: it lifts everything but a
	// terminal state.
	WaitsCleared LiftEvent = "cleared"
	// KeyChanged is another credential: it lifts everything.
	KeyChanged LiftEvent = "key_changed"
	// ListRead is a good test that read the list of models: it proves key,
	// transport and breaker. TokenGenerated is one that had the model generate a
	// token, which also disproves that model's lockout and waits for a rate that
	// nobody stated.
	ListRead       LiftEvent = "list_read"
	TokenGenerated LiftEvent = "token_generated"
	// BreakersReset closes breakers, and lifts lockouts and pauses of queues, but
	// no cooldown (ruling 31).
	BreakersReset LiftEvent = "breakers_reset"
	// ModelsUnlocked lifts the lockouts of models, and the pauses of queues that
	// stand for those models alone.
	ModelsUnlocked LiftEvent = "models_unlocked"
	// UsageProved tells that the provider's own figures show quota left.
	UsageProved LiftEvent = "usage_proved"
	// CoolingOff is the user's switch by which a connection never cools.
	CoolingOff LiftEvent = "cooling_off"
	// AddressChanged is another base URL: what was found at the old one says nothing.
	AddressChanged LiftEvent = "address_changed"
	// ConnectionGone forgets a connection that was removed.
	ConnectionGone LiftEvent = "connection_gone"
)

// Lifting is one event and the connections that it happens to.
type Lifting struct {
	Event  LiftEvent
	Routes []*Route
	// Model is the one that generated a token or was unlocked; empty with
	// ModelsUnlocked is all.
	Model string
	// Breakers are the names of those that are reset, nil for all.
	Breakers []string
	// Lifted counts the breakers that were reset or the models that were unlocked.
	Lifted int
}

// WaitMemory is a place that remembers waits of connections. Whatever ends
// waits, and whatever shows them, walks all of these.
type WaitMemory interface {
	// Lift ends what the event ends.
	Lift(l *Lifting)
	// Show adds to a connection's view what holds it back.
	Show(r *Route, c *Connection)
}

// Wait is something that keeps requests from a connection, beside its cooldown
// and its locked models.
type Wait struct {
	Kind  WaitKind   `json:"kind"`
	Model string     `json:"model,omitempty"` // what it holds for; empty: the whole connection
	Until *time.Time `json:"until,omitempty"` // nil: no time ends it
	// SpacingMs is the learned time between two requests, Limit how many a minute
	// the provider has named.
	SpacingMs int64 `json:"spacingMs,omitempty"`
	Limit     int64 `json:"limit,omitempty"`
}

// WaitKind is what a wait is.
type WaitKind string

// The kinds.
const (
	WaitQueuePause     WaitKind = "queue_pause"     // a refusal named a time
	WaitAllowance      WaitKind = "allowance"       // the provider says that nothing is left for now
	WaitLearnedLimit   WaitKind = "learned_limit"   // requests are spaced as the provider taught
	WaitQuotaWindow    WaitKind = "quota_window"    // it is used up
	WaitProviderWindow WaitKind = "provider_window" // opt-in, guide §1
)

// Holds reports whether nothing is sent before the wait is over.
func (k WaitKind) Holds() bool { return k != WaitLearnedLimit }

// waitPlaces are the places that remember waits.
type waitPlaces struct {
	mu  sync.RWMutex
	all []WaitMemory
}

// Remember adds a place that remembers waits.
func (s *Service) Remember(m WaitMemory) {
	s.waits.mu.Lock()
	defer s.waits.mu.Unlock()
	s.waits.all = append(s.waits.all, m)
}

// rememberOwn adds the places that the service keeps. The engine is the first:
// whoever waits in a queue looks at its state when it is let go.
func (s *Service) rememberOwn() {
	s.waits.all = []WaitMemory{engineWaits{s}, queueWaits{s}, quotaWaits{s}, claudeWaits{s}, refreshWaits{s}, slowWaits{s}}
}

func (p *waitPlaces) list() []WaitMemory {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.all
}

// lift has every place end what the event ends, and returns how many breakers
// or models that were.
func (s *Service) lift(l Lifting) int {
	for _, m := range s.waits.list() {
		m.Lift(&l)
	}
	s.markState()
	return l.Lifted
}

// liftOf is lift for one connection.
func (s *Service) liftOf(event LiftEvent, r *Route) {
	s.lift(Lifting{Event: event, Routes: []*Route{r}})
}

// proved takes a good connection test; model generated a token, or is empty
// where only the list of models was read.
func (s *Service) proved(r *Route, model string) {
	l := Lifting{Event: ListRead, Routes: []*Route{r}, Model: model}
	if model != "" {
		l.Event = TokenGenerated
	}
	s.lift(l)
}
