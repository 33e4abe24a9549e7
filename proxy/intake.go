package proxy

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/upstream"
)

// DefaultMaxBody is the largest request body that is accepted; it lies above
// every provider's own limit, so that theirs decides (case P38).
const DefaultMaxBody = 64 << 20

// route is what a path asks for.
type route struct {
	dialect dialect.Name
	path    string // below an endpoint's base URL
	// probe marks requests whose failure says nothing about a connection
	// (ruling 38): count_tokens.
	probe bool
}

// intake reads a request whole: an answer that begins before the body has
// been taken would be lost, and a second target needs the body again.
func (s *Server) intake(w http.ResponseWriter, r *http.Request, ctl *http.ResponseController) (dialect.Body, *dialect.Refusal) {
	if r.ContentLength > s.maxBody && r.Header.Get("Expect") != "" {
		// Nothing was read, so the client is not told to go on, and sends nothing.
		return dialect.Body{}, s.bodyRefusal(upstream.ErrTooLarge)
	}
	p := newPace(ctl, r.Body, s.limits.Upload)
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
		return body, &dialect.Refusal{
			Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_body",
			Message: "Breakwater cannot read this request: " + err.Error() + ".",
		}
	}
	return body, nil
}

var errEncoded = errors.New("content encoding")

// readAll reads the body into one buffer of the announced size.
func readAll(r io.Reader, announced, limit int64) ([]byte, error) {
	if announced < 0 || announced > limit {
		return io.ReadAll(r)
	}
	buf := make([]byte, announced)
	n, err := io.ReadFull(r, buf)
	if err == io.EOF {
		err = nil
	}
	return buf[:n], err
}

// bodyRefusal says why a body could not be read. It is always the client's
// side of things: no connection is to blame.
func (s *Server) bodyRefusal(err error) *dialect.Refusal {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), errors.Is(err, upstream.ErrTooLarge):
		return &dialect.Refusal{
			Status: http.StatusRequestEntityTooLarge, Type: "request_too_large", Code: "body_too_large",
			Message: fmt.Sprintf("The request body is larger than Breakwater's limit of %d MiB.", s.maxBody>>20),
		}
	case errors.Is(err, errSlowBody):
		return &dialect.Refusal{
			Status: http.StatusRequestTimeout, Type: "timeout_error", Code: "request_body_timeout",
			Message: fmt.Sprintf("The request body did not come on: hardly anything arrived for %v.", s.limits.Upload),
		}
	case errors.Is(err, upstream.ErrEncoding):
		return &dialect.Refusal{
			Status: http.StatusUnsupportedMediaType, Type: "invalid_request_error", Code: "unknown_encoding",
			Message: "Breakwater reads request bodies in gzip, br and zstd, or without an encoding.",
		}
	case errors.Is(err, errEncoded):
		return &dialect.Refusal{
			Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_body",
			Message: "The request body does not match its Content-Encoding.",
		}
	}
	return &dialect.Refusal{
		Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_body",
		Message: "The request body ended early.",
	}
}

// admits returns the test whether the client brought a credential that a
// passthrough connection may forward: one of the provider's own kind, never
// another key that happens to be in the header (ruling 34).
func (s *Server) admits(h http.Header) func(*control.Route) bool {
	token := bearer(h)
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
