package admission

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/settings"
)

// headers builds response headers of pairs.
func headers(pairs ...string) map[string][]string {
	h := map[string][]string{}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i]] = []string{pairs[i+1]}
	}
	return h
}

func limited(limit, remaining, reset string) Answer {
	return Answer{Status: 200, Now: t0, Header: headers(
		"x-ratelimit-limit-requests", limit, "x-ratelimit-remaining-requests", remaining, "x-ratelimit-reset-requests", reset)}
}

const acme = "acme:alpha"

func TestHeaderCases(t *testing.T) {
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	run("case 148 little is left", func(t *testing.T) {
		q := queues("acme", nil, Overrides{})
		q.Learn(call, limited("100", "5", "30s"))
		if v := q.view(t, acme); v.Limit != 100 || v.Remaining != 5 || v.Spacing != 590*ms {
			t.Errorf("learned %+v", v)
		}
		for range 5 {
			(<-waitFor(t, q, call)).got.Release()
		}
		r := <-waitFor(t, q, call) // the reservoir is filled 30 s after it was read
		if r.err != nil || r.after != 30*time.Second-4*590*ms {
			t.Errorf("after %s: %v", r.after, r.err)
		}
	})
	run("case 148 the same of Anthropic", func(t *testing.T) {
		q := queues("acme", nil, Overrides{})
		q.Learn(call, Answer{Status: 200, Now: t0, Header: headers("Anthropic-Ratelimit-Requests-Limit", "100",
			"Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2030-01-02T03:04:15Z")})
		if v := q.view(t, acme); v.Limit != 100 || v.Held != 10*time.Second {
			t.Errorf("learned %+v", v)
		}
	})
	run("case 149 over the limit", func(t *testing.T) {
		q := queues("acme", nil, Overrides{})
		q.Learn(call, Answer{Status: 200, Header: headers("X-RateLimit-Over-Limit", "yes"), Now: t0})
		if v := q.view(t, acme); v.Spacing != 200*ms {
			t.Errorf("learned %+v", v)
		}
	})
	run("case 150 a 429 forgets what was learned", func(t *testing.T) {
		q := queues("acme", nil, Overrides{})
		running := send(t, q, call)
		q.Learn(call, limited("100", "5", "30s"))
		q.Learn(call, Answer{Status: 429, Header: headers("retry-after", "5"), Now: t0})
		if v := q.view(t, acme); v.Limit != 0 || v.Spacing != 0 || v.Held != 0 || v.Running != 1 {
			t.Errorf("left: %+v", v)
		}
		running.Release()
	})
	run("case 151 github counts by model", func(t *testing.T) {
		q := queues("github", nil, Overrides{})
		send(t, q, call).Release()
		q.view(t, "github:alpha:m1")
	})
	run("plenty is left: back to the floor", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.MinTimeBetweenRequestsMs = 100 }, Overrides{})
		q.Learn(call, limited("100", "5", "30s"))
		q.Learn(call, limited("100", "40", "30s"))
		if v := q.view(t, acme); v.Spacing != 590*ms || v.Remaining != 40 {
			t.Errorf("in between: %+v", v)
		}
		q.Learn(call, limited("100", "51", "30s"))
		if v := q.view(t, acme); v.Spacing != 100*ms || v.Held != 0 {
			t.Errorf("learned %+v", v)
		}
	})
	run("nothing usable teaches nothing", func(t *testing.T) {
		q := queues("acme", nil, Overrides{})
		for _, limit := range []string{"", "0", "-5", "many", "NaN", "1e300"} {
			q.Learn(call, limited(limit, "1", "1s"))
			if v := q.view(t, acme); v.Limit != 0 || v.Spacing != 0 {
				t.Errorf("%q: %+v", limit, v)
			}
		}
		q.Learn(call, limited("100", "", "junk"))
		if v := q.view(t, acme); v.Limit != 100 || v.Remaining != -1 || v.Held != 0 {
			t.Errorf("%+v", v)
		}
		q.Learn(call, limited("100", "0", "junk"))
		if v := q.view(t, acme); v.Held != time.Minute {
			t.Errorf("%+v", v)
		}
	})
	run("what is left is filled every minute", func(t *testing.T) {
		n := int64(1000)
		q := queues("acme", nil, Overrides{RPM: &n}) // no learned spacing in the way
		q.Learn(call, limited("10", "0", "30s"))
		for _, wait := range []time.Duration{30 * time.Second, time.Minute, time.Minute} {
			e := refused(t, func() error {
				q.limiters[acme].conn.rules.MaxWait = ms
				_, err := q.Acquire(t.Context(), call)
				return err
			}(), QueueTimeout)
			if e.RetryAfter != wait {
				t.Errorf("filled in %s", e.RetryAfter)
			}
			pause(t, wait)
			for range 10 {
				send(t, q, call).Release()
			}
		}
	})
	run("nothing is left: who cannot wait for more goes at once", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.ConcurrentRequests = 1 }, Overrides{})
		first := send(t, q, call)
		waiting := waitFor(t, q, call)
		q.Learn(call, limited("100", "0", "1h"))
		if e := refused(t, (<-waiting).err, QueueTimeout); e.RetryAfter != time.Hour || !e.Elsewhere {
			t.Errorf("%+v", e)
		}
		first.Release()
	})
	run("a limit of one's own keeps its pace", func(t *testing.T) {
		n := int64(1000)
		q := queues("acme", nil, Overrides{RPM: &n})
		q.Learn(call, limited("10", "5", "30s"))
		q.Learn(call, Answer{Status: 429, Body: []byte("5 requests per minute"), Now: t0})
		q.Learn(call, Answer{Status: 200, Header: headers("x-ratelimit-over-limit", "yes"), Now: t0})
		if v := q.view(t, acme); v.Spacing != 0 {
			t.Errorf("learned %+v", v)
		}
	})
	run("changed overrides forget", func(t *testing.T) {
		s := settings.Defaults()
		conn := Conn{ID: "alpha", Provider: "acme", APIKey: true, Active: true}
		q := NewQueues()
		q.Configure(&s, []Conn{conn})
		q.Learn(call, limited("100", "5", "30s"))
		q.Configure(&s, []Conn{conn})
		if v := q.view(t, acme); v.Limit != 100 {
			t.Errorf("unchanged: %+v", v)
		}
		n := int64(5)
		conn.Overrides.MaxConcurrent = &n
		q.Configure(&s, []Conn{conn})
		if v := q.view(t, acme); v.Limit != 0 {
			t.Errorf("changed: %+v", v)
		}
	})
}

const retryInfo = `{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"`

func TestBodyCases(t *testing.T) {
	run := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	teach := func(q *Queues, c Call, body string) Lesson {
		return q.Learn(c, Answer{Status: 429, Body: []byte(body), Now: t0})
	}
	for name, body := range map[string]string{
		"case 152 a typed delay that fits": retryInfo + `2s"}]}}`,
		"case 152 an untyped one":          `{"error":{"retryDelay":"2s"}}`,
		"case 152 prose":                   `{"error":{"message":"Please retry after 2s."}}`,
	} {
		run(name, func(t *testing.T) {
			q := queues("openai", nil, Overrides{})
			first := send(t, q, call)
			if l := teach(q, call, body); l.Lock != 0 || l.Pause != 2*time.Second {
				t.Fatalf("lesson %+v", l)
			}
			if v := q.view(t, "openai:alpha"); v.Held != 2*time.Second {
				t.Errorf("%+v", v)
			}
			first.Release()
			if r := <-waitFor(t, q, call); r.err != nil || r.after != 2*time.Second {
				t.Errorf("after %s: %v", r.after, r.err)
			}
		})
	}
	run("case 158 a day's quota locks the model, not the queue", func(t *testing.T) {
		q := queues("gemini", nil, Overrides{})
		c := Call{Connection: "alpha", Model: "gemini-pro", Alias: "best"}
		l := teach(q, c, retryInfo+`86399s"}]}}`)
		if l.Lock != 86399*time.Second || l.Pause != 0 || !slices.Equal(l.Exact, []string{"gemini-pro", "best"}) {
			t.Errorf("lesson %+v", l)
		}
		send(t, q, c).Release()
	})
	run("case 158 at most a day", func(t *testing.T) {
		q := queues("antigravity", nil, Overrides{})
		c := Call{Connection: "alpha", Model: "claude-x", Alias: "claude-x", Family: "claude"}
		l := teach(q, c, retryInfo+`864000s"}]}}`)
		if l.Lock != 24*time.Hour || !slices.Equal(l.Exact, []string{"claude-x"}) {
			t.Errorf("lesson %+v", l)
		}
		q.view(t, "antigravity:alpha:claude")
	})
	for name, c := range map[string]struct{ provider, body string }{
		"case 159 the same as prose":                  {"gemini", `{"error":{"message":"Please retry in 86399s."}}`},
		"case 159 the same for the whole connection":  {"openai", retryInfo + `86399s"}]}}`},
		"case 159 the same without a type":            {"gemini", `{"error":{"retryDelay":"86399s"}}`},
		"case 159 antigravity without a known family": {"antigravity", `{"error":{"message":"quota resets after 23h59m59s"}}`},
	} {
		run(name, func(t *testing.T) {
			q := queues(c.provider, func(q *settings.RequestQueue) { q.ConcurrentRequests = 1 }, Overrides{})
			first := send(t, q, call)
			waiting := waitFor(t, q, call)
			l := teach(q, call, c.body)
			if l.Lock != 0 || l.Pause != 86399*time.Second {
				t.Fatalf("lesson %+v", l)
			}
			for _, w := range []<-chan result[*Slot]{waiting, waitFor(t, q, call)} {
				r := <-w
				if e := refused(t, r.err, QueueTimeout); r.after != 0 || e.RetryAfter != 86399*time.Second || !e.Elsewhere {
					t.Errorf("after %s: %+v", r.after, e)
				}
			}
			first.Release()
			q.Forget("alpha")
			send(t, q, call).Release()
		})
	}
	run("sixty start in the first minute after a pause", func(t *testing.T) {
		q := queues("openai", nil, Overrides{})
		teach(q, call, retryInfo+`2s"}]}}`)
		pause(t, 2*time.Second)
		for range 60 {
			send(t, q, call).Release()
		}
		if r := <-waitFor(t, q, call); r.err != nil && r.after == 0 {
			_ = refused(t, r.err, QueueTimeout)
		} else {
			t.Errorf("after %s: %v", r.after, r.err)
		}
		pause(t, time.Minute)
		for range 100 {
			send(t, q, call).Release()
		}
	})
	run("a second 429 does not lift the pause", func(t *testing.T) {
		q := queues("openai", nil, Overrides{})
		teach(q, call, retryInfo+`20s"}]}}`)
		teach(q, call, `{}`)
		if v := q.view(t, "openai:alpha"); v.Held != 20*time.Second {
			t.Errorf("%+v", v)
		}
		q.Learn(call, limited("100", "90", "1s")) // any later word about what is left does
		if v := q.view(t, "openai:alpha"); v.Held != 0 {
			t.Errorf("%+v", v)
		}
	})
	for _, c := range []struct {
		body string
		want time.Duration
	}{
		{"Limit: 30 requests per minute.", 2 * time.Second},
		{"max 5 requests per 10 seconds", 2 * time.Second},
		{"You may send 60 RPM on this plan", time.Second},
		{"RPM: 20", 3 * time.Second},
		{"100 requests per day", 0}, // longer than a request may wait
		{"0 requests per minute", 0},
		{"9 requests per 3 days", 0},
		{"too many requests per user", 0},
	} {
		run("a stated cap: "+c.body, func(t *testing.T) {
			q := queues("openai", nil, Overrides{})
			l := teach(q, call, c.body)
			if v := q.view(t, "openai:alpha"); v.Spacing != c.want || l.Pause != c.want {
				t.Errorf("lesson %+v, spacing %s", l, v.Spacing)
			}
		})
	}
	run("who is told that the connection is out stops queuing for it", func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.ConcurrentRequests = 1 }, Overrides{})
		first := send(t, q, call)
		waiting := waitFor(t, q, call)
		q.TurnAway("beta", time.Hour)
		q.TurnAway("alpha", 10*time.Second) // that can be waited for
		synctest.Wait()
		select {
		case r := <-waiting:
			t.Fatalf("ended with %v", r.err)
		default:
		}
		q.TurnAway("alpha", time.Hour)
		if e := refused(t, (<-waiting).err, QueueTimeout); e.RetryAfter != time.Hour {
			t.Errorf("%+v", e)
		}
		first.Release()
	})
}

func TestParseReset(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"30s": 30_000 * ms, "500ms": 500 * ms, "1m30s": 90_000 * ms, "5": 5000 * ms, "1h2m3s4ms": 3_723_004 * ms, "6m0s": 360_000 * ms,
		"1.5": 1500 * ms, "2h": 7_200_000 * ms, "0.25s": 250 * ms, " 5 ": 5000 * ms,
		"1893553505": time.Minute, "2030-01-02T03:05:05Z": time.Minute, "2030-01-02T03:00:05Z": 0, "1893553000": 0,
	} {
		t.Run("case 153 "+value, func(t *testing.T) {
			if got, ok := ParseReset(value, t0); !ok || got != want {
				t.Errorf("%s, %v", got, ok)
			}
		})
	}
	for _, junk := range []string{"", "junk", "-5", "NaN", "1e300", "5 apples", "s", "1s2m"} {
		t.Run("case 153 junk "+junk, func(t *testing.T) {
			if got, ok := ParseReset(junk, t0); ok {
				t.Errorf("read as %s", got)
			}
		})
	}
}

func FuzzLearn(f *testing.F) {
	for _, body := range []string{
		"", "{", retryInfo + `2s"}]}}`, `{"error":{"retryDelay":"2s"}}`, "30 requests per minute", "RPM: 20", "9 requests per 3 days",
		`{"error":{"retryDelay":"99999999999999999999s"}}`,
	} {
		f.Add(429, "100", "5", "30s", body)
	}
	f.Add(200, "1e18", "-1", "9999999999999h", "")
	f.Fuzz(func(t *testing.T, status int, limit, remaining, reset, body string) {
		q := queues("gemini", nil, Overrides{})
		a := limited(limit, remaining, reset)
		a.Status, a.Body = status, []byte(body)
		l := q.Learn(call, a)
		if l.Lock < 0 || l.Lock > 24*time.Hour || l.Pause < 0 || l.Pause > 30*24*time.Hour {
			t.Fatalf("lesson %+v", l)
		}
		for _, v := range q.Views() {
			if v.Spacing < 0 || v.Spacing > time.Minute || v.Held > 31*24*time.Hour || v.Limit < 0 {
				t.Fatalf("learned %+v", v)
			}
		}
	})
}

func TestLimiterKeys(t *testing.T) {
	for _, c := range []struct {
		provider, model, family, want string
		scoped                        bool
	}{
		{"acme", "m", "f", "acme:a", false},
		{"codex", "m", "spark", "codex:a:spark", true},
		{"codex", "m", "", "codex:a", false},
		{"antigravity", "m", "claude", "antigravity:a:claude", true},
		{"agy", "m", "", "agy:a:m", true},
		{"gemini", "m", "f", "gemini:a:m", true},
		{"github", "", "", "github:a", false},
	} {
		if got, isScoped := limiterKey(c.provider, "a", c.model, c.family); got != c.want || isScoped != c.scoped {
			t.Errorf("%s: %s, %v", c.provider, got, isScoped)
		}
	}
}
