package proxy

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/claude"
)

// forward passes an upstream's refusal to the client as it came: no other
// target would answer better. Untouched keeps even the headers that make the
// client stop (ruling 42).
func (x *exchange) forward(f resilience.Failure, untouched bool) {
	x.act.ConnectionID, x.act.ConnectionName, x.act.Provider, x.act.EgressIP = f.Connection, f.Name, f.Provider, ""
	if r, ok := x.s.svc.Route(f.Connection); ok {
		x.act.EgressIP = x.s.egress.known(r)
	}
	x.act.FailedOver = len(x.failures) > 0
	status, body, kind := f.Outcome.Status, f.Body, ""
	ref := dialect.Refusal{
		Status: status, Type: dialect.TypeFor(status), Code: string(f.Outcome.Reason),
		Message: f.Name + " refused the request with status " + strconv.Itoa(status) + ".",
	}
	if len(body) == 0 || !f.Answered() {
		body, kind = x.rt.dialect.ErrorBody(ref), "application/json"
	}
	x.reply(status, "failed", body, ref, f.Outcome.Cooldown, func(h http.Header) {
		if f.Answered() {
			upstream.CopyAnswerHeader(h, f.Header)
			if !untouched {
				x.tame(h, status, f.Outcome.Cooldown)
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

// walls remembers how the limits of passthrough connections were reported, so
// that the next request gets the same answer while the connection rests.
type walls struct {
	mu   sync.Mutex
	last map[string]resilience.Failure // by connection
}

func (w *walls) put(f resilience.Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]resilience.Failure{}
	}
	w.last[f.Connection] = f
}

func (w *walls) get(e resilience.Exclusion) (resilience.Failure, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, ok := w.last[e.Conn.ID()]
	return f, ok && e.Reason == resilience.SkipCooling && !e.Until.IsZero() && !e.Until.After(f.Until)
}

// wall returns the original refusal when nothing is left but the limit of the
// client's own subscription and it lasts (ruling 42).
func (x *exchange) wall(plan resilience.Plan) *resilience.Failure {
	if wait, waits := x.soonest(plan); !waits || !resilience.ForwardsWall(wait) {
		return nil
	}
	found, ok := resilience.SubscriptionWalls(x.failures)
	for _, f := range found {
		x.s.walls.put(*f)
	}
	switch {
	case !ok:
		return nil
	case len(found) > 0:
		return found[len(found)-1]
	}
	for _, e := range plan.Excluded {
		if f, ok := x.s.walls.get(e); ok {
			h := http.Header(f.Header).Clone()
			h.Del("Retry-After") // it counted from another moment
			f.Header = h
			return &f
		}
	}
	return nil
}
