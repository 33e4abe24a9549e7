package proxy

import (
	"net/http"
	"time"

	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/hint"
	"breakwater/resilience/outcome"
)

// heard takes in the head of an answer: the time it took, and what a good one
// says about the provider's limits. A bad one is learned from in full.
func (t *attempt) heard(res *http.Response) {
	t.ttfb = time.Since(t.began)
	svc := t.x.s.svc
	svc.SeeAnswer(t.route, res.Header)
	if res.StatusCode < 300 && svc.Queues().Protected(t.route.Record.ID) {
		svc.Queues().Learn(t.x.call(t.leg), admission.Answer{Status: res.StatusCode, Header: res.Header, Now: svc.Now()})
	}
}

// begins lifts the limits on the time until the answer begins: the client is
// about to see it.
func (t *attempt) begins() {
	t.until = limit{}
	t.watch.lift()
	if t.leg.begun != nil {
		t.leg.begun()
	}
}

// report tells the engine, the connection's queue and the figures how the
// attempt failed. The engine comes first: whoever the queue turns away looks at
// what it decided (P12). A long wait that the provider states for one model
// locks that model and leaves the queue alone (guide §5).
func (t *attempt) report(o outcome.Outcome, header http.Header, body []byte) (resilience.Effect, outcome.Outcome) {
	queues, id := t.x.s.svc.Queues(), t.route.Record.ID
	said := admission.Answer{Status: o.Status, Header: header, Body: body, Now: t.x.s.svc.Now()}
	if o.RestatedFrom > 0 {
		said.Status = o.RestatedFrom
	}
	learns := header != nil && !t.x.rt.probe && queues.Protected(id)
	if learns && o.Class == outcome.Failure {
		if lock := queues.Locks(t.x.call(t.leg), said); lock > 0 {
			o.Scope, o.Cooldown, o.UsedHint, o.HintSource = outcome.ScopeModel, lock, true, hint.SourceRetryInfo
		}
	}
	effect := t.permit.Report(o)
	t.counted(o)
	if learns {
		queues.Learn(t.x.call(t.leg), said)
	}
	if effect.Cooldown > 0 {
		queues.TurnAway(id, effect.Cooldown)
	}
	return effect, o
}

// counted feeds the figures that later choices are made by: the latency signal
// (guide §2) and what the combo knows of its targets.
func (t *attempt) counted(o outcome.Outcome) {
	t.x.s.meter.Attempt(t.route.Provider.ID, o.Class)
	if o.Class == outcome.Failure {
		t.route.Use.Failed.Add(1)
	}
	if o.Class == outcome.Neutral || t.x.rt.probe {
		return
	}
	svc, ok := t.x.s.svc, o.Class == outcome.Success
	svc.Latency().Record(svc.Now(), t.route.Record.ID, t.model, t.ttfb, !ok)
	if w := t.x.combo; w != nil && t.leg.target != nil && w.config.TrackMetrics {
		combo.Count(w.planner.State, svc.Now(), w.combo.Name, t.leg.target.Key, t.ttfb, ok)
	}
}
