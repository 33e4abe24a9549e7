package exchange

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// A request under a lease is refused with the lease's reason where other owners
// hold what could serve it.
func TestALeaseThatIsContended(t *testing.T) {
	held := func(r *Request) { r.Hold = &control.Hold{} }
	contended := &control.LeaseError{Code: control.LeaseCapacity, Message: "all are leased", RetryAfter: time.Second}
	for _, tt := range []struct {
		name string
		edit func(*testing.T, *rig)
	}{
		{"nothing to choose from", func(_ *testing.T, k *rig) { k.routes = nil }},
		{"all excluded", func(t *testing.T, k *rig) {
			k.on("a", limited(time.Hour))
			k.ask(t, messages)
		}},
		{"lost at the last moment", func(_ *testing.T, k *rig) {
			k.on("a", func(context.Context, attempt.Target, attempt.Client) attempt.Result {
				return attempt.Result{End: attempt.Refused, Fence: contended}
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a")
				tt.edit(t, k)
				k.contends = contended
				w, row := k.ask(t, messages, held)
				if row.Result != resultRefused || row.Status != contended.Status() || w.code() != control.LeaseCapacity {
					t.Errorf("%d %s: %s", row.Status, row.Result, w.body.String())
				}
			})
		})
	}
}

// The limit of the client's own subscription goes to the client as it came, also
// when the connection rests already (ruling 42).
func TestASubscriptionsOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig()
		k.connect("a", func(r *control.Route) { r.Record.Credential = string(catalog.PassthroughCredential) })
		k.on("a", fails(http.StatusTooManyRequests, outcome.ReasonRateLimit, cooling(48*time.Hour), func(r *attempt.Result) {
			r.Header = http.Header{"Anthropic-Ratelimit-Unified-Status": {"rejected"}, "Retry-After": {"172800"}}
			r.Body = []byte("as it came")
		}))
		for i, wantAsked := range []int{1, 1} {
			w, row := k.ask(t, messages)
			if row.Status != 429 || row.Result != resultFailed || w.body.String() != "as it came" || len(k.asked) != wantAsked {
				t.Errorf("request %d: %d %s %q, asked %v", i, row.Status, row.Result, w.body.String(), k.asked)
			}
			if row.ConnectionID != "a" || w.header.Get("Anthropic-Ratelimit-Unified-Status") == "" {
				t.Errorf("request %d: by %q, %v", i, row.ConnectionID, w.header)
			}
			if again := w.header.Get("Retry-After"); (again != "") != (i == 0) {
				t.Errorf("request %d: Retry-After %q", i, again)
			}
		}
	})
}

// A login whose refresh failed is refused with the time of the next refresh.
func TestALoginThatIsNotRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a")
		k.on("a", func(context.Context, attempt.Target, attempt.Client) attempt.Result {
			return attempt.Result{End: attempt.Failed, Code: resilience.CodeLoginNotRefreshed, Outcome: outcome.Outcome{
				Class: outcome.Neutral, Scope: outcome.ScopeLocal, Reason: outcome.ReasonLocalTimeout, Fallback: true,
			}}
		})
		w, row := k.ask(t, messages)
		if row.Result != resultRefused || w.header.Get("Retry-After") != "30" {
			t.Errorf("%d %v: %s", row.Status, w.header, w.body.String())
		}
	})
}

// Out of credit, a request is answered by the free model of the settings: once,
// never with tools, only over a connection of its provider.
func TestTheEmergencyModel(t *testing.T) {
	broke := fails(http.StatusPaymentRequired, outcome.ReasonQuota)
	for _, tt := range []struct {
		name, body, free string
		on               bool
		status           int
	}{
		{"answers", messages, "f@free", true, 200},
		{"switched off", messages, "f@free", false, 402},
		{"tools", `{"model":"m","messages":[],"tools":[{"name":"t"}]}`, "f@free", true, 402},
		{"no connection of the provider", messages, "f@other", true, 402},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a", tt.free)
				k.settings.EmergencyFallback = settings.EmergencyFallback{Enabled: tt.on, Model: "free/tiny", MaxOutputTokens: 7}
				k.on("a", broke)
				_, row := k.ask(t, tt.body, header(HeaderPin, "a"))
				if answered := row.Status == 200; answered != (tt.status == 200) {
					t.Fatalf("%d %s", row.Status, kinds(row))
				}
				if tt.status == 200 {
					if last := k.requests[len(k.requests)-1]; !strings.Contains(string(last.Body.Raw), `"max_tokens":7`) || k.asked[1] != "f tiny" {
						t.Errorf("asked %v with %s", k.asked, last.Body.Raw)
					}
				}
			})
		})
	}
}

// A session stays with its connection while that works, and leaves it when it
// fails.
func TestASessionKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a", "b")
		k.ttl = time.Hour
		session := header("X-Session-Id", "s1")
		for range 3 {
			k.ask(t, messages, session)
		}
		first, _, _ := strings.Cut(k.asked[0], " ")
		for _, asked := range k.asked {
			if !strings.HasPrefix(asked, first+" ") {
				t.Fatalf("the session moved: %v", k.asked)
			}
		}
		k.on(first, overloaded2)
		k.ask(t, messages, session)
		k.on(first)
		_, row := k.ask(t, messages, session)
		if row.ConnectionID == first {
			t.Errorf("the session is back on %s at once: %v", first, k.asked)
		}
		// Without a header the body names the session.
		k.ask(t, `{"model":"m","metadata":{"sessionId":"s2"},"messages":[]}`)
		k.ask(t, messages)
	})
}

// overloaded2 is a failure of the connection.
var overloaded2 = fails(http.StatusServiceUnavailable, outcome.ReasonServerError)

// A request that is not admitted is refused and booked like any other.
func TestARequestThatIsNotAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a")
		req := request(t, messages)
		w := &reply{header: http.Header{}, gone: func() bool { return false }}
		k.admitted(t.Context(), req, w, func() *refusal.Notice { return new(refusal.Paused()) })
		if row := k.row(t); row.Status != 429 || row.Result != resultRefused || w.status != 429 || len(k.asked) > 0 || w.abort {
			t.Errorf("%d %s, asked %v, abort %v", row.Status, row.Result, k.asked, w.abort)
		}
	})
}

// The start of an answer is bounded by the connection's own figure, or the
// product's.
func TestTheStartIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a")
		k.ask(t, messages)
		if to := k.targets[0]; to.Start != time.Minute || to.More {
			t.Errorf("start %v, more %v", to.Start, to.More)
		}
	})
}

// A broken stream ends with an event where the client reads one (ruling 44).
func TestABrokenStreamNamesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a")
		var event []byte
		k.on("a", func(ctx context.Context, to attempt.Target, c attempt.Client) attempt.Result {
			event = to.Broken()
			return breaks(ctx, to, c)
		})
		k.ask(t, messages)
		if !strings.Contains(string(event), "The stream from A broke off") {
			t.Errorf("%s", event)
		}
	})
}
