// Package hint reads "when may I come back" from an upstream's refusal:
// headers, typed JSON and prose.
package hint

import (
	"strings"
	"time"

	"breakwater/resilience/hint/errbody"
)

// The ceilings of a stated wait (ruling 10). A longer one is clamped, never
// discarded; the raw words are kept for display.
const (
	// MaxStated bounds every wait an upstream states.
	MaxStated = 30 * 24 * time.Hour
	// MaxUnified bounds the anthropic-ratelimit-unified windows (P06).
	MaxUnified = 7 * 24 * time.Hour
)

// Where a hint was found.
const (
	SourceHeader    = "header"
	SourceUnified   = "unified"
	SourceRetryInfo = "google_rpc_retry_info"
	SourceBody      = "body"
)

// Reach says what the anthropic-ratelimit-unified headers of a refusal speak
// of.
type Reach uint8

// The reaches.
const (
	// ReachUnknown: the headers say nothing about it.
	ReachUnknown Reach = iota
	// ReachAccount: a window of the whole subscription is used up.
	ReachAccount
	// ReachModel: only a window that belongs to some models is used up.
	ReachModel
)

// Input is what a refusal looks like.
type Input struct {
	// Status is the HTTP status; the per-family reset headers are read on a
	// 429 only, because healthy answers carry them too.
	Status int
	// Header holds the response headers; keys are compared ignoring case.
	Header map[string][]string
	// Body is the head of the response body.
	Body []byte
	// Now is the present.
	Now time.Time
	// Ceiling bounds the wait; zero means MaxStated, larger values too.
	Ceiling time.Duration
	// Zone is where clock times without a zone are read; nil means UTC.
	Zone *time.Location
}

// Hint is a wait that the upstream stated. The zero value is no hint.
type Hint struct {
	// Stated tells that there is a usable hint: Wait is positive.
	Stated bool
	// Wait is rounded up to the millisecond and lies within the ceiling.
	Wait time.Duration
	// Until is the moment after Wait, in UTC.
	Until time.Time
	// Source is one of the Source constants.
	Source string
	// Raw is the upstream's own words, at most 160 bytes, unclamped.
	Raw string
	// Clamped tells that the upstream asked for more than the ceiling.
	Clamped bool
	// Reach is set from unified headers, with or without a usable wait.
	Reach Reach
}

// find is a candidate before rounding and clamping.
type find struct {
	wait   time.Duration
	raw    string
	source string
}

// Parse looks at headers, then at typed JSON, then at prose, and returns the
// first wait that lies in the future (sheet §3.9).
func Parse(in Input) Hint {
	return ParseBody(in, errbody.Parse(in.Body))
}

// ParseBody is Parse for a caller that has read the body already; in.Body is
// ignored.
func ParseBody(in Input, body errbody.Body) Hint {
	head := header(in.Header)
	window := readUnified(head, in.Now)
	if f, ok := fromHeaders(head, window, in); ok {
		return in.hint(f, window.reach)
	}
	if f, ok := fromBody(body, in); ok {
		return in.hint(f, window.reach)
	}
	return Hint{Reach: window.reach}
}

// FromBody reads the body alone: the reset that an upstream wrote beside its
// headers (sheet §3.4, step 13).
func FromBody(in Input, body errbody.Body) Hint {
	if f, ok := fromBody(body, in); ok {
		return in.hint(f, ReachUnknown)
	}
	return Hint{}
}

func (in Input) hint(f find, reach Reach) Hint {
	ceiling := MaxStated
	if in.Ceiling > 0 && in.Ceiling < ceiling {
		ceiling = in.Ceiling
	}
	if f.source == SourceUnified && ceiling > MaxUnified {
		ceiling = MaxUnified
	}
	h := Hint{Stated: true, Wait: roundUp(min(f.wait, maxSpan)), Source: f.source, Raw: quote(f.raw), Reach: reach}
	if h.Wait > ceiling {
		h.Wait, h.Clamped = ceiling, true
	}
	h.Until = in.Now.Add(h.Wait).UTC()
	return h
}

// roundUp rounds to whole milliseconds, upwards: a wait that is a hair too
// short is refused again, and none may become zero (P03).
func roundUp(d time.Duration) time.Duration {
	if r := d % time.Millisecond; r > 0 {
		d += time.Millisecond - r
	}
	return d
}

// maxRaw bounds what is kept of the upstream's own words.
const maxRaw = 160

// quote makes words safe for one line of display.
func quote(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(s) > maxRaw {
		s = strings.ToValidUTF8(s[:maxRaw], "")
	}
	return s
}
