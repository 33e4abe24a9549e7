package hint

import (
	"math/bits"
	"strings"
	"time"
)

// maxSpan is where spans saturate: far above every ceiling, far below the
// overflow of time.Duration.
const maxSpan = 100 * 365 * 24 * time.Hour

// farFuture is where absolute times saturate.
var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// decimal is a number without sign: billionths keep "26.66" exact.
type decimal struct {
	whole     uint64 // saturates
	billionth uint64
}

// scanDecimal reads digits with an optional fraction and returns how many
// bytes it took; 0 when s does not begin with a digit.
func scanDecimal(s string) (d decimal, n int) {
	for n < len(s) && isDigit(s[n]) {
		if d.whole < 1e18 {
			d.whole = d.whole*10 + uint64(s[n]-'0')
		}
		n++
	}
	if n == 0 || n+1 >= len(s) || s[n] != '.' || !isDigit(s[n+1]) {
		return d, n
	}
	n++
	for scale := uint64(1e8); n < len(s) && isDigit(s[n]); n++ {
		d.billionth += uint64(s[n]-'0') * scale
		scale /= 10
	}
	return d, n
}

// parseDecimal reads the whole of s; signs, exponents and trailing words make
// it no number.
func parseDecimal(s string) (decimal, bool) {
	d, n := scanDecimal(s)
	return d, n > 0 && n == len(s)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// times returns d units as a span, saturated at maxSpan.
func (d decimal) times(unit time.Duration) time.Duration {
	if d.whole >= uint64(maxSpan/unit) {
		return maxSpan
	}
	hi, lo := bits.Mul64(d.billionth, uint64(unit))
	frac, _ := bits.Div64(hi, lo, 1e9) // hi < 1e9, as unit is below 2^63
	return min(time.Duration(d.whole)*unit+time.Duration(frac), maxSpan)
}

// epoch reports whether d is a moment rather than a span: 1e9 and more are
// seconds since 1970, 1e12 and more milliseconds (P05).
func (d decimal) epoch() (time.Time, bool) {
	switch {
	case d.whole >= 253370764800000:
		return farFuture, true
	case d.whole >= 1e12:
		return time.UnixMilli(int64(d.whole)), true
	case d.whole >= 1e9:
		return time.Unix(int64(d.whole), int64(d.billionth)), true
	}
	return time.Time{}, false
}

// units maps the spellings of a unit to its length.
var units = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond, "msecs": time.Millisecond,
	"millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day,
	"w": 7 * day, "week": 7 * day, "weeks": 7 * day,
	"秒": time.Second, "秒钟": time.Second, "分": time.Minute, "分钟": time.Minute,
	"小时": time.Hour, "天": day,
}

const day = 24 * time.Hour

// scanSpan reads "2h7m23s", "1 day, 3 hours and 5 minutes" or "26.66s" from
// the beginning of s (lower case) and returns how many bytes it took. Every
// number needs a unit.
func scanSpan(s string) (sum time.Duration, n int) {
	for {
		rest := s[n:]
		if n > 0 {
			rest = strings.TrimLeft(rest, " ,")
			rest = strings.TrimPrefix(rest, "and ")
		}
		d, used := scanDecimal(rest)
		if used == 0 {
			return sum, n
		}
		word := strings.TrimLeft(rest[used:], " ")
		size := unitLen(word)
		unit, ok := units[word[:size]]
		if !ok {
			return sum, n
		}
		sum = min(sum+d.times(unit), maxSpan)
		n = len(s) - len(word) + size
	}
}

// unitLen returns the length of the letters at the beginning of s.
func unitLen(s string) int {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r == 'µ' || r == 'μ'
		if !letter && !strings.ContainsRune("秒钟分小时天", r) {
			return i
		}
	}
	return len(s)
}

// ParseDuration reads a span in the spellings that upstreams use: "33s",
// "26.66s", "1500ms", "6m0s", "2H", "3 days 4 hours", or a bare number, which
// counts seconds. Negative, signed or exponent forms are no span. The result
// saturates far above every ceiling instead of overflowing.
func ParseDuration(s string) (time.Duration, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if d, ok := parseDecimal(s); ok {
		return d.times(time.Second), true
	}
	if d, n := scanSpan(s); n > 0 && n == len(s) {
		return d, true
	}
	return 0, false
}

// ParseRetryAfter reads the value of a Retry-After header: seconds with or
// without a fraction, a span with units, an epoch in seconds or milliseconds,
// or a date. A moment that has passed gives 0 and true; what cannot be read
// gives false.
func ParseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	if at, ok := ParseInstant(value); ok {
		return max(at.Sub(now), 0), true
	}
	return ParseDuration(value)
}

// ParseInstant reads a moment: an epoch of 1e9 or more, an HTTP date in any of
// its three forms, or RFC 3339.
func ParseInstant(value string) (time.Time, bool) {
	value = strings.TrimSpace(value)
	if d, ok := parseDecimal(value); ok {
		return d.epoch()
	}
	return parseDate(value)
}
