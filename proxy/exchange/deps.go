package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/history"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/affinity"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
	"breakwater/resilience/slow"
)

// Exchanger brings requests to their answers. Its fields are what it needs of
// the product around it; none is nil.
type Exchanger struct {
	Attempts    Attempts
	Engine      *resilience.Engine
	Connections Connections
	Combos      Combos
	Admission   Admission
	Sessions    Sessions
	Settings    Settings
	Records     Records
	Egress      Egress
	Slow        *slow.Table
	History     *history.Memory
	Meter       Meter
	Clock       Clock
	Limits      Limits
	Log         *slog.Logger

	passthrough passthroughLimits
	opinions    opinions
}

// Attempts asks one target for one request; attempt.Caller does.
type Attempts interface {
	Do(ctx context.Context, req *attempt.Request, to attempt.Target, client attempt.Client, watch attempt.Observer) attempt.Result
}

// Connections are the connections that could serve requests.
type Connections interface {
	// Choose returns those that offer a model, in routing order, and those that
	// were passed over.
	Choose(q control.Ask) ([]control.Choice, []control.Passed)
	// ComboChoices does the same for a combo's target.
	ComboChoices(t *combo.Target, q control.Ask) ([]control.Choice, []control.Passed)
	Route(id string) (*control.Route, bool)
	Routes() []*control.Route
	// Leads reports whether a target leads to any connection.
	Leads(t *combo.Target) bool
	// QuotaCutoff reports whether too little quota is left, and until when.
	QuotaCutoff(r *control.Route, model string) (until time.Time, blocked bool)
	// Headroom is how much quota is left, in percent, if that is known.
	Headroom(id, model string) (float64, bool)
	// Admits returns the test whether the client brought the login that a
	// passthrough connection forwards.
	Admits(h http.Header) func(*control.Route) bool
	// InLane reports whether Claude's low-priority lane is active on a connection.
	InLane(id string) bool
	// Unserved tells that other owners hold what could serve a request under a
	// lease; nil when that is not why.
	Unserved(ctx context.Context, h *control.Hold, p resilience.Plan, passed []control.Passed, model string) *control.LeaseError
	// RefreshPause is when a login whose refresh failed is refreshed again.
	RefreshPause(r *control.Route) time.Duration
}

// Combos are the combos and what their strategies remember.
type Combos interface {
	Combo(name string) (*combo.Combo, bool)
	Planner() *combo.Planner
	Latency() *combo.Latency
}

// Admission is what a request passes, and may wait for, before it is sent.
type Admission interface {
	Gates() *admission.Gates
	Queues() *admission.Queues
	Caps(r *control.Route) admission.Caps
}

// Sessions tie requests to connections.
type Sessions interface {
	Affinity() *affinity.Table
	AffinityTTL() time.Duration
	Occupancy() *affinity.Occupancy
}

// Settings are the resilience settings in force; they must not be changed.
type Settings interface{ InForce() *settings.Settings }

// Records store what happened.
type Records interface {
	// Finished books a request.
	Finished(row control.Activity)
	Warn(a control.Alert)
	MarkUse()
	// SeeAnswer learns the quota windows from an answer's headers.
	SeeAnswer(r *control.Route, header map[string][]string)
}

// Egress knows by which address connections leave this machine.
type Egress interface {
	// Look finds it out, unless it is known; it does not wait.
	Look(r *control.Route)
	// Known returns the address, empty while it is not known.
	Known(r *control.Route) string
}

// Meter counts for the metrics.
type Meter interface {
	Request(dialect, result string, firstToken time.Duration)
	Attempt(provider string, class outcome.Class)
	Stream() (end func())
}

// Clock is the core's time.
type Clock interface {
	Now() time.Time
	// Real converts it to real time; nil for the zero time.
	Real(t time.Time) *time.Time
}
