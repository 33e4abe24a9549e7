package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"breakwater/proxy/dialect"
	"breakwater/proxy/refusal"
	"breakwater/proxy/scrub"
	"breakwater/proxy/sse"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/classify"
)

// head sends the answer's headers: the commit point. A length of -1 leaves the
// upstream's in place.
func (t *attempt) head(res *http.Response, length int) {
	t.begins()
	if t.x.act.FirstOutputMs < 0 {
		t.x.act.FirstOutputMs = t.x.since()
	}
	t.x.out.head(res.StatusCode, func(h http.Header) {
		upstream.CopyAnswerHeader(h, res.Header)
		scrub.Answer(h, t.secret())
		h.Set(refusal.HeaderSelected, t.route.Record.ID)
		switch {
		case isEventStream(res):
			streamHeader(h)
			h.Del("Content-Length") // it may end otherwise than the upstream meant
		case length >= 0:
			h.Set("Content-Length", strconv.Itoa(length))
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
// The buffer holds the first n bytes already, behind which err came.
func (t *attempt) document(ctx context.Context, res *http.Response, buf []byte, n int, err error) verdict {
	more := 0
	if err == nil {
		more, err = t.fill(res.Body, buf[n:])
	}
	held, whole := buf[:n+more], errors.Is(err, io.EOF)
	if t.x.r.Context().Err() != nil {
		return t.gone()
	}
	if err != nil && !whole {
		return t.lostDocument(ctx, err)
	}
	if v, unfit := t.noAnswer(ctx, res, held, whole); unfit {
		return v
	}
	t.relabel(res, "application/json")
	if whole {
		t.usage.Document(t.x.rt.dialect, held)
		t.head(res, len(held))
		if !t.write(held) {
			return ended
		}
		return t.answered(res.StatusCode)
	}
	t.usage.Head(t.x.rt.dialect, held)
	t.head(res, -1)
	if !t.write(held) {
		return ended
	}
	if v, over := t.rest(ctx, res, buf); over {
		return v
	}
	return t.answered(res.StatusCode)
}

// noAnswer handles what is no answer although its status is good. held is its
// beginning, or the whole.
func (t *attempt) noAnswer(ctx context.Context, res *http.Response, held []byte, whole bool) (verdict, bool) {
	form, at := sse.FormOf(held)
	switch {
	case whole && at == len(held):
		t.code = resilience.CodeEarlyEOF
		return t.lostDocument(ctx, io.EOF), true
	case form != sse.JSON, !t.x.body.Stream && t.x.out.begun(): // the client reads a stream already
		return t.foreign(), true
	case whole && dialect.IsErrorDocument(held):
		return t.fail(t.errorEvent(res, held), res.Header, held), true
	case whole && t.unfit(held):
		return t.fail(t.without(classify.EmptyAnswer), nil, nil), true
	}
	return tryNext, false
}

// foreign handles an answer that is not the provider's API: a page, or JSON of
// another shape (case P28).
func (t *attempt) foreign() verdict { return t.fail(t.without(classify.NotAnAnswer), nil, nil) }

// lostDocument handles a document that broke off before the client saw any of
// it.
func (t *attempt) lostDocument(ctx context.Context, err error) verdict {
	o := t.streamFailure(ctx, err)
	if t.asksAgain(ctx, err) {
		return t.reopen(o)
	}
	return t.fail(o, nil, nil)
}

// fill reads until the buffer is full or the body ends, which is an io.EOF.
func (t *attempt) fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
		t.watch.saw(sight{})
	}
	return n, err
}

// rest copies what is left of a long document. The buffer holds what has been
// sent already.
func (t *attempt) rest(ctx context.Context, res *http.Response, buf []byte) (verdict, bool) {
	end := append([]byte(nil), buf[len(buf)-usageTail:]...)
	for {
		n, err := res.Body.Read(buf)
		if n > 0 {
			t.watch.saw(sight{})
			end = lastBytes(end, buf[:n])
			if !t.write(buf[:n]) {
				return ended, true
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			t.usage.Tail(t.x.rt.dialect, end)
			return ended, false
		case err != nil && t.x.r.Context().Err() != nil:
			return t.gone(), true
		case err != nil:
			t.usage.Tail(t.x.rt.dialect, end) // as far as it goes
			t.cut(t.streamFailure(ctx, err))
		}
	}
}

// usageTail is how much of the end of a long document is kept for its usage.
const usageTail = 4 << 10

// lastBytes returns the last bytes of what end held and p after it.
func lastBytes(end, p []byte) []byte {
	if len(p) >= usageTail {
		return append(end[:0], p[len(p)-usageTail:]...)
	}
	if over := len(end) + len(p) - usageTail; over > 0 {
		end = append(end[:0], end[over:]...)
	}
	return append(end, p...)
}
