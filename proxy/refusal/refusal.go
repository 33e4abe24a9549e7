// Package refusal says what a client gets when no target answers its request,
// as its profile needs it: status, headers and body, or the event that ends a
// stream.
package refusal

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"breakwater/proxy/dialect"
)

// Request is what a refusal depends on besides its cause.
type Request struct {
	Dialect dialect.Dialect
	Client  dialect.Profile
	Model   string // as the client named it
	// Leases tells that the client works under leases, and obeys any Retry-After.
	Leases bool
	// Relayed tells that another Breakwater sent the request.
	Relayed bool
	// Selected is the id of the connection that was used last, empty for none.
	Selected string
	Now      time.Time // in real time
}

// Notice is an error of our own before it is put into the client's dialect.
type Notice struct {
	dialect.Refusal
	// Wait is when asking again may help; zero when waiting does not.
	Wait time.Duration
	// Exhausted tells that connections exist and all failed or rest: worth a
	// notification.
	Exhausted bool
	// Manual tells that a person ends the cause, whatever Wait says.
	Manual bool
}

// Answer is what the client gets.
type Answer struct {
	Status int
	// Header holds the headers to set, without Content-Length.
	Header http.Header
	Body   []byte
	// Event ends a stream whose headers were sent already. It is nil when the
	// client would rather see a cut (ruling 44).
	Event []byte
	Code  string
	Wait  time.Duration
	// Until is when the cause ends by itself, zero when it does not or that is
	// unknown.
	Until time.Time
	// Forwarded tells that an upstream's refusal is passed on.
	Forwarded bool
}

// HeaderSelected names the connection that was used, or the last that failed
// (combos sheet §2.9).
const HeaderSelected = "X-Omniroute-Selected-Connection-Id"

// codeBreakerOpen is the guide's code for a provider whose breaker is open.
const codeBreakerOpen = "provider_circuit_open"

// Answer puts a notice into the client's dialect.
func (q *Request) Answer(n Notice) Answer {
	a := q.answer(n.Refusal, n.Wait)
	a.Header.Set("Content-Type", "application/json")
	if n.Wait > 0 {
		a.Header.Set("Retry-After", strconv.Itoa(q.retryAfter(n.Wait)))
		if !n.Manual {
			a.Until = q.Now.Add(n.Wait)
		}
	}
	if n.Code == codeBreakerOpen {
		a.Header.Set("X-Omniroute-Provider-Breaker", "open")
	}
	return a
}

// answer fills in what all answers have in common.
func (q *Request) answer(r dialect.Refusal, wait time.Duration) Answer {
	a := Answer{Status: r.Status, Header: http.Header{}, Body: q.Dialect.ErrorBody(r), Code: r.Code, Wait: wait, Event: q.event(r, wait)}
	if q.Selected != "" {
		a.Header.Set(HeaderSelected, q.Selected)
	}
	return a
}

// event is the refusal as the end of a stream, nil where the stream is cut
// instead (rulings 44 and 45).
func (q *Request) event(r dialect.Refusal, wait time.Duration) []byte {
	if q.Client.CutBrokenStream {
		return nil
	}
	if q.Client.Client == dialect.Codex && wait > 0 {
		r.Message += fmt.Sprintf(" Please try again in %ds.", q.retryAfter(wait))
	}
	return q.Dialect.ErrorEvent(r)
}

// BrokenStream is the event that ends a stream which broke after its first
// output, nil where the stream is cut instead (ruling 44); connection is its
// name.
func (q *Request) BrokenStream(connection string) []byte {
	return q.event(dialect.Refusal{
		Status: http.StatusBadGateway, Type: "api_error", Code: "upstream_stream_broken",
		Message: "The stream from " + connection + " broke off before the answer was complete. Please try again.",
	}, 0)
}

// retryAfter is the wait in whole seconds that the client obeys: at least one,
// at most what does not make it give up (ruling 41).
func (q *Request) retryAfter(wait time.Duration) int {
	// Deadlines are rounded; a few milliseconds must not become a second.
	s := max(int(math.Ceil((wait - 10*time.Millisecond).Seconds())), 1)
	if limit := int(q.Client.RetryAfterCap.Seconds()); limit > 0 && !q.Leases {
		s = min(s, limit)
	}
	return s
}
