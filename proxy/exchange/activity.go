package exchange

import (
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience"
)

// step adds a line to the decision trace; the connection is nil for a line about
// the request as a whole.
func (r *run) step(s control.Step, route *control.Route) {
	s.OffsetMs = time.Since(r.req.Began).Milliseconds()
	if route != nil {
		s.ConnectionID, s.ConnectionName, s.Provider = route.Record.ID, route.Record.Name, route.Provider.ID
	}
	r.trace = append(r.trace, s)
}

// skip adds the line of a candidate that is not asked now.
func (r *run) skip(route *control.Route, e resilience.Exclusion) {
	r.step(control.Step{
		Kind: control.StepSkipped, Reason: string(e.Reason), Model: e.Model, Until: r.Clock.Real(e.Until),
	}, route)
}

// activity is the row of the request in the log.
func (r *run) activity(end ending) control.Activity {
	req, body, u, by := r.req, &r.req.Body, &r.usage, &r.answeredBy
	return control.Activity{
		At: req.Began.Round(0), Method: req.Method, Path: req.URLPath, Dialect: string(req.Dialect.Traits().Name),
		Client: string(req.Profile.Client), Model: body.Model, Stream: body.Stream, RequestBytes: int64(len(body.Raw)),
		Status: end.status, Result: end.result, Combo: r.combo,
		ConnectionID: by.id, ConnectionName: by.name, Provider: by.provider, EgressIP: by.egress, FailedOver: r.failedOver,
		DurationMs: time.Since(req.Began).Milliseconds(), FirstOutputMs: r.out.firstTokenMs(req.Began), ResponseBytes: r.out.bytes(),
		Usage: control.Usage{
			InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
			ReasoningTokens: u.Reasoning, StopReason: u.Stop,
		},
		Trace: r.trace,
	}
}
