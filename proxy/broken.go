package proxy

import (
	"context"
	"net/http"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience/classify"
	"breakwater/resilience/outcome"
)

// brokenByUpstream ends a stream in whose middle the upstream reported an
// error: what came before the error goes out, the error itself only to clients
// that do not rather see a cut (ruling 44).
func (s *relay) brokenByUpstream(p []byte) verdict {
	all := append(s.held, p...)
	s.held = nil
	if s.t.x.client.CutBrokenStream {
		all = all[:s.failAt-s.passed]
	}
	if s.pass(all) {
		s.t.cut(s.t.errorEvent(s.res, s.errorData))
	}
	return ended
}

// brokenOff handles a stream that broke after the client saw output: the rest
// is fetched where that is switched on, else the client is told.
func (s *relay) brokenOff(ctx context.Context, err error) verdict {
	if v, over := s.continued(ctx, err); over {
		return v
	}
	return s.broken(s.t.streamFailure(ctx, err))
}

// broken ends a stream that broke after output: never a clean end (ruling 44).
func (s *relay) broken(o outcome.Outcome) verdict {
	if !s.t.x.client.CutBrokenStream {
		end := append(s.block.close(), s.t.x.rt.dialect.ErrorEvent(dialect.Refusal{
			Status: http.StatusBadGateway, Type: "api_error", Code: "upstream_stream_broken",
			Message: "The stream from " + s.t.route.Record.Name + " broke off before the answer was complete. Please try again.",
		})...)
		if !s.pass(end) {
			return ended
		}
	}
	s.t.cut(o)
	return ended
}

// cut records a truncated answer and drops the client's connection, so that
// no client can take it for a whole one.
func (t *attempt) cut(o outcome.Outcome) {
	x := t.x
	effect := t.permit.Report(o)
	t.route.Use.Failed.Add(1)
	t.credit()
	x.step(control.Step{
		Kind: control.StepCut, Reason: string(o.Reason), Status: o.Status, Model: t.model,
		DurationMs: time.Since(t.began).Milliseconds(), Until: x.s.svc.Real(effect.Until),
	}, t.route)
	x.finish(http.StatusOK, "truncated")
	panic(http.ErrAbortHandler)
}

// lost handles a stream that ended before the client saw any of it.
func (s *relay) lost(ctx context.Context, err error) verdict {
	o := s.t.streamFailure(ctx, err)
	if s.t.reopens() && reopenable(kindOf(context.Cause(ctx), err)) {
		return s.t.reopen(o)
	}
	if s.content && !s.t.x.more && s.pass(nil) {
		// Nobody else has more to offer than what is held.
		return s.broken(o)
	}
	if s.headed {
		return ended
	}
	return s.t.fail(o, nil, nil)
}

// maxReopened is how often one target is asked again at most.
const maxReopened = 4

// reopens reports whether the same target may be asked again.
func (t *attempt) reopens() bool {
	return t.recovery.Enabled && t.reopened < maxReopened && !t.x.rt.probe
}

// reopen asks the same target again. Only the end of the last try is reported,
// so nothing is counted twice.
func (t *attempt) reopen(o outcome.Outcome) verdict {
	t.x.step(control.Step{
		Kind: control.StepFailed, Reason: string(o.Reason), Status: o.Status, Model: t.model,
		DurationMs: time.Since(t.began).Milliseconds(),
	}, t.route)
	return again
}

// reopenable tells which failures another try of the same target may cure
// (stream sheet §6.6).
func reopenable(kind classify.TransportKind) bool {
	switch kind {
	case classify.Refused, classify.UnknownHost, classify.Reset, classify.Unreachable, classify.ConnectTimeout,
		classify.EarlyEOF, classify.Truncated, classify.Stalled:
		return true
	}
	return false
}
