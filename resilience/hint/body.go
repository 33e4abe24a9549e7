package hint

import (
	"encoding/json"
	"strings"
	"time"

	"breakwater/resilience/hint/errbody"
)

// fromBody returns the wait that the body states: Google's typed details
// first, then the fields gateways use, then the words.
func fromBody(body errbody.Body, in Input) (find, bool) {
	if d, raw, ok := retryInfo(body); ok && d > 0 {
		return find{wait: d, raw: raw, source: SourceRetryInfo}, true
	}
	if f, ok := errorInfo(body, in.Now); ok {
		return f, true
	}
	for _, o := range body.Objects() {
		if f, ok := fromFields(o, in.Now); ok {
			return f, true
		}
	}
	return fromText(body.Words(), in)
}

// RetryInfo returns the delay of a google.rpc.RetryInfo detail anywhere in the
// body; zero is a valid delay. A retryDelay outside such a detail is ignored.
func RetryInfo(body errbody.Body) (time.Duration, bool) {
	d, _, ok := retryInfo(body)
	return d, ok
}

func retryInfo(body errbody.Body) (time.Duration, string, bool) {
	for _, o := range body.Objects() {
		if t, _ := o["@type"].(string); !strings.Contains(t, "RetryInfo") {
			continue
		}
		if d, raw, ok := span(o["retryDelay"], time.Second); ok {
			return d, "retryDelay: " + raw, true
		}
	}
	return 0, "", false
}

// errorInfo reads google.rpc.ErrorInfo metadata (P03).
func errorInfo(body errbody.Body, now time.Time) (find, bool) {
	for _, o := range body.Objects() {
		if t, _ := o["@type"].(string); !strings.Contains(t, "ErrorInfo") {
			continue
		}
		meta, _ := o["metadata"].(map[string]any)
		if d, raw, ok := span(meta["quotaResetDelay"], time.Second); ok && d > 0 {
			return find{wait: d, raw: "quotaResetDelay: " + raw, source: SourceBody}, true
		}
		if d, raw, ok := moment(meta["quotaResetTimeStamp"], now); ok && d > 0 {
			return find{wait: d, raw: "quotaResetTimeStamp: " + raw, source: SourceBody}, true
		}
	}
	return find{}, false
}

// fields are the JSON names under which gateways state a wait, in order of
// trust. unit is that of a bare number; zero means that a bare number can only
// be an epoch.
var fields = []struct {
	name string
	unit time.Duration
}{
	{"retry_after_ms", time.Millisecond},
	{"retryAfterMs", time.Millisecond},
	{"retry_after", time.Second},
	{"retryAfter", time.Second},
	{"retry_after_seconds", time.Second},
	{"retryAfterSeconds", time.Second},
	{"resets_in_seconds", time.Second},
	{"reset_in_seconds", time.Second},
	{"reset_seconds", time.Second},
	{"resets_at", 0},
	{"reset_at", 0},
	{"resetAt", 0},
	{"reset_time", 0},
	{"resetTime", 0},
}

// headerFields are header names that aggregators copy into the body.
var headerFields = []string{"retry-after", "x-ratelimit-reset"}

// fromFields reads the first usable field of one object.
func fromFields(o map[string]any, now time.Time) (find, bool) {
	for _, f := range fields {
		v, ok := o[f.name]
		if !ok {
			continue
		}
		d, raw, ok := moment(v, now)
		if !ok && f.unit > 0 {
			d, raw, ok = span(v, f.unit)
		}
		if ok && d > 0 {
			return find{wait: d, raw: f.name + ": " + raw, source: SourceBody}, true
		}
	}
	for _, name := range headerFields {
		if name != "retry-after" && leftInFields(o) {
			continue // ruling 57
		}
		for k, v := range o {
			if !strings.EqualFold(k, name) {
				continue
			}
			raw := text(v)
			if d, ok := ParseRetryAfter(raw, now); ok && d > 0 {
				return find{wait: d, raw: name + ": " + raw, source: SourceBody}, true
			}
		}
	}
	return find{}, false
}

// leftInFields reports whether headers copied into the body say that something
// of the window is left.
func leftInFields(o map[string]any) bool {
	for k, v := range o {
		for _, name := range windowLeft {
			if strings.EqualFold(k, name) {
				left, known := remaining(text(v))
				return known && left
			}
		}
	}
	return false
}

// text returns a JSON string or number as it was written.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return plain(v.String())
	}
	return ""
}

// plain rewrites what a JSON encoder made of a large or round number: an
// exponent is read only where the number is an integer.
func plain(s string) string {
	if !strings.ContainsAny(s, "eE") {
		return s
	}
	f, err := json.Number(s).Float64()
	if err != nil || f < 0 || f > 1e15 {
		return s
	}
	b, err := json.Marshal(f)
	if err != nil {
		return s
	}
	return string(b)
}

// span reads a wait: a string with or without a unit, a number of units, or
// the object form {"seconds":…,"nanos":…}.
func span(v any, unit time.Duration) (time.Duration, string, bool) {
	if o, ok := v.(map[string]any); ok {
		s, okS := parseDecimal(text(o["seconds"]))
		n, okN := parseDecimal(text(o["nanos"]))
		d := min(s.times(time.Second)+n.times(time.Nanosecond), maxSpan)
		return d, d.String(), okS || okN
	}
	raw := text(v)
	if d, ok := parseDecimal(raw); ok {
		return d.times(unit), raw, true
	}
	d, ok := ParseDuration(raw)
	return d, raw, ok
}

// moment reads a date or an epoch as the wait until then.
func moment(v any, now time.Time) (time.Duration, string, bool) {
	raw := text(v)
	at, ok := ParseInstant(raw)
	if !ok {
		return 0, raw, false
	}
	return at.Sub(now), raw, true
}
