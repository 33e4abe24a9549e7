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

const (
	overLimitSpacing = 200 * time.Millisecond
	// pacingMargin is what a learned spacing stays below the even one (sheet §5.3).
	pacingMargin = 10 * time.Millisecond
	// afterPause is how many may start in the first minute after a pause (sheet
	// §5.4); after that the usual rules hold again (ruling 39).
	afterPause = 60
	maxLock    = day
	bodyHead   = 4000
)

// Answer is what an upstream answered to a call.
type Answer struct {
	Status int
	Header map[string][]string
	Body   []byte // the head of an error body
	Now    time.Time
}

// Lesson is what an answer has taught, apart from the pace.
type Lesson struct {
	// Lock is set when the model must be locked on this connection instead of
	// pausing the queue (guide §5, lockModelForLongBodyRetry).
	Lock time.Duration
	// Exact are the names to lock: the model, and the name the client asked for
	// when it is another. Neither is to be widened to a family.
	Exact []string
	// Pause is how long the queue starts nothing.
	Pause time.Duration
}

// Learn takes in what an answer says about the provider's limits (sheet §5.3,
// §5.4). Calls that now wait in vain are refused at once (P12).
func (q *Queues) Learn(call Call, a Answer) Lesson {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	l := q.find(call, now)
	if l == nil {
		return Lesson{}
	}
	var lesson Lesson
	if a.Status == 429 {
		lesson = l.refused(q, call, a, now)
	} else {
		l.readHeaders(q, a, now)
	}
	l.dispatch(q, now)
	return lesson
}

// refused learns from a 429: everything learned before was wrong.
func (l *limiter) refused(q *Queues, call Call, a Answer, now time.Time) (lesson Lesson) {
	paused := l.reserve.free(now)
	l.forget()
	delete(q.restored, l.key)
	q.dirty = true
	body := errbody.Parse(a.Body)
	wait, typed := bodyWait(body, a)
	budget := l.conn.rules.MaxWait
	if typed && l.scoped && wait > budget {
		lesson = Lesson{Lock: min(wait, maxLock), Exact: []string{call.Model}}
		if call.Alias != "" && call.Alias != call.Model {
			lesson.Exact = append(lesson.Exact, call.Alias)
		}
		wait = 0
	}
	if n, per, ok := statedCap(a.Body); ok && !l.conn.rules.OwnPace {
		if spacing := max(l.conn.rules.Spacing, per/time.Duration(n)); spacing <= budget {
			l.learned = spacing
			wait = max(wait, spacing)
		}
	}
	// A second 429 without a word about time does not lift a pause.
	if until := later(now.Add(wait), paused); until.After(now) {
		l.pause(until)
		lesson.Pause = until.Sub(now)
	}
	l.turnAway(later(l.held(now), now.Add(stated(a, body))), now)
	return lesson
}

// stated is the wait that the whole answer states; the connection is cooled for
// it, whatever the queue does.
func stated(a Answer, body errbody.Body) time.Duration {
	h := hint.ParseBody(hint.Input{Status: a.Status, Header: a.Header, Now: a.Now}, body)
	return h.Wait
}

// TurnAway tells that a connection cannot be used for wait: whoever queues for
// it and cannot wait that long is refused at once (P12). Nothing is paused; the
// caller has put the connection aside by its own means.
func (q *Queues) TurnAway(connection string, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for _, l := range q.limiters {
		if l.conn.ID == connection {
			l.turnAway(now.Add(wait), now)
		}
	}
}

// turnAway refuses every waiting call that could not start before its deadline.
func (l *limiter) turnAway(until, now time.Time) {
	l.refuse(func(t *ticket) *Error {
		if !until.After(t.deadline) {
			return nil
		}
		return l.heldBack(t.model, until, now)
	})
}

// pause starts nothing until then.
func (l *limiter) pause(until time.Time) {
	l.reserve = reservoir{on: true, amount: afterPause, next: until}
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

// readHeaders learns from the limits that an answer carries.
func (l *limiter) readHeaders(q *Queues, a Answer, now time.Time) {
	h := header(a.Header)
	if strings.EqualFold(h.get("x-ratelimit-over-limit"), "yes") {
		l.learned = overLimitSpacing
	}
	limit, ok := h.number("x-ratelimit-limit-requests", "anthropic-ratelimit-requests-limit")
	if !ok || limit <= 0 {
		return
	}
	if !l.conn.rules.OwnPace {
		l.learned = max(0, time.Duration(60_000/limit)*time.Millisecond-pacingMargin)
	}
	remaining, ok := h.number("x-ratelimit-remaining-requests", "anthropic-ratelimit-requests-remaining")
	known := Learned{Limit: limit, Remaining: -1}
	switch {
	case !ok || remaining < 0:
	case remaining*10 < limit:
		known.Remaining = remaining
		reset, ok := ParseReset(h.get("x-ratelimit-reset-requests", "anthropic-ratelimit-requests-reset"), a.Now)
		if !ok || reset <= 0 {
			reset = time.Minute
		}
		l.reserve = reservoir{on: true, left: remaining, amount: limit, next: now.Add(reset), again: true}
	case remaining*2 > limit:
		known.Remaining = remaining
		l.learned, l.reserve = 0, reservoir{}
	default:
		known.Remaining = remaining
	}
	known.Key, known.Connection, known.At = l.key, l.conn.ID, a.Now
	known.SpacingMs = l.spacing().Milliseconds()
	l.known, q.dirty = known, true
}

// header finds values whatever the case of the names.
type header map[string][]string

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
