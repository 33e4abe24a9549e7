package proxy

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/refusal"
	"breakwater/proxy/scrub"
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
		// Nothing was read, so the client gets no 100 Continue, and sends nothing.
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

// isLoopbackHost reports whether a Host header names this machine. A page that
// rebinds its own name to 127.0.0.1 sends its name here (case P49).
func isLoopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	return control.LoopbackHost(host)
}

// guard refuses what a web page could send: a foreign Host, an Origin that is
// not allowed by name, a cross-site fetch. Preflights of allowed origins are
// answered here.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopbackHost(r.Host) {
			s.plainError(w, r, http.StatusForbidden, "foreign_host", "This proxy answers only to loopback names such as 127.0.0.1 and localhost.")
			return
		}
		origins := r.Header.Values("Origin")
		if len(origins) == 0 {
			if slices.ContainsFunc(r.Header.Values("Sec-Fetch-Site"), foreignSite) {
				s.plainError(w, r, http.StatusForbidden, "cross_site", "Requests from web pages are refused.")
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		if !s.originsAllowed(origins) {
			s.plainError(w, r, http.StatusForbidden, "foreign_origin", "This origin is not in the setting allowedOrigins.")
			return
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origins[0])
		h.Add("Vary", "Origin")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS")
			h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// originsAllowed judges every value: none is excused by another one, and an
// empty one, a list or "null" is in no setting. An origin is compared whole,
// never a part of it (case P48).
func (s *Server) originsAllowed(origins []string) bool {
	allowed := s.svc.Config().AllowedOrigins
	return !slices.ContainsFunc(origins, func(o string) bool { return !slices.Contains(allowed, o) })
}

// foreignSite reports whether a browser says that another site's page asks.
func foreignSite(v string) bool {
	return strings.Contains(v, "cross-site") || strings.Contains(v, "same-site")
}

// grant returns what a client may use, or why it may use nothing (ruling 33).
// No key is needed on loopback unless the setting asks for one; a key of ours
// limits its bearer either way, and is refused once it is no longer in force.
func (s *Server) grant(r *http.Request) (control.Grant, error) {
	presented := []string{r.Header.Get("X-Breakwater-Key"), upstream.Bearer(r.Header), r.Header.Get("X-Api-Key")}
	for _, given := range presented {
		if given != "" && subtle.ConstantTimeCompare([]byte(given), []byte(s.token)) == 1 {
			return control.Grant{}, nil
		}
	}
	g, err := s.svc.Authorize(control.ScopeClient, presented...)
	stranger := errors.Is(err, control.ErrKeyUnknown) || errors.Is(err, control.ErrKeyScope)
	if stranger && !s.svc.Config().RequireAPIKey {
		return control.Grant{}, nil
	}
	return g, err
}

// own reports whether a text holds our token or a key of ours, which no provider
// may see whatever header it came in (ruling 33).
func (s *Server) own(text string) bool {
	return scrub.Mentions(text, s.token) || control.HoldsOwnKey(text)
}

const (
	// headLimit is how long the headers of a request may take to arrive.
	headLimit = 30 * time.Second
	// uploadLimit is how long a request body may bring less than uploadStep.
	uploadLimit = 30 * time.Second
	uploadStep  = 4 << 10
)

var errSlowBody = errors.New("the request body does not come on")

// pace reads a request body and gives up one that does not come on: as long as
// enough of it arrives in every span, it may take any time. It costs a timer,
// and a deadline of the connection only where it is needed.
type pace struct {
	io.ReadCloser
	ctl  *http.ResponseController
	span time.Duration
	got  atomic.Int64

	mu    sync.Mutex
	timer *time.Timer
	seen  int64
	late  bool
	done  bool
}

func newPace(ctl *http.ResponseController, body io.ReadCloser, span time.Duration) *pace {
	p := &pace{ReadCloser: body, ctl: ctl, span: span}
	if span > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timer = time.AfterFunc(span, p.look)
	}
	return p
}

// Read notes that something came.
func (p *pace) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.got.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) && p.isLate() {
		err = errSlowBody
	}
	return n, err
}

func (p *pace) isLate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late
}

// look ends the reading if too little came since the last look.
func (p *pace) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.got.Load()
	switch {
	case p.done:
	case got-p.seen < uploadStep:
		p.late = true
		_ = p.ctl.SetReadDeadline(time.Now()) // unsupported only without a socket
	default:
		p.seen = got
		p.timer.Reset(p.span)
	}
}

// stop ends the watch. A body that was read whole leaves no deadline behind: the
// connection is used again.
func (p *pace) stop(whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	if p.timer != nil {
		p.timer.Stop()
	}
	if whole && p.late {
		_ = p.ctl.SetReadDeadline(time.Time{})
	}
}
