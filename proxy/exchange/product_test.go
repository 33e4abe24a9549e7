package exchange

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/affinity"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// Choose implements Connections.
func (k *rig) Choose(q control.Ask) (choices []control.Choice, passed []control.Passed) {
	if k.planning != nil {
		k.planning()
	}
	model := q.Model
	provider := ""
	if before, after, ok := strings.Cut(model, "/"); ok {
		provider, model = before, after
	}
	for _, r := range k.routes {
		if provider == "" || r.Provider.ID == provider {
			choices = append(choices, control.Choice{Route: r, Model: model})
		}
	}
	return choices, k.passed
}

// ComboChoices implements Connections.
func (k *rig) ComboChoices(t *combo.Target, _ control.Ask) (choices []control.Choice, passed []control.Passed) {
	if k.planning != nil {
		k.planning()
	}
	for _, r := range k.routes {
		if r.Provider.ID == t.Provider && (t.Connection == "" || t.Connection == r.Record.ID) {
			choices = append(choices, control.Choice{Route: r, Model: t.ModelID()})
		}
	}
	return choices, k.passed
}

// Route implements Connections.
func (k *rig) Route(id string) (*control.Route, bool) {
	i := slices.IndexFunc(k.routes, func(r *control.Route) bool { return r.Record.ID == id })
	if i < 0 {
		return nil, false
	}
	return k.routes[i], true
}

// Routes implements Connections.
func (k *rig) Routes() []*control.Route { return k.routes }

// Leads implements Connections.
func (k *rig) Leads(t *combo.Target) bool { return len(k.Accounts(t.Provider)) > 0 }

// QuotaCutoff implements Connections.
func (k *rig) QuotaCutoff(r *control.Route, _ string) (time.Time, bool) {
	until, blocked := k.cutoff[r.Record.ID]
	return until, blocked
}

// Headroom implements Connections.
func (k *rig) Headroom(id, _ string) (float64, bool) {
	h, known := k.headroom[id]
	return h, known
}

// Admits implements Connections.
func (k *rig) Admits(http.Header) func(*control.Route) bool {
	return func(*control.Route) bool { return true }
}

// Unserved implements Connections.
func (k *rig) Unserved(context.Context, *control.Hold, resilience.Plan, []control.Passed, string) *control.LeaseError {
	return k.contends
}

// RefreshPause implements Connections.
func (k *rig) RefreshPause(*control.Route) time.Duration { return k.refresh }

// Combo implements Combos.
func (k *rig) Combo(name string) (*combo.Combo, bool) { c, ok := k.combos[name]; return c, ok }

// world is what the combos' names are looked up in.
type world struct{ *rig }

// Combo implements combo.World.
func (w world) Combo(name string) *combo.Combo { return w.combos[name] }

// Planner implements Combos.
func (k *rig) Planner() *combo.Planner { return &k.planner }

// Latency implements Combos.
func (k *rig) Latency() *combo.Latency { return k.latency }

// Gates implements Admission.
func (k *rig) Gates() *admission.Gates { return k.gates }

// Queues implements Admission.
func (k *rig) Queues() *admission.Queues { return k.queues }

// Caps implements Admission.
func (k *rig) Caps(*control.Route) admission.Caps { return k.caps }

// Affinity implements Sessions.
func (k *rig) Affinity() *affinity.Table { return k.table }

// AffinityTTL implements Sessions.
func (k *rig) AffinityTTL() time.Duration { return k.ttl }

// Occupancy implements Sessions.
func (k *rig) Occupancy() *affinity.Occupancy { return k.seats }

// InForce implements Settings.
func (k *rig) InForce() *settings.Settings { return &k.settings }

// Finished implements Records.
func (k *rig) Finished(row control.Activity) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows = append(k.rows, row)
}

// Warn implements Records.
func (k *rig) Warn(a control.Alert) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.alerts = append(k.alerts, a)
}

// MarkUse implements Records.
func (k *rig) MarkUse() {}

// SeeAnswer implements Records.
func (k *rig) SeeAnswer(*control.Route, map[string][]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.learned++
}

// Look implements Egress.
func (k *rig) Look(*control.Route) {}

// Known implements Egress.
func (k *rig) Known(r *control.Route) string { return "via " + r.Record.ID }

// Request implements Meter.
func (k *rig) Request(_, result string, _ time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.metered = append(k.metered, result)
}

// Attempt implements Meter.
func (k *rig) Attempt(string, outcome.Class) {}

// Stream implements Meter.
func (k *rig) Stream() (end func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.streams++
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.streams--
	}
}

// Now implements Clock.
func (k *rig) Now() time.Time { return time.Now() }

// Real implements Clock.
func (k *rig) Real(t time.Time) *time.Time { return control.RealTime(t) }

// Models implements combo.World.
func (k *rig) Models(string) []string { return nil }

// Accounts implements combo.World.
func (k *rig) Accounts(provider string) (list []combo.Account) {
	for _, r := range k.routes {
		if r.Provider.ID == provider {
			list = append(list, combo.Account{ID: r.Record.ID, Active: true})
		}
	}
	return list
}

// InLane implements Connections.
func (k *rig) InLane(string) bool { return false }
