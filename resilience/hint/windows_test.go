package hint

import (
	"testing"
	"time"
)

func TestCodexWindows(t *testing.T) {
	run(t, []check{
		{name: "Q15", header: headers("x-codex-primary-used-percent", "100", "x-codex-primary-reset-after-seconds", "471285"),
			body: `{"error":{"type":"usage_limit_reached"}}`, want: 471285 * time.Second, source: SourceHeader},
		{name: "Q15 secondary", header: headers("x-codex-primary-used-percent", "12", "x-codex-primary-reset-after-seconds", "600",
			"x-codex-secondary-used-percent", "100", "x-codex-secondary-reset-after-seconds", "9000"), want: 9000 * time.Second},
		{name: "Q15 later of both", header: headers("x-codex-primary-used-percent", "100.0", "x-codex-primary-reset-after-seconds", "600",
			"x-codex-secondary-used-percent", "101", "x-codex-secondary-reset-after-seconds", "90"), want: 600 * time.Second},
		{name: "Q15 as a moment", header: headers("X-Codex-Primary-Used-Percent", "100", "X-Codex-Primary-Reset-At", "1893553505"), want: time.Minute},
		{name: "Q15 room left", header: headers("x-codex-primary-used-percent", "99.9", "x-codex-primary-reset-after-seconds", "600")},
		{name: "Q15 outlasts Retry-After", header: headers("Retry-After", "5", "x-codex-primary-used-percent", "100",
			"x-codex-primary-reset-after-seconds", "600"), want: 600 * time.Second},
	})
}

func TestRateLimitField(t *testing.T) {
	run(t, []check{
		{name: "Q16", header: headers("RateLimit", `"default";r=0;t=50`), want: 50 * time.Second},
		{name: "Q16 older draft", header: headers("RateLimit", "limit=100, remaining=0, reset=50"), want: 50 * time.Second},
		{name: "Q16 reset after", header: headers("x-ratelimit-reset-after", "70.5"), want: 71 * time.Second},
		{name: "Q16 later of the used up", header: headers("RateLimit", `"a";r=0;t=50, "b;r=9,\"";r=0;t=70, "c";r=5;t=900`), want: 70 * time.Second},
		{name: "Q16 two lines", header: headers("ratelimit", `"a";r=0;t=5`, "RateLimit", `"b"; r=0; t=6`), want: 6 * time.Second},
		{name: "Q16 something left", header: headers("RateLimit", `"default";r=3;t=50`)},
		{name: "Q16 older draft, something left", header: headers("RateLimit", "limit=100, remaining=1, reset=50")},
		{name: "Q16 in the past", header: headers("RateLimit", `"default";r=0;t=-50`)},
		{name: "Q16 span", header: headers("X-RateLimit-Reset-After", "1m30s"), want: 90 * time.Second},
	})
}

// A window with requests left states nothing (ruling 57).
func TestAWindowWithSomethingLeft(t *testing.T) {
	const body = `{"error":{"message":"slow","metadata":{"headers":{"X-RateLimit-Reset":"50","X-RateLimit-Remaining":"4"}}}}`
	run(t, []check{
		{name: "Q09 left", header: headers("x-ratelimit-reset", "50", "x-ratelimit-remaining", "7")},
		{name: "Q09 left, another spelling", header: headers("X-Rate-Limit-Reset", "50", "X-Rate-Limit-Remaining", "1")},
		{name: "Q09 left, the older draft", header: headers("RateLimit-Reset", "50", "RateLimit-Remaining", "12")},
		{name: "Q09 left, a span", header: headers("x-ratelimit-reset-after", "70.5", "x-ratelimit-remaining", "2")},
		{name: "Q09 left, in the body", body: body},
		{name: "Q09 nothing left", header: headers("x-ratelimit-reset", "50", "x-ratelimit-remaining", "0"), want: 50 * time.Second},
		{name: "Q09 unknown", header: headers("x-ratelimit-reset", "50", "x-ratelimit-remaining", "many"), want: 50 * time.Second},
		{name: "Q09 another window is used up", header: headers("x-ratelimit-reset", "50", "x-ratelimit-remaining", "7",
			"x-ratelimit-reset-tokens", "9s", "x-ratelimit-remaining-tokens", "0"), want: 9 * time.Second},
		{name: "Q09 Retry-After beside it", header: headers("Retry-After", "3", "x-ratelimit-reset", "50", "x-ratelimit-remaining", "7"), want: 3 * time.Second},
	})
}

func TestLocalTimeAroundAClockChange(t *testing.T) {
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct{ name, text, now, want string }{
		{"Q17 jump of an hour", "resets 2:30am (Europe/Paris)", "2030-03-31T00:00:00Z", "2030-03-31T01:00:00Z"},
		{"Q17 jump of half an hour", "resets 2:15am (Australia/Lord_Howe)", "2030-10-05T12:00:00Z", "2030-10-05T15:30:00Z"},
		{"Q17 jump at midnight", "resets 12:30am (Africa/Cairo)", "2030-04-25T12:00:00Z", "2030-04-25T22:00:00Z"},
		{"Q17 a day left out", "resets Dec 30, 2011, 9am (Pacific/Apia)", "2011-12-29T00:00:00Z", "2011-12-30T10:00:00Z"},
		{"Q17 twice, the first ahead", "resets 2:30am (Europe/Paris)", "2030-10-27T00:00:00Z", "2030-10-27T00:30:00Z"},
		{"Q17 twice, the first passed", "resets 2:30am (Europe/Paris)", "2030-10-27T00:31:00Z", "2030-10-27T01:30:00Z"},
		{"Q17 twice by half an hour", "resets 1:45am (Australia/Lord_Howe)", "2030-04-06T14:50:00Z", "2030-04-06T15:15:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := Parse(Input{Status: 429, Body: []byte(`{"error":{"message":"` + c.text + `"}}`), Now: at(c.now)})
			if !h.Until.Equal(at(c.want)) {
				t.Errorf("until %v, want %v", h.Until, c.want)
			}
		})
	}
}

func FuzzRateLimitField(f *testing.F) {
	for _, s := range []string{`"default";r=0;t=50`, "limit=100, remaining=0, reset=50", `"a\";r=0;t=1, b`, `;;,,"`, "r=0;t=5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, w := range readRateLimit(value) {
			if w.wait <= 0 || w.wait > maxSpan {
				t.Fatalf("wait %v from %q", w.wait, value)
			}
		}
	})
}

// FuzzWallTimes: a named time is found near where UTC would show it, in order,
// and shown as named unless clocks jumped over it.
func FuzzWallTimes(f *testing.F) {
	zones := []string{"Europe/Paris", "Australia/Lord_Howe", "Pacific/Apia", "America/Caracas", "Asia/Kathmandu", "Africa/Cairo"}
	f.Add(int64(1900887000), byte(0))
	f.Add(int64(1917396000), byte(1))
	f.Add(int64(1325235600), byte(2))
	f.Fuzz(func(t *testing.T, sec int64, z byte) {
		zone, err := time.LoadLocation(zones[int(z)%len(zones)])
		if err != nil {
			t.Fatal(err)
		}
		n := time.Unix(sec%(1<<33), 0).UTC()
		all := wallTimes(time.Date(n.Year(), n.Month(), n.Day(), n.Hour(), n.Minute(), n.Second(), 0, time.UTC), zone)
		for i, at := range all {
			if d := at.Sub(n); d > 26*time.Hour || d < -26*time.Hour {
				t.Fatalf("%v in %v is %v away", n, zone, d)
			}
			if i > 0 && !at.After(all[i-1]) {
				t.Fatalf("out of order: %v", all)
			}
			if len(all) > 1 && at.In(zone).Format(time.DateTime) != n.Format(time.DateTime) {
				t.Fatalf("%v is shown as %v", n, at.In(zone))
			}
		}
	})
}
