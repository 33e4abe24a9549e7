package hint

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// t0 is a Wednesday (ruling 36); its epoch is 1893553445.
var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func headers(pairs ...string) map[string][]string {
	h := map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = append(h[pairs[i]], pairs[i+1])
	}
	return h
}

// check is one refusal and the wait that must be read from it; 0 is no hint.
type check struct {
	name   string
	header map[string][]string
	body   string
	now    time.Time
	want   time.Duration
	source string
}

func run(t *testing.T, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			now := c.now
			if now.IsZero() {
				now = t0
			}
			h := Parse(Input{Status: 429, Header: c.header, Body: []byte(c.body), Now: now})
			if h.Stated != (c.want > 0) || h.Wait != c.want {
				t.Fatalf("wait %v (stated %v, %q), want %v", h.Wait, h.Stated, h.Raw, c.want)
			}
			if c.source != "" && h.Source != c.source {
				t.Errorf("source %q, want %q", h.Source, c.source)
			}
			if h.Stated && (!h.Until.Equal(now.Add(h.Wait)) || h.Raw == "") {
				t.Errorf("until %v and raw %q do not fit the wait %v", h.Until, h.Raw, h.Wait)
			}
		})
	}
}

func TestRetryAfterHeader(t *testing.T) {
	retry := func(v string) map[string][]string { return headers("Retry-After", v) }
	run(t, []check{
		{name: "P01 IMF date", header: retry("Wed, 02 Jan 2030 03:05:05 GMT"), want: time.Minute, source: SourceHeader},
		{name: "P01 RFC 850 date", header: retry("Wednesday, 02-Jan-30 03:05:05 GMT"), want: time.Minute, source: SourceHeader},
		{name: "P01 asctime date", header: retry("Wed Jan  2 03:05:05 2030"), want: time.Minute},
		{name: "P01 date in the past", header: retry("Wed, 02 Jan 2030 03:03:05 GMT")},
		{name: "P04 weeks", header: retry("1587827"), want: 1587827 * time.Second},
		{name: "P04 ten digits", header: retry("9999999999"), want: MaxStated},
		{name: "P04 more digits than fit", header: retry(strings.Repeat("9", 40)), want: MaxStated},
		{name: "P04 negative", header: retry("-5")},
		{name: "P04 exponent", header: retry("1e400")},
		{name: "P04 fraction", header: retry("12.5"), want: 12500 * time.Millisecond},
		{name: "P04 fraction of a millisecond", header: retry("0.0001"), want: time.Millisecond},
		{name: "P05 epoch seconds", header: retry("1893553565"), want: 2 * time.Minute},
		{name: "P05 epoch milliseconds", header: retry("1893553565000"), want: 2 * time.Minute},
		{name: "P05 span", header: retry("120"), want: 2 * time.Minute},
		{name: "zero", header: retry("0")},
		{name: "RFC 3339", header: retry("2030-01-02T04:05:05+01:00"), want: time.Minute},
		{name: "RFC 3339 with a fraction", header: retry("2030-01-02T03:04:05.5Z"), want: 500 * time.Millisecond},
		{name: "numeric zone", header: retry("Wed, 2 Jan 2030 04:05:05 +0100"), want: time.Minute},
		{name: "US zone", header: retry("Tue, 01 Jan 2030 22:05:05 EST"), want: time.Minute},
		{name: "zone nobody knows", header: retry("Wed, 02 Jan 2030 03:05:05 XYZ")},
		{name: "impossible offset", header: retry("2030-01-02T03:05:05+99:00")},
		{name: "date without a zone", header: retry("2030-01-02T03:05:05")},
		{name: "case 154 any spelling of the name", header: headers("rEtRy-aFtEr", "30"), want: 30 * time.Second},
		{name: "case 154 lower case", header: headers("retry-after", "45"), want: 45 * time.Second},
		{name: "case 154 upper case", header: headers("RETRY-AFTER", "60"), want: time.Minute},
		{name: "blank first value", header: headers("Retry-After", " ", "Retry-After", "7"), want: 7 * time.Second},
		{name: "milliseconds go first", header: headers("retry-after-ms", "1500", "retry-after", "2"), want: 1500 * time.Millisecond},
		{name: "unreadable milliseconds", header: headers("retry-after-ms", "soon", "retry-after", "2"), want: 2 * time.Second},
		{name: "header before body", header: retry("9"), body: `{"retry_after_ms":5000}`, want: 9 * time.Second},
		{name: "past header falls to the body", header: retry("Wed, 02 Jan 2030 03:03:05 GMT"), body: `{"retry_after_ms":5000}`, want: 5 * time.Second, source: SourceBody},
	})
}

func TestResetHeaders(t *testing.T) {
	run(t, []check{
		{name: "case 84 epoch seconds", header: headers("X-RateLimit-Reset", "1893553535"), want: 90 * time.Second, source: SourceHeader},
		{name: "epoch milliseconds", header: headers("x-ratelimit-reset", "1893553535000"), want: 90 * time.Second},
		{name: "span", header: headers("x-ratelimit-reset", "30"), want: 30 * time.Second},
		{name: "past", header: headers("x-ratelimit-reset", "1893553000")},
		{name: "draft standard", header: headers("RateLimit-Reset", "17"), want: 17 * time.Second},
		{name: "exhausted family", header: headers(
			"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "6m0s",
			"x-ratelimit-remaining-tokens", "900", "x-ratelimit-reset-tokens", "1h"), want: 6 * time.Minute},
		{name: "later of two exhausted families", header: headers(
			"x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "20ms",
			"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "1s"), want: time.Second},
		{name: "families that do not tell what is left", header: headers("x-ratelimit-reset-tokens", "1h2m3s"), want: 3723 * time.Second},
		{name: "nothing is used up", header: headers("x-ratelimit-remaining-requests", "3", "x-ratelimit-reset-requests", "6m0s")},
		{name: "unknown remaining", header: headers("x-ratelimit-remaining-requests", "-1", "x-ratelimit-reset-requests", "6s"), want: 6 * time.Second},
		{name: "Anthropic key family", header: headers(
			"anthropic-ratelimit-input-tokens-remaining", "0", "anthropic-ratelimit-input-tokens-reset", "2030-01-02T03:04:35Z"), want: 30 * time.Second},
	})
	t.Run("families count on a 429 only", func(t *testing.T) {
		h := Parse(Input{Status: 500, Header: headers("x-ratelimit-reset-requests", "6m0s"), Now: t0})
		if h.Stated {
			t.Errorf("got %+v", h)
		}
	})
}

// wall builds unified headers without their prefix.
func wall(pairs ...string) map[string][]string {
	h := map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		h["anthropic-ratelimit-unified-"+pairs[i]] = []string{pairs[i+1]}
	}
	return h
}

func epoch(d time.Duration) string { return fmt.Sprint(t0.Add(d).Unix()) }

func with(h map[string][]string, name, value string) map[string][]string {
	h[name] = []string{value}
	return h
}

func TestUnifiedWindows(t *testing.T) {
	for _, c := range []struct {
		name   string
		header map[string][]string
		want   time.Duration
		reach  Reach
		source string
	}{
		{
			"P06 summary reset", wall("status", "rejected", "representative-claim", "five_hour", "reset", "1893564000"),
			10555 * time.Second, ReachAccount, SourceUnified,
		},
		{
			"P06 reset in the past", wall("status", "rejected", "representative-claim", "five_hour", "reset", "1893553000"),
			0, ReachAccount, "",
		},
		{"P06 ceiling of seven days", wall("status", "rejected", "reset", epoch(8*day)), MaxUnified, ReachAccount, SourceUnified},
		{
			"P07 the rejected window counts", wall("representative-claim", "seven_day", "reset", "1893900000",
				"5h-status", "rejected", "5h-reset", "1893556800", "7d-status", "allowed", "7d-reset", "1893900000"),
			3355 * time.Second, ReachAccount, SourceUnified,
		},
		{
			"P07 later of two rejected windows", wall("5h-status", "rejected", "5h-reset", "1893556800", "7d-status", "rejected", "7d-reset", "1893900000"),
			346555 * time.Second, ReachAccount, SourceUnified,
		},
		{"P07 rejected window without a reset of its own", wall("representative-claim", "seven_day", "reset", "1893900000",
			"5h-status", "rejected", "7d-status", "allowed", "7d-reset", "1893900000"), 0, ReachAccount, ""},
		{"C1 no headers", nil, 0, ReachUnknown, ""},
		{"C2 retry-after alone", headers("retry-after", "60"), time.Minute, ReachUnknown, SourceHeader},
		{"C2 date", headers("retry-after", t0.Add(90*time.Second).Format("Mon, 02 Jan 2006 15:04:05 GMT")), 90 * time.Second, ReachUnknown, SourceHeader},
		{
			"C3 five hours, no summary", wall("5h-status", "rejected", "5h-reset", epoch(5*time.Hour), "7d-status", "allowed"),
			5 * time.Hour, ReachAccount, SourceUnified,
		},
		{"C4 seven days", with(wall("7d-status", "rejected", "7d-reset", epoch(7*day)), "Retry-After", "604800"), 7 * day, ReachAccount, SourceHeader},
		{
			"C5 longest of both", wall("status", "rejected", "5h-status", "rejected", "5h-reset", epoch(time.Hour), "7d-status", "rejected", "7d-reset", epoch(3*day)),
			3 * day, ReachAccount, SourceUnified,
		},
		{"C6 all allowed", wall("status", "allowed", "reset", epoch(time.Hour), "5h-status", "allowed", "5h-reset", epoch(time.Hour),
			"7d-status", "allowed_warning", "7d-reset", epoch(3*day)), 0, ReachUnknown, ""},
		{"C7 one family's window with a wait", with(wall("status", "rejected", "reset", epoch(5*day), "5h-status", "allowed", "7d-status", "allowed",
			"7d_oi-status", "rejected", "7d_oi-reset", epoch(5*day)), "retry-after", "120"), 2 * time.Minute, ReachModel, SourceHeader},
		{"C8 one family's window alone", wall("status", "rejected", "reset", epoch(5*day), "5h-status", "allowed", "7d-status", "allowed",
			"7d_oi-status", "rejected", "7d_oi-reset", epoch(5*day)), 0, ReachModel, ""},
		{"C9 statuses are garbage", wall("status", "rejected", "reset", epoch(time.Hour), "5h-status", "???"), time.Hour, ReachAccount, SourceUnified},
		{"C10 raw lower-case keys, any case", map[string][]string{
			"ANTHROPIC-ratelimit-UNIFIED-status": {"rejected"},
			"anthropic-RateLimit-unified-Reset":  {epoch(time.Hour)},
		}, time.Hour, ReachAccount, SourceUnified},
		{"family's window beside an account window", wall("5h-status", "rejected", "5h-reset", epoch(time.Hour), "7d-status", "allowed",
			"7d_oi-status", "rejected", "7d_oi-reset", epoch(2*time.Hour)), 2 * time.Hour, ReachAccount, SourceUnified},
		{"only a reset, as overage accounts send", wall("reset", epoch(time.Hour)), time.Hour, ReachAccount, SourceUnified},
		{"fractional epoch", wall("status", "rejected", "reset", epoch(time.Hour)+".25"), time.Hour + 250*time.Millisecond, ReachAccount, SourceUnified},
		{"the later of header and window", with(wall("status", "rejected", "reset", epoch(time.Hour)), "retry-after", "60"), time.Hour, ReachAccount, SourceUnified},
		{"the later of window and header", with(wall("status", "rejected", "reset", epoch(time.Minute)), "retry-after", "3600"), time.Hour, ReachAccount, SourceHeader},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := Parse(Input{Status: 429, Header: c.header, Now: t0})
			if h.Wait != c.want || h.Reach != c.reach || h.Source != c.source {
				t.Errorf("got %v %v %q, want %v %v %q", h.Wait, h.Reach, h.Source, c.want, c.reach, c.source)
			}
			if again := Parse(Input{Status: 429, Header: c.header, Now: t0}); again != h {
				t.Errorf("read twice: %+v, then %+v", h, again)
			}
		})
	}
}

func TestTypedBodies(t *testing.T) {
	info := func(delay string) string {
		return `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":` + delay + `}]}}`
	}
	run(t, []check{
		{
			name: "P02 RetryInfo before its own prose", body: `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Please retry in 26.66s.","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26s"}]}}`,
			want: 26 * time.Second, source: SourceRetryInfo,
		},
		{
			name: "P03 ErrorInfo metadata", body: `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","metadata":{"quotaResetDelay":"373.8ms"}}]}}`,
			want: 374 * time.Millisecond, source: SourceBody,
		},
		{name: "ErrorInfo time stamp", body: `{"details":[{"@type":"x/google.rpc.ErrorInfo","metadata":{"quotaResetTimeStamp":"2030-01-02T03:05:05Z"}}]}`, want: time.Minute},
		{name: "case 134 RetryInfo", body: info(`"26s"`), want: 26 * time.Second},
		{name: "RetryInfo fraction", body: info(`"26.66s"`), want: 26660 * time.Millisecond},
		{name: "RetryInfo minutes", body: info(`"2m"`), want: 2 * time.Minute},
		{name: "RetryInfo hours", body: info(`"1h"`), want: time.Hour},
		{name: "RetryInfo milliseconds", body: info(`"1500ms"`), want: 1500 * time.Millisecond},
		{name: "RetryInfo bare text", body: info(`"45"`), want: 45 * time.Second},
		{name: "RetryInfo number", body: info(`45`), want: 45 * time.Second},
		{name: "RetryInfo object", body: info(`{"seconds":"3","nanos":500000000}`), want: 3500 * time.Millisecond},
		{name: "RetryInfo over the ceiling is clamped", body: info(`"9999h"`), want: MaxStated, source: SourceRetryInfo},
		{name: "RetryInfo zero", body: info(`"0s"`)},
		{name: "RetryInfo negative", body: info(`"-5s"`)},
		{name: "delay outside RetryInfo", body: `{"error":{"retryDelay":"45s"}}`},
		{name: "array of errors", body: "[" + info(`"26s"`) + "]", want: 26 * time.Second},
		{name: "packed into a string", body: `{"error":{"message":"{\"error\":{\"details\":[{\"@type\":\"RetryInfo\",\"retryDelay\":\"7s\"}]}}"}}`, want: 7 * time.Second, source: SourceRetryInfo},
		{name: "in an event frame", body: "event: error\ndata: " + info(`"26s"`) + "\n\n", want: 26 * time.Second},
		{name: "case 132 retryAfter in error", body: `{"error":{"retryAfter":"2030-01-02T03:06:05Z"}}`, want: 2 * time.Minute, source: SourceBody},
		{name: "case 132 retryAfter at the root", body: `{"retryAfter":"2030-01-02T03:05:05Z"}`, want: time.Minute},
		{name: "case 132 retryAfter in the past", body: `{"retryAfter":"2030-01-02T03:03:05Z"}`},
		{name: "case 133 retry_after_ms at the root", body: `{"retry_after_ms":45000}`, want: 45 * time.Second},
		{name: "case 133 retry_after_ms nested", body: `{"error":{"retry_after_ms":12000}}`, want: 12 * time.Second},
		{name: "case 133 retryAfterMs", body: `{"error":{"retryAfterMs":8000}}`, want: 8 * time.Second},
		{name: "number with an exponent", body: `{"retry_after_ms":4.5e4}`, want: 45 * time.Second},
		{name: "number beyond every clock", body: `{"retry_after":1e999}`},
		{name: "negative number", body: `{"retry_after":-3}`},
		{name: "seconds", body: `{"error":{"resets_in_seconds":90}}`, want: 90 * time.Second},
		{name: "epoch", body: `{"error":{"type":"usage_limit_reached","resets_at":1893557045}}`, want: time.Hour},
		{name: "small number that must be an epoch", body: `{"resets_at":90}`},
		{name: "headers that an aggregator copied", body: `{"error":{"metadata":{"headers":{"X-RateLimit-Reset":"1893553505000"}}}}`, want: time.Minute},
		{name: "not JSON", body: `<html>slow down</html>`},
		{name: "null and other types", body: `{"retry_after":null,"retryAfter":true,"reset_at":{}}`},
		{name: "empty", body: ``},
	})
}

func TestProse(t *testing.T) {
	run(t, []check{
		{name: "P03 quota prose", body: `{"error":{"message":"Your quota will reset after 2h7m23s."}}`, want: 7643 * time.Second, source: SourceBody},
		{name: "case 129 will reset after", body: "will reset after 2h30m14s", want: 9014 * time.Second},
		{name: "case 129 minutes", body: "reset after 45m", want: 45 * time.Minute},
		{name: "case 129 seconds", body: "reset after 30s", want: 30 * time.Second},
		{name: "case 129 none", body: "rate limited"},
		{name: "case 130 Resets in", body: "Resets in 2h7m23s", want: 7643 * time.Second},
		{name: "case 130 Reset in", body: "Reset in 45m", want: 45 * time.Minute},
		{name: "case 130 2400 hours", body: "Resets in 2400h", want: MaxStated},
		{name: "case 130 999999 hours", body: "Resets in 999999h", want: MaxStated},
		{name: "case 131 27 hours", body: "Your quota will reset after 27h41m36s", want: 99696 * time.Second},
		{name: "case 131 5 hours", body: "will reset after 5h", want: 5 * time.Hour},
		{name: "case 131 90 minutes", body: "reset after 1h30m", want: 90 * time.Minute},
		{name: "case 134 please retry in", body: "Please retry in 12.5s.", want: 12500 * time.Millisecond},
		{name: "case 135 ISO in the past", body: "Try again at 2030-01-02T03:04:04Z"},
		{name: "try again at", body: "Try again at 2030-01-02T10:00:00Z.", want: 24955 * time.Second},
		{name: "wait until", body: "please wait until 2030-01-02T03:05:05.500Z", want: 60500 * time.Millisecond},
		{name: "resets at, offset", body: "resets at 2030-01-02T05:05:05+02:00", want: time.Minute},
		{name: "available at, space and word", body: "available at 2030-01-02 03:05:05 UTC", want: time.Minute},
		{name: "no zone is UTC", body: "resets at: 2030-01-02 03:05:05", want: time.Minute},
		{name: "lower-case ISO", body: "retry after 2030-01-02t03:05:05z", want: time.Minute},
		{name: "days", body: "Monthly usage limit reached. Resets in 3 days.", want: 72 * time.Hour},
		{name: "minutes in words", body: "resets in 30 minutes", want: 30 * time.Minute},
		{name: "days, hours and minutes", body: "Try again in 4 days 20 hours and 9 minutes.", want: 116*time.Hour + 9*time.Minute},
		{name: "comma", body: "resets in 1 day, 3 hours", want: 27 * time.Hour},
		{name: "milliseconds", body: "Please try again in 20ms. Visit", want: 20 * time.Millisecond},
		{name: "retry after", body: "retry after 20s", want: 20 * time.Second},
		{name: "about", body: "retry in about 2 minutes", want: 2 * time.Minute},
		{name: "number without a unit", body: "retry after 20 requests"},
		{name: "unit nobody knows", body: "try again in 3 fortnights"},
		{name: "the limit is not the wait", body: "5 requests per 5 hours exceeded, try again in 20s", want: 20 * time.Second},
		{name: "Chinese span", body: `{"error":"请求过多，请在 30 秒后重试"}`, want: 30 * time.Second},
		{name: "Chinese moment", body: "您的限额将在 2030-01-02 03:05:05 重置", want: time.Minute},
		{name: "escaped letters", body: `{"error":{"message":"resets in\u00202h"}}`, want: 2 * time.Hour},
		{name: "a second lead speaks when the first is past", body: "wait until 2029-01-01T00:00:00Z or try again at 2030-01-02T03:05:05Z", want: time.Minute},
	})
}

func TestClockTimes(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	run(t, []check{
		{name: "P54 8pm in Tokyo", now: at("2030-01-02T00:43:47Z"), body: "limit reached, resets 8pm (Asia/Tokyo)", want: 36973 * time.Second},
		{name: "P54 the same from Tokyo", now: at("2030-01-02T09:43:47+09:00"), body: "limit reached, resets 8pm (Asia/Tokyo)", want: 36973 * time.Second},
		{name: "P54 the same from Los Angeles", now: at("2030-01-01T16:43:47-08:00"), body: "limit reached, resets 8pm (Asia/Tokyo)", want: 36973 * time.Second},
		{name: "tomorrow", now: at("2030-01-02T12:00:00Z"), body: "resets 8pm (Asia/Tokyo)", want: 23 * time.Hour},
		{name: "no zone is UTC", body: "resets 4am", want: 55*time.Minute + 55*time.Second},
		{name: "24 hours with a word", body: "resets at 20:30 UTC", want: 17*time.Hour + 25*time.Minute + 55*time.Second},
		{name: "noon", body: "resets 12pm", want: 8*time.Hour + 55*time.Minute + 55*time.Second},
		{name: "midnight", body: "resets 12 a.m.", want: 20*time.Hour + 55*time.Minute + 55*time.Second},
		{name: "weekday", body: "resets Mon 9:05am", want: 5*day + 6*time.Hour + 55*time.Second},
		{name: "date", body: "resets Jan 5, 3pm (Europe/Paris)", want: 3*day + 10*time.Hour + 55*time.Minute + 55*time.Second},
		{name: "date with a year", body: "try again at Jan 3rd, 2030 3:12 AM", want: day + 7*time.Minute + 55*time.Second},
		{name: "date of last year comes again", body: "resets Jan 1, 3am", want: MaxStated},
		{name: "summer time begins overnight", now: at("2030-03-30T20:00:00Z"), body: "resets 8am (Europe/Paris)", want: 10 * time.Hour},
		{name: "summer time ends overnight", now: at("2030-10-26T20:00:00Z"), body: "resets 8am (Europe/Paris)", want: 11 * time.Hour},
		{name: "repeated hour, first time", now: at("2030-10-27T00:00:00Z"), body: "resets 2:30am (Europe/Paris)", want: 30 * time.Minute},
		{name: "repeated hour, second time", now: at("2030-10-27T00:45:00Z"), body: "resets 2:30am (Europe/Paris)", want: 45 * time.Minute},
		{name: "bare number is no time", body: "resets 8"},
		{name: "no such hour", body: "resets 13pm"},
		{name: "no such minute", body: "resets 20:75"},
		{name: "no such zone", body: "resets 8pm (Mars/Olympus)"},
		{name: "the machine's own zone is nobody's", body: "resets 8pm (Local)"},
		{name: "no way out of the zone files", body: "resets 8pm (../etc/passwd)"},
		{name: "no such day", body: "resets Feb 30, 2030, 3pm"},
	})
}

func TestZoneOfProvider(t *testing.T) {
	h := Parse(Input{Body: []byte("resets at 2030-01-02 11:05:05"), Now: t0, Zone: time.FixedZone("CST", 8*3600)})
	if h.Wait != time.Minute {
		t.Errorf("got %v", h.Wait)
	}
}

func TestCeiling(t *testing.T) {
	h := Parse(Input{Header: headers("Retry-After", "1587827"), Now: t0, Ceiling: time.Hour})
	if h.Wait != time.Hour || !h.Clamped || h.Raw != "retry-after: 1587827" {
		t.Errorf("P04 got %+v", h)
	}
	if h := Parse(Input{Header: headers("Retry-After", "60"), Now: t0, Ceiling: 90 * day}); h.Wait != time.Minute || h.Clamped {
		t.Errorf("below every ceiling: %+v", h)
	}
	if h := Parse(Input{Header: headers("Retry-After", "99999999"), Now: t0, Ceiling: 90 * day}); h.Wait != MaxStated || !h.Clamped {
		t.Errorf("a ceiling above the greatest: %+v", h)
	}
}

func TestRawIsBounded(t *testing.T) {
	h := Parse(Input{Header: headers("Retry-After", "1"+strings.Repeat("0", 500)), Now: t0})
	if len(h.Raw) != maxRaw || h.Wait != MaxStated {
		t.Errorf("raw of %d bytes, wait %v", len(h.Raw), h.Wait)
	}
	h = Parse(Input{Body: []byte("wait until \n\t2030-01-02T03:05:05Z"), Now: t0})
	if h.Raw != "wait until 2030-01-02T03:05:05Z" {
		t.Errorf("raw %q", h.Raw)
	}
}

func TestParseRetryAfter(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
		ok   bool
	}{
		{"60", time.Minute, true},
		{"3600", time.Hour, true},
		{"0", 0, true},
		{"60s", time.Minute, true},
		{"5m", 5 * time.Minute, true},
		{"2h", 2 * time.Hour, true},
		{"1H", time.Hour, true},
		{"Wed, 02 Jan 2030 03:05:05 GMT", time.Minute, true},
		{"Wed, 02 Jan 2030 03:03:05 GMT", 0, true},
		{"", 0, false},
		{"   ", 0, false},
		{"not-a-date", 0, false},
		{"60xyz", 0, false},
		{"+5", 0, false},
		{"5 5", 0, false},
	} {
		t.Run("case 153 "+c.in, func(t *testing.T) {
			if d, ok := ParseRetryAfter(c.in, t0); d != c.want || ok != c.ok {
				t.Errorf("got %v, %v", d, ok)
			}
		})
	}
}

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
		ok   bool
	}{
		{"33s", 33 * time.Second, true},
		{"26.66s", 26660 * time.Millisecond, true},
		{"45", 45 * time.Second, true},
		{"1500ms", 1500 * time.Millisecond, true},
		{"250µs", 250 * time.Microsecond, true},
		{"1h2m3s", 3723 * time.Second, true},
		{"2 weeks", 14 * day, true},
		{"3 days and 4 hours", 76 * time.Hour, true},
		{"1.5h", 90 * time.Minute, true},
		{strings.Repeat("9", 30) + "w", maxSpan, true},
		{"2m 9", 0, false},
		{"s", 0, false},
		{"1.", 0, false},
		{".5s", 0, false},
		{"5s!", 0, false},
	} {
		t.Run(c.in, func(t *testing.T) {
			if d, ok := ParseDuration(c.in); d != c.want || ok != c.ok {
				t.Errorf("got %v, %v", d, ok)
			}
		})
	}
}

func TestHostZoneDoesNotMatter(t *testing.T) {
	saved := time.Local
	defer func() { time.Local = saved }()
	for _, zone := range []string{"UTC", "Asia/Tokyo", "America/Los_Angeles"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		time.Local = loc
		now := time.Date(2030, 1, 2, 0, 43, 47, 0, time.UTC).Local()
		h := Parse(Input{Body: []byte("limit reached, resets 8pm (Asia/Tokyo)"), Now: now})
		t.Run("P54 host in "+zone, func(t *testing.T) {
			if h.Wait != 36973*time.Second {
				t.Errorf("got %v", h.Wait)
			}
		})
		// Whatever prints the end prints it with a true label.
		t.Run("P53 host in "+zone, func(t *testing.T) {
			if got := h.Until.Format(time.RFC1123); got != "Wed, 02 Jan 2030 11:00:00 UTC" {
				t.Errorf("the end reads %q", got)
			}
		})
	}
}
