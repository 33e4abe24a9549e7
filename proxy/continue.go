package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"

	"breakwater/proxy/dialect"
	"breakwater/proxy/sse"
)

// maxContinued is how often the rest of an answer is asked for.
const maxContinued = 4

// continues reports whether answers of the dialect can be continued: in
// Anthropic's an assistant's words at the end are a prefill with rules of its
// own.
func continues(d dialect.Name) bool { return d == dialect.Chat || d == dialect.Responses }

// continued fetches the rest of an answer that broke off after the client saw
// a part of it, where that is switched on (stream sheet §6.6). The client gets
// the rest and one end, as if nothing had happened.
func (s *relay) continued(ctx context.Context, err error) (verdict, bool) {
	if s.told == nil || !s.told.Continuable() || s.reader.Finished() || !breakOf(context.Cause(ctx), err).Reopenable() {
		return ended, false
	}
	d := s.t.x.rt.dialect
	body, ok := s.told.Request(d, s.t.bodyFor())
	if !ok {
		return ended, false
	}
	for range maxContinued {
		next, usage, whole := s.t.fetch(body) //nolint:contextcheck // the exchange holds the request and its context
		if s.t.x.r.Context().Err() != nil {
			return s.t.gone(), true
		}
		if !whole {
			continue
		}
		if rest, ok := s.told.Rest(next); ok {
			s.t.usage = usage
			if !s.send(append(s.between(), s.told.End(d, rest, next)...)) {
				return ended, true
			}
			return s.t.answered(s.res.StatusCode), true
		}
	}
	return ended, false
}

// fetch sends a request whose answer is read here and not relayed. It reports
// whether the answer was whole.
func (t *attempt) fetch(body []byte) (next *dialect.Thread, usage dialect.Usage, whole bool) {
	ctx, cancel := context.WithCancelCause(t.x.r.Context())
	defer cancel(nil)
	w := newWatch(t.x.s.limits.Headers, limit{}, cancel)
	defer w.stop()
	res, err := t.send(ctx, body)
	if err != nil {
		return nil, usage, false
	}
	defer func() { _ = res.Body.Close() }() // the answer was read or given up
	if res.StatusCode != http.StatusOK || !isEventStream(res) {
		return nil, usage, false
	}
	w.accepted(t.budgets())
	d, next := t.x.rt.dialect, &dialect.Thread{}
	var scan sse.Scanner
	reader := d.Reader(1)
	see := func(e sse.Event) bool {
		p := reader.Read(e)
		kind, text := d.Delta(e)
		next.See(d, e, kind, text)
		usage.Event(d, p, e)
		w.saw(sight{ready: p != dialect.Noise, progress: p.Alive()})
		return p != dialect.Failed
	}
	bufp := chunks.Get().(*[]byte)
	defer chunks.Put(bufp)
	for {
		n, err := res.Body.Read(*bufp)
		scan.Feed((*bufp)[:n], see)
		if err != nil {
			scan.Flush(see)
			return next, usage, errors.Is(err, io.EOF) && reader.Complete()
		}
	}
}
