package attempt

import (
	"context"
	"errors"
	"io"
	"net/http"

	"breakwater/proxy/dialect"
	"breakwater/proxy/sse"
	"breakwater/resilience"
	"breakwater/resilience/classify"
)

// whole sends an answer that is complete, its headers before it.
func (a *attempt) whole(res *http.Response, doc []byte, length int) callResult {
	a.head(res, length)
	if !a.client.Write(doc) {
		return a.left()
	}
	return a.answered(res.StatusCode)
}

// document relays an answer that is no stream. It is held until it is clear
// that it is one: whole, or longer than what is held back, and JSON (case P28).
// The buffer holds the first n bytes already, behind which err came.
func (a *attempt) document(ctx context.Context, res *http.Response, buf []byte, n int, err error) callResult {
	more := 0
	if err == nil {
		more, err = a.fill(res.Body, buf[n:])
	}
	held, whole := buf[:n+more], errors.Is(err, io.EOF)
	if a.gone(ctx) {
		return a.left()
	}
	if err != nil && !whole {
		return a.lostDocument(ctx, err)
	}
	if out, unfit := a.unusable(ctx, res, held, whole); unfit {
		return out
	}
	a.relabel(res, "application/json")
	if whole {
		a.usage.Document(a.req.Dialect, held)
		a.sees(held)
		return a.whole(res, held, len(held))
	}
	a.usage.Head(a.req.Dialect, held)
	a.head(res, -1)
	if !a.client.Write(held) {
		return a.left()
	}
	return a.rest(ctx, res, buf)
}

// unusable handles what is no answer although its status is good. held is its
// beginning, or the whole.
func (a *attempt) unusable(ctx context.Context, res *http.Response, held []byte, whole bool) (callResult, bool) {
	form, at := sse.FormOf(held)
	switch {
	case whole && at == len(held):
		a.code = resilience.CodeEarlyEOF
		return a.lostDocument(ctx, io.EOF), true
	case !a.req.Body.Stream && a.client.Begun(): // the client reads a stream already
		return a.fail(a.transport(classify.NotAnAnswer), nil, nil), true
	case form != sse.JSON:
		return a.foreign(res.StatusCode, held), true
	case whole && dialect.IsErrorDocument(held):
		return a.failedEvent(res, held), true
	case whole && dialect.IsForeign(held):
		return a.foreign(res.StatusCode, held), true
	case whole && a.unfit(held):
		return a.fail(a.transport(classify.EmptyAnswer), nil, nil), true
	}
	return callResult{}, false
}

// foreign handles an answer that is not the provider's API: a page, a redirect,
// or JSON of another shape (case P28, ruling 56). The client gets none of it.
func (a *attempt) foreign(status int, held []byte) callResult {
	return a.fail(classify.NoAnswer(a.input(status, nil, held)), nil, nil)
}

// lostDocument handles a document that broke off before the client saw any of
// it.
func (a *attempt) lostDocument(ctx context.Context, err error) callResult {
	return a.failedWithout(ctx, err)
}

// fill reads until the buffer is full or the body ends, which is an io.EOF.
func (a *attempt) fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
		a.deadlines.read(readInfo{})
	}
	return n, err
}

// rest copies what is left of a long document. The buffer holds what has been
// sent already.
func (a *attempt) rest(ctx context.Context, res *http.Response, buf []byte) callResult {
	end := append([]byte(nil), buf[len(buf)-usageTail:]...)
	for {
		n, err := res.Body.Read(buf)
		if n > 0 {
			a.deadlines.read(readInfo{})
			end = lastBytes(end, buf[:n])
			if !a.client.Write(buf[:n]) {
				return a.left()
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			a.usage.Tail(a.req.Dialect, end)
			return a.answered(res.StatusCode)
		case err != nil && a.gone(ctx):
			return a.left()
		case err != nil:
			a.usage.Tail(a.req.Dialect, end) // as far as it goes
			return a.broken(a.streamFailure(ctx, err))
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

// unfit reports whether a whole JSON answer does not count as one, although its
// status is good (combos sheet §2.4).
func (a *attempt) unfit(doc []byte) bool {
	d, checks := a.req.Dialect, a.target.Checks
	return checks.Empty && d.EmptyDocument(doc) || checks.OnlyReasoning && dialect.OnlyReasoned(d, doc) ||
		checks.Unfinished && d.Unfinished(doc) || checks.Validation && a.target.Valid != nil && !a.target.Valid(doc)
}
