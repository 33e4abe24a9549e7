package hint

import (
	"sort"
	"strings"
	"time"
)

// header looks names up ignoring case: maps that did not come from net/http
// keep the upstream's own spelling.
type header map[string][]string

// all returns the non-blank values of name.
func (h header) all(name string) []string {
	var keys []string
	for k := range h {
		if strings.EqualFold(k, name) {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	var values []string
	for _, k := range keys {
		for _, v := range h[k] {
			if v = strings.TrimSpace(v); v != "" {
				values = append(values, v)
			}
		}
	}
	return values
}

// get returns the first value of name, or "".
func (h header) get(name string) string {
	if v := h.all(name); len(v) > 0 {
		return v[0]
	}
	return ""
}

// fromHeaders returns the wait that the headers state: Retry-After in its
// forms, the rejected unified windows, then the reset headers. When both of
// the first speak, the later one counts.
func fromHeaders(h header, u unified, in Input) (find, bool) {
	f, ok := retryAfter(h, in.Now)
	if u.wait > 0 && (!ok || u.wait > f.wait) {
		return find{wait: u.wait, raw: u.raw, source: SourceUnified}, true
	}
	if in.Status == 429 {
		// A window of the login that is used up outlasts a shorter Retry-After.
		if c, used := codex(h, in.Now); used && (!ok || c.wait > f.wait) {
			return c, true
		}
	}
	if ok {
		return f, true
	}
	// Without a rejected window the reset headers of a subscription only tell
	// when a healthy window rolls over.
	for _, name := range resetNames {
		if name.left(h) {
			continue // a window with requests left states nothing (ruling 57)
		}
		for _, v := range h.all(name.reset) {
			if d, ok := ParseRetryAfter(v, in.Now); ok && d > 0 {
				return find{wait: d, raw: name.reset + ": " + v, source: SourceHeader}, true
			}
		}
	}
	if f, ok := resetAfter(h); ok {
		return f, true
	}
	if in.Status != 429 {
		return find{}, false
	}
	if f, ok := rateLimit(h); ok {
		return f, true
	}
	return exhausted(h, in.Now)
}

// resetName is a reset header and the ones that say what is left of its window.
type resetName struct {
	reset     string
	remaining []string
}

var (
	windowLeft = []string{"x-ratelimit-remaining", "x-rate-limit-remaining", "ratelimit-remaining"}
	resetNames = []resetName{
		{"x-ratelimit-reset", windowLeft}, {"x-rate-limit-reset", windowLeft}, {"ratelimit-reset", windowLeft},
		{"x-ratelimit-retry-after", nil},
	}
)

// left reports whether the headers say that something of the window is left.
func (n resetName) left(h header) bool {
	for _, name := range n.remaining {
		if left, known := remaining(h.get(name)); known {
			return left
		}
	}
	return false
}

// retryAfter reads retry-after-ms and retry-after, in this order, as the
// vendors' own clients do.
func retryAfter(h header, now time.Time) (find, bool) {
	for _, v := range h.all("retry-after-ms") {
		if d, ok := parseDecimal(v); ok && d.times(time.Millisecond) > 0 {
			return find{wait: d.times(time.Millisecond), raw: "retry-after-ms: " + v, source: SourceHeader}, true
		}
	}
	for _, v := range h.all("retry-after") {
		if d, ok := ParseRetryAfter(v, now); ok && d > 0 {
			return find{wait: d, raw: "retry-after: " + v, source: SourceHeader}, true
		}
	}
	return find{}, false
}

// families are the per-budget limit headers: what stands before and after the
// word of the field.
var families = []struct{ prefix, suffix string }{
	{"x-ratelimit-", "-requests"},
	{"x-ratelimit-", "-tokens"},
	{"anthropic-ratelimit-requests-", ""},
	{"anthropic-ratelimit-tokens-", ""},
	{"anthropic-ratelimit-input-tokens-", ""},
	{"anthropic-ratelimit-output-tokens-", ""},
}

// exhausted returns the latest reset among the budgets that are used up. A
// budget that still has something left does not explain the refusal; one that
// does not tell counts only when no other does.
func exhausted(h header, now time.Time) (find, bool) {
	var empty, silent find
	for _, f := range families {
		name := f.prefix + "reset" + f.suffix
		v := h.get(name)
		d, ok := ParseRetryAfter(v, now)
		if !ok || d <= 0 {
			continue
		}
		c := find{wait: d, raw: name + ": " + v, source: SourceHeader}
		left, known := remaining(h.get(f.prefix + "remaining" + f.suffix))
		switch {
		case known && left:
		case known && c.wait > empty.wait:
			empty = c
		case !known && c.wait > silent.wait:
			silent = c
		}
	}
	if empty.wait > 0 {
		return empty, true
	}
	return silent, silent.wait > 0
}

// remaining reads a remaining header: whether something is left, and whether
// it says so at all. Negative figures are how some gateways say "unknown".
func remaining(v string) (left, known bool) {
	d, ok := parseDecimal(v)
	return d.whole > 0 || d.billionth > 0, ok
}
