package simulator

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// answer is what goes out for one request, before time and faults are woven
// in.
type answer struct {
	status  int
	header  http.Header
	frames  []frame
	stream  bool     // every frame is flushed, the length is not known
	delay   Duration // in addition to the step's
	pace    Duration
	encoder Encoding // compresses the stream; a document is compressed already
}

// answer makes the answer to q that the step asks for.
func (s *Server) answer(q *request, st Step) answer {
	a := answer{status: http.StatusOK, header: http.Header{}, pace: st.Pace}
	q.voice().head(q, a.header)
	var body []byte
	switch {
	case st.Kind == KindRaw:
		a.stream = true
		a.header.Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, p := range st.Pieces {
			a.frames = append(a.frames, frame{role: delta, data: p, raw: true})
		}
	case st.Kind == KindEmpty:
		a.header.Set("Content-Type", mediaType(q.stream))
	case st.Kind == KindHTML:
		a.header.Set("Content-Type", "text/html; charset=utf-8")
		body = []byte("<!doctype html><html><body><h1>Welcome</h1><p>Sign in to go on.</p></body></html>\n")
	case st.Kind == KindStatus:
		a.status = st.Status
		body = q.statusBody(a, st)
	default:
		body = s.ordinary(q, st, &a)
	}
	if st.Status != 0 {
		a.status = st.Status
	}
	if st.ContentType != "" {
		a.header.Set("Content-Type", st.ContentType)
	}
	st.headers(a.header, q.now)
	a.finish(s.opts, q, st, body)
	return a
}

func mediaType(stream bool) string {
	if stream {
		return "text/event-stream; charset=utf-8"
	}
	return "application/json"
}

// statusBody is the body of an error status, the step's own or the dialect's.
func (q *request) statusBody(a answer, st Step) []byte {
	a.header.Set("Content-Type", "application/json")
	if st.Body != "" {
		return []byte(st.Body)
	}
	return text(q.errorBody(q.failure(st.Status, st.Error)))
}

// headers adds the step's own headers.
func (s Step) headers(h http.Header, now time.Time) {
	if s.RetryAfter != nil {
		s.RetryAfter.apply(h, now)
	}
	if s.Unified != nil {
		s.Unified.apply(h, now)
	}
	for name, values := range s.Header {
		name = http.CanonicalHeaderKey(name)
		h.Del(name)
		for _, v := range values {
			if v != "" {
				h.Add(name, v)
			}
		}
	}
}

// finish turns a body into frames and says how it is encoded.
func (a *answer) finish(o Options, q *request, st Step, body []byte) {
	enc := st.Encoding
	if enc == AsAccepted {
		enc = o.accepted(q.header.Get("Accept-Encoding"))
	}
	if enc != Identity {
		a.header.Set("Content-Encoding", string(enc))
	}
	if a.stream {
		a.encoder = enc
		return
	}
	if enc != Identity {
		body = o.compress(enc, body)
	}
	if b := st.Break; b == nil || b.Kind != BreakEnd {
		a.header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	a.frames = []frame{
		{role: delta, data: body[:len(body)/2], raw: true},
		{role: closing, data: body[len(body)/2:], raw: true},
	}
}

// ordinary answers as a healthy provider would. It returns the document, or
// sets the frames of a stream.
func (s *Server) ordinary(q *request, st Step, a *answer) []byte {
	a.header.Set("Content-Type", "application/json")
	switch {
	case q.broken != "":
		a.status = http.StatusBadRequest
		return text(q.errorBody(q.failure(a.status, &Error{Message: q.broken})))
	case q.route == RouteCountTokens:
		return text(obj{"input_tokens", tokens(len(q.body))})
	case q.route == RouteModels:
		return s.models(q, a)
	case q.route == RouteOther:
		return q.other(a)
	}
	r := st.reply(q)
	if q.stream {
		a.stream = true
		a.header.Set("Content-Type", mediaType(true))
		a.header.Set("Cache-Control", "no-cache")
		a.frames = r.frames()
		return nil
	}
	if st.Break != nil && st.Break.Kind == BreakError {
		// There is no event to carry it: some gateways answer 200 all the
		// same.
		return text(q.errorBody(q.failure(529, st.Error)))
	}
	if len(st.Chunks) == 0 {
		// The document is ready when the last word would have been streamed.
		a.delay, a.pace = a.pace*Duration(len(r.deltas)), 0
	}
	return r.whole()
}

// other answers what is no route of a provider.
func (q *request) other(a *answer) []byte {
	switch {
	case strings.EqualFold(q.header.Get("Upgrade"), "websocket"):
		a.status = http.StatusUpgradeRequired
	case q.path == "/" || q.path == "":
		return text(obj{"status", "ok"})
	case routeIsKnown(q.path):
		a.status = http.StatusMethodNotAllowed
	default:
		a.status = http.StatusNotFound
	}
	return text(q.errorBody(q.failure(a.status, &Error{Message: q.method + " " + q.path + " is not served here."})))
}

func routeIsKnown(path string) bool {
	r, _ := routeOf(path, &http.Request{})
	return r != RouteOther
}
