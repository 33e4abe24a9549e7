package attempt

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

// continued fetches the rest of an answer that broke off after the client saw
// a part of it, where that is switched on (stream sheet §6.6). The client gets
// the rest and one end, as if nothing had happened.
func (s *stream) continued(ctx context.Context, err error) (callResult, bool) {
	if s.thread == nil || !s.thread.Continuable() || s.reader.Finished() || !breakOf(s.a.cause(ctx), err).Reopenable() {
		return callResult{}, false
	}
	body, ok := s.thread.Request(s.a.sent)
	if !ok {
		return callResult{}, false
	}
	for range maxContinued {
		next, usage, whole := s.a.fetch(ctx, body)
		if s.a.gone(ctx) {
			return s.a.left(), true
		}
		if !whole {
			continue
		}
		if rest, ok := s.thread.Rest(next); ok {
			s.a.usage = usage
			if !s.out(append(s.between(), s.thread.End(rest, next)...)) {
				return s.a.left(), true
			}
			return s.a.answered(s.res.StatusCode), true
		}
	}
	return callResult{}, false
}

// fetch sends a request whose answer is read here and not relayed. It reports
// whether the answer was whole.
func (a *attempt) fetch(ctx context.Context, body []byte) (next *dialect.Thread, usage dialect.Usage, whole bool) {
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	w := newDeadlines(a.Limits.Headers, limit{}, cancel)
	defer w.stop()
	res, err := a.send(call, body)
	if err != nil {
		return nil, usage, false
	}
	defer func() { _ = res.Body.Close() }() // the answer was read or given up
	if res.StatusCode != http.StatusOK || !isEventStream(res) {
		return nil, usage, false
	}
	w.accepted(a.budgets())
	d, next := a.req.Dialect, dialect.NewThread(a.req.Dialect)
	var scan sse.Scanner
	reader := dialect.NewReader(d, 1)
	see := func(e sse.Event) bool {
		p := reader.Read(e)
		kind, text := d.Delta(e)
		next.See(e, kind, text)
		usage.Event(d, p, e)
		w.read(readInfo{ready: p != dialect.Noise, progress: p.Alive()})
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
