package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/sse"
	"breakwater/proxy/upstream"
	"breakwater/resilience/classify"
	"breakwater/resilience/outcome"
)

const (
	// chunk is how much is read at once from an upstream.
	chunk = 32 << 10
	// maxHeld is how much of an answer is held back at most while it is not
	// known whether it is one.
	maxHeld = 64 << 10
)

var chunks = sync.Pool{New: func() any { b := make([]byte, chunk); return &b }}

// relay is the state of an event stream on its way through.
type relay struct {
	t         *attempt
	res       *http.Response
	scan      sse.Scanner
	held      []byte // bytes before the commit point
	passed    int64  // bytes that went to the client
	headed    bool   // the client has the headers
	open      bool   // past the commit point
	last      dialect.Progress
	finish    []byte // data of the event that told why the model stopped
	failAt    int64  // offset of an error event behind the commit point, or -1
	errorData []byte // of an error event
	block     openBlock
}

// stream relays an event stream byte for byte. Nothing reaches the client
// before the first output, so that a stream that fails earlier is replaced by
// the next target (cases P19, P29).
func (t *attempt) stream(ctx context.Context, res *http.Response) verdict {
	bufp := chunks.Get().(*[]byte)
	defer chunks.Put(bufp)
	s := &relay{t: t, res: res, failAt: -1}
	t.watch.expect(t.x.s.limits.Readiness, errNotReady)
	for {
		n, err := res.Body.Read(*bufp)
		if n > 0 {
			if v, over := s.take((*bufp)[:n]); over {
				return v
			}
		}
		if err != nil {
			return s.end(ctx, err)
		}
	}
}

// take handles the next bytes of the stream.
func (s *relay) take(p []byte) (v verdict, over bool) {
	s.scan.Feed(p, s.event)
	switch {
	case !s.open && s.errorData != nil:
		return s.t.fail(s.t.errorEvent(s.res, s.errorData), s.res.Header, s.errorData), true
	case s.failAt >= 0:
		return s.brokenByUpstream(p), true
	case !s.open && len(s.held)+len(p) < maxHeld:
		s.held = append(s.held, p...)
		return tryNext, false
	}
	s.open = true
	return ended, !s.pass(p)
}

// event looks at one event. It returns false when the rest does not matter.
func (s *relay) event(e sse.Event) bool {
	d, limits := s.t.x.rt.dialect, &s.t.x.s.limits
	if s.open {
		s.block.see(d, e)
		switch p := d.ReadEnd(e); p {
		case dialect.Failed:
			s.failAt, s.errorData = e.Start, append([]byte{}, e.Data...)
			return false
		case dialect.Done, dialect.Finish:
			s.last = p
		}
		s.t.watch.expect(limits.Idle, errIdle)
		return true
	}
	switch p := d.Read(e); p {
	case dialect.Output, dialect.Reasoning:
		s.open = true
		s.block.see(d, e)
		s.t.watch.expect(limits.Idle, errIdle)
	case dialect.Failed:
		s.errorData = append([]byte{}, e.Data...)
		return false
	case dialect.Preamble:
		s.t.watch.expect(limits.Stall, errStalled)
	case dialect.Finish, dialect.Done:
		if p == dialect.Finish || s.last != dialect.Finish {
			s.finish = append(s.finish[:0], e.Data...)
		}
		s.last = p
	}
	return true
}

// pass lets the client see the answer so far and p: headers and everything
// held, the first time.
func (s *relay) pass(p []byte) bool {
	if !s.headed {
		s.headed = true
		s.t.head(s.res)
		if len(s.held) > 0 {
			p = append(s.held, p...)
			s.held = nil
		}
	}
	s.passed += int64(len(p))
	return s.t.write(p)
}

// end handles the end of the upstream's stream.
func (s *relay) end(ctx context.Context, err error) verdict {
	if errors.Is(err, io.EOF) {
		// Some servers end their last event with the stream.
		s.scan.Flush(s.event)
	}
	complete := s.t.x.rt.dialect.Complete(s.last)
	switch {
	case s.headed && complete && s.failAt < 0:
		return s.t.answered(s.res.StatusCode)
	case s.t.x.r.Context().Err() != nil:
		return s.t.gone()
	case s.headed:
		return s.broken(s.t.streamFailure(ctx, err))
	case s.errorData != nil:
		return s.t.fail(s.t.errorEvent(s.res, s.errorData), s.res.Header, s.errorData)
	case complete:
		return s.empty()
	}
	return s.t.fail(s.t.streamFailure(ctx, err), nil, nil)
}

// empty handles a whole answer without content. It is right when a limit or a
// tool ended it (case P30); otherwise it is suspicious: another target may
// have more to say.
func (s *relay) empty() verdict {
	if !s.t.x.rt.dialect.LegitimatelyEmpty(s.finish) && s.t.x.more {
		return s.t.fail(s.t.without(classify.EmptyAnswer), nil, nil)
	}
	if !s.pass(nil) {
		return ended
	}
	return s.t.answered(s.res.StatusCode)
}

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

// head sends the answer's headers with the first bytes: the commit point.
func (t *attempt) head(res *http.Response) {
	if t.x.act.FirstOutputMs < 0 {
		t.x.act.FirstOutputMs = t.x.since()
	}
	t.x.out.head(res.StatusCode, func(h http.Header) {
		upstream.CopyAnswerHeader(h, res.Header)
		if isEventStream(res) {
			streamHeader(h)
		}
	})
}

// write sends bytes to the client at once. It reports whether the client is
// still there.
func (t *attempt) write(p []byte) bool {
	if t.x.out.write(p) {
		return true
	}
	t.gone()
	return false
}

// document relays an answer that is no stream. It is held until it is clear
// that it is one: whole, or longer than what is held back, and JSON (case P28).
func (t *attempt) document(ctx context.Context, res *http.Response) verdict {
	held, err := io.ReadAll(io.LimitReader(res.Body, maxHeld))
	t.watch.expect(t.x.s.limits.Idle, errIdle)
	whole := err == nil && len(held) < maxHeld
	if t.x.r.Context().Err() != nil {
		return t.gone()
	}
	if err != nil {
		return t.fail(t.streamFailure(ctx, err), nil, nil)
	}
	first := bytes.TrimLeft(held, " \t\r\n")
	switch {
	case t.x.out.begun(): // the client reads a stream already
		return t.fail(t.without(classify.NotAnAnswer), nil, nil)
	case len(first) == 0:
		return t.fail(t.without(classify.EarlyEOF), nil, nil)
	case first[0] != '{' && first[0] != '[':
		return t.fail(t.without(classify.NotAnAnswer), nil, nil)
	case whole && dialect.IsErrorDocument(held):
		return t.fail(t.errorEvent(res, held), res.Header, held)
	}
	t.head(res)
	if !t.write(held) {
		return ended
	}
	if !whole {
		if v, over := t.rest(ctx, res); over {
			return v
		}
	}
	return t.answered(res.StatusCode)
}

// rest copies what is left of a long document.
func (t *attempt) rest(ctx context.Context, res *http.Response) (verdict, bool) {
	bufp := chunks.Get().(*[]byte)
	defer chunks.Put(bufp)
	for {
		n, err := res.Body.Read(*bufp)
		if n > 0 {
			t.watch.expect(t.x.s.limits.Idle, errIdle)
			if !t.write((*bufp)[:n]) {
				return ended, true
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return ended, false
		case err != nil && t.x.r.Context().Err() != nil:
			return t.gone(), true
		case err != nil:
			t.cut(t.streamFailure(ctx, err))
		}
	}
}
