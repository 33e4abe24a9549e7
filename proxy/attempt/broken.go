package attempt

import (
	"context"
	"errors"
	"io"
	"net"
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
func (s *stream) brokenByUpstream(p []byte) callResult {
	all := append(s.held, p...)
	s.held = nil
	at := max(s.failAt-s.passed, 0)
	event := s.a.scrub(all[at:])
	if s.a.req.Profile.CutBrokenStream {
		event = nil
	}
	if !s.out(append(all[:at:at], event...)) {
		return s.a.left()
	}
	return s.a.broken(s.a.errorEvent(s.res, s.errorData))
}

// brokenOff handles a stream that broke after the client saw output: the rest
// is fetched where that is switched on, else the client is informed.
func (s *stream) brokenOff(ctx context.Context, err error) callResult {
	if out, ended := s.continued(ctx, err); ended {
		return out
	}
	return s.broken(s.a.streamFailure(ctx, err))
}

// broken ends a stream that broke after output: never a clean end (ruling 44).
func (s *stream) broken(o outcome.Outcome) callResult {
	if !s.out(s.brokenEvent()) {
		return s.a.left()
	}
	return s.a.broken(o)
}

// brokenEvent is how the client learns that its answer is not whole, besides the
// cut.
func (s *stream) brokenEvent() []byte {
	event := s.a.target.Broken()
	if event == nil {
		return nil
	}
	return append(append(s.between(), s.reader.CloseBlock()...), event...)
}

// lost handles a stream that ended before the client saw any of it.
func (s *stream) lost(ctx context.Context, err error) callResult {
	if s.content {
		s.a.kept = s
	}
	return s.a.failedWithout(ctx, err)
}

// asksAgain reports whether the same target is asked again after this failure.
func (a *attempt) asksAgain(ctx context.Context, err error) bool {
	return a.reopening.Asks(breakOf(a.cause(ctx), err), a.Upstream.SleptSince(a.ahead))
}

// reopen asks the same target again. Only the end of the last call counts, so
// nothing is counted twice.
func (a *attempt) reopen(o outcome.Outcome) callResult {
	a.watch.Step(control.Step{
		Kind: control.StepFailed, Reason: string(o.Reason), Status: o.Status, Model: a.target.Model,
		DurationMs: time.Since(a.began).Milliseconds(),
	})
	return callResult{next: again}
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
