package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

const (
	// BodyWait is how long the body of a request may take to arrive.
	BodyWait = 30 * time.Second
	// refusalWait is how long the rest of a body may take that nobody wants:
	// net/http reads it before it sends the answer.
	refusalWait = 500 * time.Millisecond
)

// incoming is the body of a request that must arrive within a deadline of the
// connection.
type incoming struct {
	io.ReadCloser
	ctl   *http.ResponseController
	whole bool // it arrived, and the connection has no deadline any more
	late  bool // the deadline has passed
}

// expect gives the body of a request, if it has one, a time to arrive: short
// where a body means nothing.
func (a *api) expect(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	b := &incoming{ReadCloser: r.Body, ctl: http.NewResponseController(w)}
	wait := a.bodyWait
	if !isWrite(r.Method) {
		wait = min(wait, refusalWait)
	}
	b.within(wait)
	r.Body = b
}

// within sets the deadline; a writer without a socket just has none.
func (b *incoming) within(d time.Duration) { _ = b.ctl.SetReadDeadline(time.Now().Add(d)) }

// Read takes the deadline away at the end: the connection is read on, for the
// next request and to see the client leave.
func (b *incoming) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.whole = true
		_ = b.ctl.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.late = true
	}
	return n, err
}

// takeBody reads the body before the handler runs, so that no deadline of it is
// left while the handler works. What is larger than any route takes, or broken,
// is left to the handler to find.
func takeBody(r *http.Request) error {
	b, ok := r.Body.(*incoming)
	if !ok || r.ContentLength > MaxBody && r.Header.Get("Expect") != "" {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(b, MaxBody+1))
	if b.late {
		return errSlowBody
	}
	rest := io.Reader(b)
	if err != nil {
		rest = broken{err}
	}
	r.Body = &taken{Reader: io.MultiReader(bytes.NewReader(data), rest), from: b}
	return nil
}

// taken is a body that was read already, as far as it is wanted.
type taken struct {
	io.Reader
	from *incoming
}

// Close closes the body it comes from.
func (t *taken) Close() error { return t.from.Close() }

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// hurry gives what is left of the body of a refused request a short time, after
// which the refusal is sent and the connection closed.
func hurry(r *http.Request) {
	b, ok := r.Body.(*incoming)
	if t, read := r.Body.(*taken); read {
		b, ok = t.from, true
	}
	if ok && !b.whole && !b.late {
		b.within(refusalWait)
	}
}
