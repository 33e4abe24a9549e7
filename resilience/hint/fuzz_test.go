package hint

import (
	"testing"
	"time"
)

// FuzzParse: whatever an upstream writes, a hint is positive, a whole number of
// milliseconds, within its ceiling, and the same when read again.
func FuzzParse(f *testing.F) {
	for _, s := range []struct{ header, value, body string }{
		{"Retry-After", "120", ""},
		{"retry-after", "Wed, 02 Jan 2030 03:05:05 GMT", ""},
		{"Retry-After", "1e400", ""},
		{"x-ratelimit-reset-tokens", "6m0s", ""},
		{"anthropic-ratelimit-unified-reset", "1893564000", ""},
		{"retry-after-ms", "99999999999999999999", ""},
		{"", "", `{"error":{"details":[{"@type":"RetryInfo","retryDelay":"26.66s"}]}}`},
		{"", "", `{"error":{"message":"{\"retry_after\":1e15}"}}`},
		{"", "", "limit reached, resets 8pm (Asia/Tokyo)"},
		{"", "", "resets Feb 29, 2028, 2:30am (Europe/Paris)"},
		{"", "", "Try again in 4 days 20 hours and 9 minutes."},
		{"", "", "请在 30 秒后重试"},
		{"", "", "wait until 9999-12-31T23:59:59.999999999-14:00"},
	} {
		f.Add(s.header, s.value, s.body, int64(1893553445), int64(0))
	}
	f.Fuzz(func(t *testing.T, name, value, body string, sec, ceiling int64) {
		now := time.Unix(sec%(1<<34), 0)
		in := Input{Status: 429, Header: map[string][]string{name: {value}}, Body: []byte(body), Now: now, Ceiling: time.Duration(ceiling)}
		h := Parse(in)
		if again := Parse(in); again != h {
			t.Fatalf("read twice: %+v, then %+v", h, again)
		}
		if !h.Stated {
			if h.Wait != 0 || h.Raw != "" || h.Source != "" {
				t.Fatalf("no hint, but %+v", h)
			}
			return
		}
		limit := MaxStated
		if in.Ceiling > 0 && in.Ceiling < limit {
			limit = in.Ceiling
		}
		if h.Wait <= 0 || h.Wait > limit || h.Wait < limit && h.Wait%time.Millisecond != 0 {
			t.Fatalf("wait %v, ceiling %v", h.Wait, limit)
		}
		if len(h.Raw) > maxRaw {
			t.Fatalf("raw of %d bytes", len(h.Raw))
		}
	})
}

// FuzzDurations: the small parsers never overflow.
func FuzzDurations(f *testing.F) {
	for _, s := range []string{"60", "5m", "1h2m3s", "3 days", "1893553565000", "Wed Jan  2 03:05:05 2030", "99999999999999999999999w", "0.9999999999s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, ok := ParseDuration(s); d < 0 || d > maxSpan || !ok && d != 0 {
			t.Fatalf("%q gives %v, %v", s, d, ok)
		}
		if d, ok := ParseRetryAfter(s, t0); d < 0 || !ok && d != 0 {
			t.Fatalf("%q gives %v, %v", s, d, ok)
		}
	})
}
