package control

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"breakwater/resilience"
	"breakwater/resilience/combo"
	"breakwater/resilience/settings"
)

// Bounds of a drill.
const (
	MaxDrillRequests = 50
	MaxDrillSpacing  = time.Hour

	maxDrillRetryAfter = 86_400 // seconds
)

// DrillFault is what goes wrong at one connection's twin.
type DrillFault struct {
	ConnectionID string `json:"connectionId"`
	// Kind is rate_limit (429), overloaded (529), server_error (503), stall or
	// cut.
	Kind string `json:"kind"`
	// RetryAfterSeconds is sent with rate_limit; zero sends no header.
	RetryAfterSeconds int `json:"retryAfterSeconds,omitempty"`
	// From and To are the first and the last request that meet the fault,
	// counted from 1; a To of 0 is the last of the drill.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
}

// DrillKinds are the faults that a drill offers, in their order.
func DrillKinds() []string {
	return []string{"rate_limit", "overloaded", "server_error", "stall", "cut"}
}

// DrillRequest asks what the stack would do with a combo's requests while some
// of its connections fail.
type DrillRequest struct {
	Combo    string       `json:"combo"` // id
	Faults   []DrillFault `json:"faults"`
	Requests int          `json:"requests,omitempty"`  // 1 to 50; 0: 10
	Spacing  int64        `json:"spacingMs,omitempty"` // of the twin's time between two requests, up to an hour; 0: 5 s
}

// DrillReport is what the twin did. Its times are those of the twin's own
// clock, which begins now and runs ahead.
type DrillReport struct {
	StartedAt time.Time `json:"startedAt"`
	Model     string    `json:"model"` // what the requests asked for
	Dialect   string    `json:"dialect"`
	// Requests are in the order in which they were sent.
	Requests []DrillRound `json:"requests"`
	// Answered and Failed count them.
	Answered int `json:"answered"`
	Failed   int `json:"failed"`
	// Connections are those of the combo, as the drill left their twins.
	Connections []DrillConnection `json:"connections"`
}

// DrillRound is one request of a drill and what it moved.
type DrillRound struct {
	At time.Time `json:"at"`
	// Activity is what the twin's log says of it, its trace included.
	Activity Activity `json:"activity"`
	// Moves are the changes of state that came with it.
	Moves []DrillMove `json:"moves"`
}

// DrillMove is a change of a connection's, a breaker's or a model's state.
type DrillMove struct {
	What           string     `json:"what"` // connection, breaker or model
	Provider       string     `json:"provider,omitempty"`
	ConnectionID   string     `json:"connectionId,omitempty"`
	ConnectionName string     `json:"connectionName,omitempty"`
	Model          string     `json:"model,omitempty"`
	From           string     `json:"from"`
	To             string     `json:"to"`
	Until          *time.Time `json:"until,omitempty"`
}

// DrillConnection is a twin at the end of a drill.
type DrillConnection struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Provider string     `json:"provider"`
	State    State      `json:"state"`
	Until    *time.Time `json:"until,omitempty"`
	Served   int64      `json:"served"`
	Failed   int64      `json:"failed"`
}

// Twin is what a drill is made of: copies without a credential among them.
type Twin struct {
	Request     DrillRequest
	Model       string // the combo's name
	Combos      []ComboRecord
	Connections []ConnectionRecord // as stored, their states left out
	Targets     []string           // the connections that the combo may use, in their order
	// Setting reads a stored setting; nothing is written back.
	Setting func(ctx context.Context, key string) ([]byte, bool, error)
	Env     settings.Lookup
}

// Drill makes a twin of a combo, has the faults happen to it and reports what
// the stack did. Nothing of it reaches a provider, and nothing of the real
// state changes. An unknown combo is ErrNotFound, what is out of bounds an
// *InvalidError.
func (s *Service) Drill(ctx context.Context, in DrillRequest) (DrillReport, error) {
	x := s.combos.Load()
	i := x.find(in.Combo)
	if i < 0 {
		return DrillReport{}, noCombo(in.Combo)
	}
	if s.cfg.Drill == nil {
		return DrillReport{}, ErrNotFound
	}
	t := Twin{Model: x.records[i].Name, Combos: slices.Clone(x.records), Setting: s.cfg.Store.Setting, Env: s.cfg.Env}
	t.Combos[i].Active = new(true) // it may be tried before it is switched on
	t.Targets = s.comboConnections(&x.records[i].Combo)
	if err := in.check(t.Targets); err != nil {
		return DrillReport{}, err
	}
	t.Request = in
	for _, r := range s.Routes() {
		rec := r.Record
		rec.State = resilience.ConnectionState{ID: rec.ID}
		t.Connections = append(t.Connections, rec)
	}
	s.drilling.Lock()
	defer s.drilling.Unlock()
	return s.cfg.Drill(ctx, t)
}

// comboConnections are the connections that a combo's requests may use, in the
// order in which they would be tried now.
func (s *Service) comboConnections(c *combo.Combo) []string {
	var out []string
	take := func(t *combo.Target) {
		at, ok := t.Data.(*comboPlace)
		if !ok {
			return
		}
		for _, r := range at.routes {
			if !slices.Contains(out, r.Record.ID) {
				out = append(out, r.Record.ID)
			}
		}
	}
	s.ahead(c, false, take, func(r *combo.Refusal) {
		for _, e := range r.Excluded {
			take(e.Target)
		}
	})
	return out
}

// check fills in what was left out and finds what is out of bounds.
func (in *DrillRequest) check(targets []string) error {
	var bad problems
	if in.Requests = cmp.Or(in.Requests, 10); in.Requests < 1 || in.Requests > MaxDrillRequests {
		bad.add("requests", "1 to %d", MaxDrillRequests)
	}
	if in.Spacing = cmp.Or(in.Spacing, 5000); in.Spacing < 0 || in.Spacing > MaxDrillSpacing.Milliseconds() {
		bad.add("spacingMs", "0 to %d", MaxDrillSpacing.Milliseconds())
	}
	if len(in.Faults) > MaxDrillRequests {
		bad.add("faults", "at most %d", MaxDrillRequests)
	}
	for _, f := range in.Faults {
		switch {
		case !slices.Contains(targets, f.ConnectionID):
			bad.add("faults", "%q is no connection of the combo", f.ConnectionID)
		case !slices.Contains(DrillKinds(), f.Kind):
			bad.add("faults", "%q is none of %s", f.Kind, strings.Join(DrillKinds(), ", "))
		case f.RetryAfterSeconds < 0 || f.RetryAfterSeconds > maxDrillRetryAfter:
			bad.add("faults", "retryAfterSeconds: 0 to %d", maxDrillRetryAfter)
		case f.From < 0 || f.To < 0 || f.To > 0 && f.To < f.From:
			bad.add("faults", "from and to are requests of the drill, in this order")
		}
	}
	return bad.err()
}
