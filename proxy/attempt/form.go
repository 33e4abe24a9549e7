package attempt

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"breakwater/proxy/dialect"
	"breakwater/proxy/sse"
	"breakwater/resilience/watchdog"
)

var documents = sync.Pool{New: func() any { b := make([]byte, maxHeld); return &b }}

// What an answer needed before the client could use it, as the trace says it.
const (
	mendedEnd    = "end_added"         // the dialect's last event
	mendedNames  = "event_names_added" // event lines
	mendedStream = "stream_from_json"
	mendedJSON   = "json_from_stream"
)

// note takes down what an answer needed. The first says most.
func (a *attempt) note(mended string) {
	if a.mended == "" {
		a.mended = mended
	}
}

// answer relays an answer with a good status. Its first bytes decide what it
// is, whatever its label says (ruling 60); until they come the label decides
// how long to wait.
func (a *attempt) answer(ctx context.Context, res *http.Response) callResult {
	pool, labelled := &documents, isEventStream(res)
	if labelled {
		pool = &chunks
		a.deadlines.accepted(a.budgets())
	} else {
		a.deadlines.accepted(watchdog.Budgets{Idle: a.Limits.Body})
	}
	bufp := pool.Get().(*[]byte)
	defer pool.Put(bufp)
	buf := *bufp
	form, n, err := a.firstBytes(res, buf)
	events := form == sse.Events || labelled && (form == sse.Other || form == sse.Undecided)
	switch {
	case events && a.req.Body.Stream:
		if !labelled {
			a.deadlines.accepted(a.budgets())
		}
		a.relabel(res, eventStream)
		return a.relay(ctx, res, buf, n, err)
	case events && !a.req.Probe:
		return a.collected(ctx, res, buf, n, err)
	case a.req.Body.Stream && form == sse.JSON:
		return a.restreamed(ctx, res, buf[:n], err)
	case labelled:
		whole := documents.Get().(*[]byte)
		defer documents.Put(whole)
		n = copy(*whole, buf[:n])
		buf = *whole
	}
	return a.document(ctx, res, buf, n, err)
}

const eventStream = "text/event-stream"

// relabel gives an answer the type that it has, unless it is labelled so
// already: clients choose their parser by it.
func (a *attempt) relabel(res *http.Response, kind string) {
	if !strings.HasPrefix(strings.ToLower(res.Header.Get("Content-Type")), kind) {
		res.Header.Set("Content-Type", kind)
	}
}

// firstBytes reads until the beginning of the body says what it is. Blanks do
// not fill the buffer: some servers send them while they are busy. What would
// hide the first event or the document from a parser is dropped.
func (a *attempt) firstBytes(res *http.Response, buf []byte) (form sse.Form, n int, err error) {
	for err == nil {
		var m int
		m, err = res.Body.Read(buf[n:])
		n += m
		at := 0
		if form, at = sse.FormOf(buf[:n]); form != sse.Undecided {
			if sse.Hides(buf[:at]) || form == sse.JSON && at > 0 {
				n = copy(buf, buf[at:n])
				res.Header.Del("Content-Length")
			}
			return form, n, err
		}
		a.deadlines.read(readInfo{})
		if n == len(buf) {
			n = copy(buf, buf[at:n])
			res.Header.Del("Content-Length")
		}
	}
	return form, n, err
}

// maxWhole bounds an answer that is read whole to be turned into another form.
const maxWhole = 16 << 20

// errTooLong is the end of an answer that is longer than that.
var errTooLong = errors.New("the answer is too long to be turned into another form")

// restreamed turns a whole JSON answer into the event stream that the client
// asked for (ruling 60).
func (a *attempt) restreamed(ctx context.Context, res *http.Response, first []byte, err error) callResult {
	doc := append([]byte(nil), first...)
	if err == nil {
		doc, err = a.readWhole(res.Body, doc)
	}
	switch {
	case a.gone(ctx):
		return a.left()
	case !errors.Is(err, io.EOF):
		return a.lostDocument(ctx, err)
	}
	if out, unfit := a.unusable(ctx, res, doc, true); unfit {
		return out
	}
	d := a.req.Dialect
	if failure := d.FailureIn(doc); failure != nil {
		return a.failedEvent(res, failure)
	}
	stream, ok := dialect.StreamOf(d, doc, a.req.Body.WantsUsage())
	if !ok {
		return a.foreign(res.StatusCode, doc)
	}
	a.note(mendedStream)
	a.usage.Document(d, doc)
	a.sees(doc)
	a.relabel(res, eventStream)
	return a.whole(res, stream, -1)
}

// readWhole appends the rest of a body to what was read of it. It ends with
// io.EOF, or with errTooLong.
func (a *attempt) readWhole(r io.Reader, doc []byte) ([]byte, error) {
	bufp := chunks.Get().(*[]byte)
	defer chunks.Put(bufp)
	for {
		n, err := r.Read(*bufp)
		a.deadlines.read(readInfo{})
		if doc = append(doc, (*bufp)[:n]...); len(doc) > maxWhole {
			return nil, errTooLong
		}
		if err != nil {
			return doc, err
		}
	}
}

// collected turns an event stream into the JSON answer that the client asked
// for: some servers can only stream.
func (a *attempt) collected(ctx context.Context, res *http.Response, buf []byte, n int, err error) callResult {
	d := a.req.Dialect
	scan, whole := sse.Scanner{MaxData: maxWhole}, dialect.NewAssembly(d)
	var failure []byte
	see := func(e sse.Event) bool {
		p := whole.See(e)
		if p == dialect.Failed {
			failure = append([]byte{}, e.Data...)
		}
		return p != dialect.Failed
	}
	for size := n; ; {
		scan.Feed(buf[:n], see)
		if failure != nil || err != nil {
			break
		}
		n, err = res.Body.Read(buf)
		a.deadlines.read(readInfo{})
		if size += n; size > maxWhole {
			n, err = 0, errTooLong
		}
	}
	if errors.Is(err, io.EOF) {
		scan.Flush(see)
	}
	switch {
	case a.gone(ctx):
		return a.left()
	case failure != nil:
		return a.failedEvent(res, failure)
	}
	doc, ok := whole.Document()
	if !ok {
		return a.lostDocument(ctx, err)
	}
	if out, unfit := a.unusable(ctx, res, doc, true); unfit {
		return out
	}
	a.note(mendedJSON)
	a.usage.Document(d, doc)
	a.sees(doc)
	a.relabel(res, "application/json")
	return a.whole(res, doc, len(doc))
}
