package attempt

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"breakwater/proxy/dialect"
	"breakwater/proxy/sse"
)

var documents = sync.Pool{New: func() any { b := make([]byte, maxHeld); return &b }}

// What an answer needed before the client could use it, as the trace says it.
const (
	mendedEnd    = "end_added"         // the dialect's last event
	mendedNames  = "event_names_added" // event lines
	mendedStream = "stream_from_json"
	mendedJSON   = "json_from_stream"
)

// note records what an answer needed. The first says most.
func (a *attempt) note(mended string) {
	if a.mended == "" {
		a.mended = mended
	}
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
