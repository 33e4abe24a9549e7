package proxy

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/claude"
	"breakwater/resilience/outcome"
)

// worthHandingOn returns an upstream's answer that tells the client more than
// we could: that something is wrong with the request for this model, or, for a
// probe, whatever it was; or, last of all, with the login that it sent itself
// (ruling 43).
func (x *exchange) worthHandingOn() *failure {
	if f := x.refusalOfRequest(); f != nil {
		return f
	}
	return x.ownRefusal()
}

// refusalOfRequest is the first refusal that speaks of the request itself.
func (x *exchange) refusalOfRequest() *failure {
	for i := range x.failures {
		f := &x.failures[i]
		own := f.outcome.Class == outcome.Neutral && f.outcome.Scope != outcome.ScopeLocal
		unknownModel := f.outcome.Status == http.StatusNotFound || f.outcome.Status == http.StatusGone
		if f.header != nil && (own || unknownModel) {
			return f
		}
	}
	return nil
}

// ownRefusal is the refusal of the client's own login (ruling 43).
func (x *exchange) ownRefusal() *failure {
	last := x.lastFailure()
	if last != nil && last.header != nil && last.passthrough() && isAuthStatus(last.outcome.Status) {
		return last
	}
	return nil
}

func isAuthStatus(status int) bool { return status == 401 || status == 402 || status == 403 }

// passthrough reports whether the client's own login was refused.
func (f *failure) passthrough() bool { return f.route.Credential() == catalog.PassthroughCredential }

// handOn passes an upstream's refusal to the client as it came: no other
// target would answer better.
func (x *exchange) handOn(f failure) {
	x.act.ConnectionID, x.act.ConnectionName, x.act.Provider = f.route.Record.ID, f.route.Record.Name, f.route.Provider.ID
	x.act.EgressIP = x.s.egress.known(f.route)
	x.act.FailedOver = len(x.failures) > 0
	status, body, kind := f.outcome.Status, f.body, ""
	ref := dialect.Refusal{
		Status: status, Type: dialect.TypeFor(status), Code: string(f.outcome.Reason),
		Message: f.route.Record.Name + " refused the request with status " + strconv.Itoa(status) + ".",
	}
	if len(body) == 0 || f.header == nil {
		body, kind = x.rt.dialect.ErrorBody(ref), "application/json"
	}
	x.reply(status, "failed", body, ref, f.outcome.Cooldown, func(h http.Header) {
		if f.header != nil {
			upstream.CopyAnswerHeader(h, f.header)
			if !f.wall {
				x.tame(h, status, f.outcome.Cooldown)
			}
		}
		if kind != "" {
			h.Set("Content-Type", kind)
		}
	})
}

// tame takes out of a refusal that is handed on what would make the client
// give up although it should wait (rulings 41 and 42), and adds what it needs.
func (x *exchange) tame(h http.Header, status int, wait time.Duration) {
	if !retryableStatus(status) {
		return
	}
	if strings.EqualFold(h.Get("X-Should-Retry"), "false") {
		h.Del("X-Should-Retry")
	}
	if status != http.StatusTooManyRequests {
		x.capRetryAfter(h)
		return
	}
	for name := range h {
		if claude.IsUnified(name) {
			delete(h, name)
		}
	}
	if h.Get("Retry-After") == "" {
		h.Set("Retry-After", strconv.Itoa(x.retryAfter(wait))) // without it Codex gives up
	}
	x.capRetryAfter(h)
}

// retryableStatus tells which statuses clients try again by themselves.
func retryableStatus(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
}

// capRetryAfter keeps the wait within what the client obeys.
func (x *exchange) capRetryAfter(h http.Header) {
	limit, given := x.client.RetryAfterCap, h.Get("Retry-After")
	if limit <= 0 || given == "" {
		return
	}
	wait, err := strconv.ParseFloat(strings.TrimSpace(given), 64)
	if err != nil {
		at, err := http.ParseTime(given)
		if err != nil {
			h.Set("Retry-After", "1")
			return
		}
		wait = time.Until(at).Seconds()
	}
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(min(max(wait, 1), limit.Seconds())))))
}

// walls remembers how the limits of passthrough connections were told, so that
// the next request gets the same answer while the connection rests.
type walls struct {
	mu   sync.Mutex
	last map[*resilience.Conn]failure
}

func (w *walls) put(f failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[*resilience.Conn]failure{}
	}
	w.last[f.route.Conn] = f
}

func (w *walls) get(e resilience.Exclusion) (failure, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, ok := w.last[e.Conn]
	return f, ok && e.Reason == resilience.SkipCooling && !e.Until.IsZero() && !e.Until.After(f.until)
}

// isWall reports whether a failure is the limit of the client's own
// subscription, told in the form that the client knows.
func (f *failure) isWall() bool {
	if f.outcome.Status != http.StatusTooManyRequests || f.header == nil || !f.passthrough() {
		return false
	}
	for name := range f.header {
		if claude.IsUnified(name) {
			return true
		}
	}
	return false
}

// wall returns the original refusal when nothing is left but the limit of the
// client's own subscription and it lasts: the client can say so itself, with
// the end of it (ruling 42).
func (x *exchange) wall(plan resilience.Plan) *failure {
	now := time.Now()
	if wait, waits := x.soonest(plan); !waits || !claude.HandsOnWall(now, now.Add(wait), true, true) {
		return nil // each of those below is asked whose login it is
	}
	var found *failure
	for i := range x.failures {
		f := &x.failures[i]
		switch {
		case f.isWall():
			x.s.walls.put(*f)
			found = f
		case !waitsFor(f.outcome):
			return nil
		}
	}
	for _, e := range plan.Excluded {
		if f, ok := x.s.walls.get(e); ok && found == nil {
			f.header = f.header.Clone()
			f.header.Del("Retry-After") // it counted from another moment
			found = &f
		}
	}
	if found != nil {
		found.wall = true
	}
	return found
}
