package refusal

import (
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/claude"
)

// Forward passes an upstream's refusal on as it came: no other target would
// answer better. The failure's Header holds what a client may see. Untouched
// keeps even the headers that make the client stop (ruling 42).
func (q *Request) Forward(f *resilience.Failure, untouched bool) Answer {
	status, wait := f.Outcome.Status, f.Outcome.Cooldown
	a := q.answer(dialect.Refusal{
		Status: status, Type: dialect.TypeFor(status), Code: string(f.Outcome.Reason),
		Message: f.Name + " refused the request with status " + strconv.Itoa(status) + ".",
	}, wait)
	a.Forwarded = true
	selected := a.Header
	a.Header = http.Header{}
	if f.Answered() {
		a.Header = http.Header(f.Header).Clone()
		if !untouched {
			q.tame(a.Header, status, wait)
		}
	}
	if len(f.Body) == 0 || !f.Answered() {
		a.Header.Set("Content-Type", "application/json")
	} else {
		a.Body = f.Body
	}
	maps.Copy(a.Header, selected)
	return a
}

// tame takes out of a forwarded refusal what would make the client give up
// although it should wait (rulings 41 and 42), and adds what it needs.
func (q *Request) tame(h http.Header, status int, wait time.Duration) {
	if !retried(status) {
		return
	}
	if strings.EqualFold(h.Get("X-Should-Retry"), "false") {
		h.Del("X-Should-Retry")
	}
	if status == http.StatusTooManyRequests {
		for name := range h {
			if claude.IsUnified(name) {
				delete(h, name)
			}
		}
		if h.Get("Retry-After") == "" {
			h.Set("Retry-After", strconv.Itoa(q.retryAfter(wait))) // without it Codex gives up
		}
	}
	q.capRetryAfter(h)
}

// retried reports whether clients try again by themselves after a status.
func retried(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooManyRequests || status >= 500
}

// capRetryAfter keeps the wait within what the client obeys.
func (q *Request) capRetryAfter(h http.Header) {
	limit, given := q.Client.RetryAfterCap, h.Get("Retry-After")
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
		wait = at.Sub(q.Now).Seconds()
	}
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(min(max(wait, 1), limit.Seconds())))))
}
