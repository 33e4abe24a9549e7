package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience"
	"breakwater/resilience/outcome"
)

// brokenByUpstream ends a stream in whose middle the upstream reported an
// error: what came before the error goes out, the error itself only to clients
// that do not rather see a cut (ruling 44).
func (s *relay) brokenByUpstream(p []byte) verdict {
	all := append(s.held, p...)
	s.held = nil
	at := max(s.failAt-s.passed, 0)
	told := s.t.scrub(all[at:])
	if s.t.x.client.CutBrokenStream {
		told = nil
	}
	if s.send(append(all[:at:at], told...)) {
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
	if s.send(s.farewell()) {
		s.t.cut(o)
	}
	return ended
}

// farewell is how the client learns that its answer is not whole, besides the
// cut.
func (s *relay) farewell() []byte {
	event := s.t.x.asked().BrokenStream(s.t.route.Record.Name)
	if event == nil {
		return nil
	}
	return append(append(s.between(), s.reader.CloseBlock()...), event...)
}

// deliver hands out what an earlier try had said, when no other one has more
// to offer (case 176), and breaks off.
func (s *relay) deliver() verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	if !s.put(nil) || !s.out(s.farewell()) {
		return s.t.gone()
	}
	s.t.credit()
	s.t.x.finish(http.StatusOK, "truncated")
	s.t.x.out.cut()
	return ended
}

// cut records a truncated answer and drops the client's connection.
func (t *attempt) cut(o outcome.Outcome) {
	x := t.x
	effect := t.permit.Report(t.clean(o))
	if o.Class == outcome.Failure {
		t.route.Use.Failed.Add(1)
	}
	x.s.meter.Attempt(t.route.Provider.ID, o.Class)
	t.credit()
	x.step(control.Step{
		Kind: control.StepCut, Reason: string(o.Reason), Status: o.Status, Model: t.model,
		DurationMs: time.Since(t.began).Milliseconds(), Until: x.s.svc.Real(effect.Until),
	}, t.route)
	x.finish(http.StatusOK, "truncated")
	x.out.cut()
}

// lost handles a stream that ended before the client saw any of it.
func (s *relay) lost(ctx context.Context, err error) verdict {
	o := s.t.streamFailure(ctx, err)
	if s.content {
		s.t.kept = s
	}
	if s.t.asksAgain(ctx, err) {
		return s.t.reopen(o)
	}
	return s.t.fail(o, nil, nil)
}

// asksAgain reports whether the same target is asked again after this failure.
func (t *attempt) asksAgain(ctx context.Context, err error) bool {
	return t.reopening.Asks(breakOf(context.Cause(ctx), err), t.x.s.up.SleptSince(t.ahead))
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

// breakOf says how a call ended that brought no whole answer.
func breakOf(cause, err error) resilience.Break {
	_, late := errors.AsType[overdue](cause)
	return resilience.Break{
		Kind: kindOf(cause, err), Overdue: late,
		Final:      errors.Is(cause, context.Canceled) || errors.Is(err, context.Canceled) || isTLS(err),
		Connection: fromTransport(err),
	}
}

// fromTransport reports whether an error is the transport's.
func fromTransport(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isUnknownHost(err) || isRefused(err) || isStreamReset(err) {
		return true
	}
	var system syscall.Errno
	var network net.Error
	return errors.As(err, &system) || errors.As(err, &network)
}

// isStreamReset reports whether the other side of an HTTP/2 connection broke
// one stream or the whole connection; the transport's types are not exported.
func isStreamReset(err error) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "stream error:") || strings.Contains(text, "GOAWAY") || strings.Contains(text, "connection lost")
}
