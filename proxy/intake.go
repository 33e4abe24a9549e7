package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/refusal"
	"breakwater/proxy/upstream"
)

// DefaultMaxBody is the largest request body that is accepted; it lies above
// every provider's own limit, so that theirs decides (case P38).
const DefaultMaxBody = 64 << 20

// route is what a path asks for.
type route struct {
	dialect dialect.Dialect
	path    string // below an endpoint's base URL
	// probe marks requests whose failure says nothing about a connection
	// (ruling 38): count_tokens.
	probe bool
}

// intake reads a request whole: an answer that begins before the body has
// been taken would be lost, and a second target needs the body again.
func (s *Server) intake(w http.ResponseWriter, r *http.Request) (dialect.Body, *refusal.Notice) {
	if r.ContentLength > s.maxBody && r.Header.Get("Expect") != "" {
		// Nothing was read, so the client is not told to go on, and sends nothing.
		return dialect.Body{}, s.bodyRefusal(upstream.ErrTooLarge)
	}
	p := newPace(http.NewResponseController(w), r.Body, s.limits.Upload)
	raw, err := readAll(http.MaxBytesReader(w, p, s.maxBody), r.ContentLength, s.maxBody)
	p.stop(err == nil)
	if err != nil {
		if errors.Is(err, errSlowBody) {
			w.Header().Set("Connection", "close") // the rest may come at any time
		}
		return dialect.Body{}, s.bodyRefusal(err)
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		if raw, err = upstream.DecodeAll(encoding, raw, s.maxBody); err != nil {
			return dialect.Body{}, s.bodyRefusal(fmt.Errorf("%w: %w", errEncoded, err))
		}
	}
	body, err := dialect.ReadBody(raw)
	if err != nil {
		return body, new(refusal.BodyInvalid(err))
	}
	return body, nil
}

var errEncoded = errors.New("content encoding")

// readAll reads the body into one buffer of the announced size, which grows
// towards it with the bytes that come: an announcement alone must not cost any
// memory.
func readAll(r io.Reader, announced, limit int64) ([]byte, error) {
	if announced < 0 || announced > limit {
		return io.ReadAll(r)
	}
	buf := make([]byte, 0, min(announced, firstPart))
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) == announced:
			return buf, nil
		case err == io.EOF:
			return buf, io.ErrUnexpectedEOF
		case err != nil:
			return buf, err
		}
		buf = append(make([]byte, 0, min(announced, int64(len(buf))*partGrowth)), buf...)
	}
}

const (
	// firstPart is how much is made ready for a body of which nothing has come;
	// most requests of coding agents are longer, most others fit.
	firstPart = 64 << 10
	// partGrowth is by how much a full buffer grows: at most that many times what
	// has come is held, and three quarters of the final buffer are never copied.
	partGrowth = 4
)

// bodyRefusal says why a body could not be read. It is always the client's
// side of things: no connection is to blame.
func (s *Server) bodyRefusal(err error) *refusal.Notice {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), errors.Is(err, upstream.ErrTooLarge):
		return new(refusal.BodyTooLarge(s.maxBody))
	case errors.Is(err, errSlowBody):
		return new(refusal.BodyTimeout(s.limits.Upload))
	case errors.Is(err, upstream.ErrEncoding):
		return new(refusal.BodyEncoding())
	case errors.Is(err, errEncoded):
		return new(refusal.BodyMismatch())
	}
	return new(refusal.BodyCut())
}

// admits returns the test whether the client brought a credential that a
// passthrough connection may forward: one of the provider's own kind, never
// another key that happens to be in the header (ruling 34).
func (s *Server) admits(h http.Header) func(*control.Route) bool {
	token := upstream.Bearer(h)
	if s.own(token) {
		token = "" // a list of several, or a key that only looks like a provider's
	}
	return func(r *control.Route) bool {
		for _, prefix := range r.Provider.PassthroughPrefixes {
			if strings.HasPrefix(token, prefix) {
				return true
			}
		}
		return false
	}
}
