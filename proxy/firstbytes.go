package proxy

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
func (t *attempt) note(mended string) {
	if t.mended == "" {
		t.mended = mended
	}
}

// answer relays an answer with a good status. Its first bytes decide what it
// is, whatever its label says (ruling 60); until they come the label decides
// how long to wait.
func (t *attempt) answer(ctx context.Context, res *http.Response) verdict {
	pool, labelled := &documents, isEventStream(res)
	if labelled {
		pool = &chunks
		t.watch.accepted(t.budgets())
	} else {
		t.watch.accepted(watchdog.Budgets{Idle: t.x.s.limits.Body})
	}
	bufp := pool.Get().(*[]byte)
	defer pool.Put(bufp)
	buf := *bufp
	form, n, err := t.firstBytes(res, buf)
	events := form == sse.Events || labelled && (form == sse.Other || form == sse.Undecided)
	switch {
	case events && t.x.body.Stream:
		if !labelled {
			t.watch.accepted(t.budgets())
		}
		t.relabel(res, eventStream)
		return t.stream(ctx, res, buf, n, err)
	case events && !t.x.rt.probe:
		return t.collected(ctx, res, buf, n, err)
	case t.x.body.Stream && form == sse.JSON:
		return t.restreamed(ctx, res, buf[:n], err)
	case labelled:
		whole := documents.Get().(*[]byte)
		defer documents.Put(whole)
		n = copy(*whole, buf[:n])
		buf = *whole
	}
	return t.document(ctx, res, buf, n, err)
}

const eventStream = "text/event-stream"

// relabel gives an answer the type that it has, unless it is labelled so
// already: clients choose their parser by it.
func (t *attempt) relabel(res *http.Response, kind string) {
	if !strings.HasPrefix(strings.ToLower(res.Header.Get("Content-Type")), kind) {
		res.Header.Set("Content-Type", kind)
	}
}

// firstBytes reads until the beginning of the body says what it is. Blanks do
// not fill the buffer: some servers send them while they are busy. What would
// hide the first event or the document from a parser is dropped.
func (t *attempt) firstBytes(res *http.Response, buf []byte) (form sse.Form, n int, err error) {
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
		t.watch.saw(sight{})
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
func (t *attempt) restreamed(ctx context.Context, res *http.Response, first []byte, err error) verdict {
	doc := append([]byte(nil), first...)
	if err == nil {
		doc, err = t.readWhole(res.Body, doc)
	}
	switch {
	case t.x.r.Context().Err() != nil:
		return t.gone()
	case !errors.Is(err, io.EOF):
		return t.lostDocument(ctx, err)
	}
	if v, unfit := t.noAnswer(ctx, res, doc, true); unfit {
		return v
	}
	d := t.x.rt.dialect
	if failure := d.FailureIn(doc); failure != nil {
		return t.fail(t.errorEvent(res, failure), res.Header, failure)
	}
	stream, ok := d.StreamOf(doc, t.x.body.WantsUsage())
	if !ok {
		return t.foreign()
	}
	t.note(mendedStream)
	t.usage.Document(d, doc)
	t.relabel(res, eventStream)
	t.head(res, -1)
	if !t.write(stream) {
		return ended
	}
	return t.answered(res.StatusCode)
}

// readWhole appends the rest of a body to what was read of it. It ends with
// io.EOF, or with errTooLong.
func (t *attempt) readWhole(r io.Reader, doc []byte) ([]byte, error) {
	bufp := chunks.Get().(*[]byte)
	defer chunks.Put(bufp)
	for {
		n, err := r.Read(*bufp)
		t.watch.saw(sight{})
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
func (t *attempt) collected(ctx context.Context, res *http.Response, buf []byte, n int, err error) verdict {
	d := t.x.rt.dialect
	scan, whole := sse.Scanner{MaxData: maxWhole}, d.Assembly()
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
		t.watch.saw(sight{})
		if size += n; size > maxWhole {
			n, err = 0, errTooLong
		}
	}
	if errors.Is(err, io.EOF) {
		scan.Flush(see)
	}
	switch {
	case t.x.r.Context().Err() != nil:
		return t.gone()
	case failure != nil:
		return t.fail(t.errorEvent(res, failure), res.Header, failure)
	}
	doc, ok := whole.Document()
	if !ok {
		return t.lostDocument(ctx, err)
	}
	if v, unfit := t.noAnswer(ctx, res, doc, true); unfit {
		return v
	}
	t.note(mendedJSON)
	t.usage.Document(d, doc)
	t.relabel(res, "application/json")
	t.head(res, len(doc))
	if !t.write(doc) {
		return ended
	}
	return t.answered(res.StatusCode)
}
