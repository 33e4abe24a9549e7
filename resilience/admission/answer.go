package admission

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"breakwater/resilience/hint"
	"breakwater/resilience/hint/errbody"
)

// bodyHead is how much of a body is searched for a stated cap (sheet §5.4).
const bodyHead = 4000

// Answer is what an upstream answered to a call.
type Answer struct {
	Status int
	Header map[string][]string
	Body   []byte // the head of an error body
	Now    time.Time
}

// heard is what an answer says about limits.
type heard struct {
	// From a 429.
	refused bool
	stated  time.Duration // the wait that the whole answer states
	wait    time.Duration // the one in the body
	typed   bool          // … and that is a google.rpc.RetryInfo
	cap     time.Duration // the spacing that a stated cap amounts to

	// From the headers of any other answer.
	over             bool  // over the limit
	limit, remaining int64 // requests; 0 and -1: not told
	reset            time.Duration
}

// hear reads an answer; it takes no lock.
func hear(a Answer) heard {
	s := heard{remaining: -1}
	if a.Status == 429 {
		s.refused = true
		body := errbody.Parse(a.Body)
		s.stated = hint.ParseBody(hint.Input{Status: a.Status, Header: a.Header, Now: a.Now}, body).Wait
		s.wait, s.typed = bodyWait(body, a)
		if n, per, ok := statedCap(a.Body); ok {
			s.cap = per / time.Duration(n)
		}
		return s
	}
	h := header(a.Header)
	if !h.speaksOfLimits() {
		return s // like most
	}
	s.over = strings.EqualFold(h.get("x-ratelimit-over-limit"), "yes")
	limit, ok := h.number("x-ratelimit-limit-requests", "anthropic-ratelimit-requests-limit")
	if !ok || limit <= 0 {
		return s
	}
	s.limit = limit
	if n, ok := h.number("x-ratelimit-remaining-requests", "anthropic-ratelimit-requests-remaining"); ok && n >= 0 {
		s.remaining = n
	}
	reset, ok := ParseReset(h.get("x-ratelimit-reset-requests", "anthropic-ratelimit-requests-reset"), a.Now)
	if s.reset = reset; !ok || reset <= 0 {
		s.reset = time.Minute
	}
	return s
}

// bodyWait returns the wait that the body states, and whether it comes from a
// typed RetryInfo.
func bodyWait(body errbody.Body, a Answer) (wait time.Duration, typed bool) {
	h := hint.FromBody(hint.Input{Status: a.Status, Now: a.Now}, body)
	if h.Stated {
		return h.Wait, h.Source == hint.SourceRetryInfo
	}
	for _, o := range body.Objects() {
		text, _ := o["retryDelay"].(string)
		if d, ok := hint.ParseDuration(text); ok && d > 0 {
			return min(d, hint.MaxStated), false
		}
	}
	return 0, false
}

// header finds values whatever the case of the names.
type header map[string][]string

// limitHeaders begin the names of the headers that tell limits.
var limitHeaders = [...]string{"x-ratelimit-", "anthropic-ratelimit-"}

// speaksOfLimits tells cheaply whether there is anything to be read.
func (h header) speaksOfLimits() bool {
	for name := range h {
		for _, start := range limitHeaders {
			if len(name) > len(start) && strings.EqualFold(name[:len(start)], start) {
				return true
			}
		}
	}
	return false
}

// get returns the first value under one of the names, or "".
func (h header) get(names ...string) string {
	for _, name := range names {
		for k, v := range h {
			if len(v) > 0 && strings.EqualFold(k, name) {
				return strings.TrimSpace(v[0])
			}
		}
	}
	return ""
}

func (h header) number(names ...string) (int64, bool) {
	f, err := strconv.ParseFloat(h.get(names...), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1e12 {
		return 0, false
	}
	return int64(f), true
}

// resetParts is the form "1h2m3s4ms".
var resetParts = regexp.MustCompile(`^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$`)

// ParseReset reads the value of a reset header: "1h2m3s4ms" or a part of it, a
// bare number of seconds, an epoch in seconds, or a moment (sheet §5.3). The
// result lies between 0 and hint.MaxStated.
func ParseReset(value string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if f, err := strconv.ParseFloat(value, 64); err == nil {
		switch {
		case math.IsNaN(f) || f < 0 || f > 1e14:
			return 0, false
		case f > 1.7e9:
			return stretch(time.UnixMilli(int64(f * 1000)).Sub(now)), true
		default:
			return span(value, time.Second), true
		}
	}
	if m := resetParts.FindStringSubmatch(value); m != nil && value != "" {
		return stretch(span(m[1], time.Hour) + span(m[2], time.Minute) + span(m[3], time.Second) + span(m[4], time.Millisecond)), true
	}
	if t, ok := hint.ParseInstant(value); ok {
		return stretch(t.Sub(now)), true
	}
	return 0, false
}

func stretch(d time.Duration) time.Duration { return min(max(0, d), hint.MaxStated) }

func span(digits string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	return time.Duration(min(f*float64(unit), float64(hint.MaxStated)))
}

// The forms in which a body names the limit it enforces.
var (
	capPer = regexp.MustCompile(`(?i)\b(\d{1,9})\s+requests?\s+(?:per|every|each|/)\s+(\d{1,6})?\s*(second|sec|s|minute|min|m|hour|hr|h|day|d)s?\b`)
	capRPM = regexp.MustCompile(`(?i)\b(\d{1,9})\s*rpm\b|\brpm\b\D{0,20}(\d{1,9})\b`)
)

// statedCap reads "N requests per X" and "N RPM"; X from 1 s to 24 h counts.
func statedCap(body []byte) (n int64, per time.Duration, ok bool) {
	text := string(body[:min(len(body), bodyHead)])
	if m := capPer.FindStringSubmatch(text); m != nil {
		n, _ = strconv.ParseInt(m[1], 10, 64)
		per = unit(m[3])
		if many, err := strconv.ParseInt(m[2], 10, 64); err == nil {
			per *= time.Duration(many)
		}
	} else if m := capRPM.FindStringSubmatch(text); m != nil {
		n, _ = strconv.ParseInt(m[1]+m[2], 10, 64)
		per = time.Minute
	}
	return n, per, n > 0 && per >= time.Second && per <= day
}

func unit(word string) time.Duration {
	switch word[0] | 0x20 {
	case 's':
		return time.Second
	case 'm':
		return time.Minute
	case 'h':
		return time.Hour
	default:
		return day
	}
}
