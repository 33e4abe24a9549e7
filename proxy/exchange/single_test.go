package exchange

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience/admission"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// bad is a request that the upstream finds fault with: no other target helps.
var bad = fails(http.StatusBadRequest, outcome.ReasonRequestInvalid, scoped(outcome.ScopeRequest), func(r *attempt.Result) {
	r.Outcome.Class, r.Outcome.Fallback = outcome.Neutral, false
})

// What becomes of a request for a single model.
func TestASingleModel(t *testing.T) {
	fenced := func(code string) script {
		return func(context.Context, attempt.Target, attempt.Client) attempt.Result {
			return attempt.Result{End: attempt.Refused, Fence: &control.LeaseError{Code: code, Message: code}}
		}
	}
	for _, tt := range []struct {
		name   string
		a, b   script
		edit   func(*rig)
		req    []func(*Request)
		body   string
		status int
		result string
		trace  string
		abort  bool
	}{
		{name: "the first target answers", a: answers, b: answers, status: 200, result: "answered", trace: "answered:a"},
		{name: "the next target answers", a: overloaded, b: answers, status: 200, result: "answered", trace: "failed:a answered:b"},
		{name: "all are rate limited", a: limited(time.Minute), b: limited(time.Hour), status: 429, result: "refused", trace: "failed:a failed:b refused"},
		{name: "a request that no target takes", a: bad, b: answers, status: 400, result: "failed", trace: "failed:a"},
		{name: "a fault before the answer", a: panics, b: answers, status: 200, result: "answered", trace: "failed:a answered:b"},
		{name: "a broken answer", a: breaks, b: answers, status: 200, result: "truncated", trace: "cut:a", abort: true},
		{name: "the client leaves", a: leaves, b: answers, status: 499, result: "client_left", trace: "left:a", abort: true},
		{name: "another owner's connection", a: fenced(control.LeaseCapacity), b: answers, status: 200, result: "answered", trace: "skipped:a answered:b"},
		{name: "a lease that has ended", a: fenced(control.LeaseFenceStale), b: answers, result: "refused", status: 409, trace: "refused"},
		{name: "switched off meanwhile", a: func(context.Context, attempt.Target, attempt.Client) attempt.Result {
			return attempt.Result{End: attempt.Refused}
		}, b: answers, status: 200, result: "answered", trace: "answered:b"},
		{name: "a probe", a: answers, b: answers, req: []func(*Request){func(r *Request) { r.Probe = true }}, status: 200, result: "answered", trace: "answered:a"},
		{name: "a pinned connection by name", a: answers, b: answers, req: []func(*Request){header(HeaderPin, "b")}, status: 200, result: "answered", trace: "answered:b"},
		{name: "a pinned connection that is unknown", a: answers, b: answers, req: []func(*Request){header(HeaderPin, "z")}, result: "refused", status: 400, trace: "refused"},
		{name: "too little quota left", a: answers, b: answers, edit: func(k *rig) {
			k.settings.QuotaPreflight.Enabled = true
			k.cutoff["a"] = time.Now().Add(time.Hour)
		}, status: 200, result: "answered", trace: "skipped:a answered:b"},
		{name: "a connection that was passed over", a: answers, b: answers, edit: func(k *rig) {
			k.passed = []control.Passed{{Route: k.routes[1], Reason: exclusion.KeyMissing}}
		}, status: 200, result: "answered", trace: "skipped:b answered:a"},
		{name: "no connection at all", edit: func(k *rig) {
			k.passed = []control.Passed{{Route: k.routes[0], Reason: exclusion.ModelNotOffered}}
			k.routes = nil
		}, result: "refused", status: 400, trace: "skipped:a refused"},
		{name: "in the background, taken out", a: answers, b: answers, body: `{"model":"m","input":"hi","background":true}`, req: []func(*Request){func(r *Request) {
			r.Dialect = dialect.Responses
		}}, status: 200, result: "answered", trace: "answered:a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a", "b")
				k.on("a", tt.a)
				k.on("b", tt.b)
				if tt.edit != nil {
					tt.edit(k)
				}
				body := tt.body
				if body == "" {
					body = messages
				}
				w, row := k.ask(t, body, tt.req...)
				if row.Status != tt.status || row.Result != tt.result || kinds(row) != tt.trace || w.abort != tt.abort {
					t.Errorf("got %d %s, %s, abort %v; want %d %s, %s, abort %v\n%s", row.Status, row.Result, kinds(row), w.abort, tt.status, tt.result, tt.trace, tt.abort, w.body.String())
				}
				if row.Result != resultLeft && (w.heads != 1 || w.status != tt.status) {
					t.Errorf("the client got %d heads, the last %d", w.heads, w.status)
				}
				k.idle(t)
			})
		})
	}
}

// The row names whose answer the client saw, what it cost and how it left.
func TestTheRowOfAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a", "b@q")
		k.on("a", overloaded)
		w, row := k.ask(t, messages)
		want := control.Usage{InputTokens: 3, OutputTokens: 5}
		if row.ConnectionID != "b" || row.ConnectionName != "B" || row.Provider != "q" || row.EgressIP != "via b" || !row.FailedOver || row.Usage != want {
			t.Errorf("%+v", row)
		}
		if row.ResponseBytes != int64(w.body.Len()) || row.FirstOutputMs < 0 || row.Dialect != "anthropic" || row.Model != "m" {
			t.Errorf("%+v", row)
		}
		if w.header.Get("X-From") != "b" {
			t.Errorf("headers %v", w.header)
		}
	})
}

// A cooling connection is left alone by the next request, which is refused with
// the wait when none is left; only then a notification says so.
func TestNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a")
		k.on("a", limited(time.Minute))
		k.ask(t, messages)
		asked := len(k.asked)
		w, row := k.ask(t, messages)
		if len(k.asked) != asked || row.Status != 429 || kinds(row) != "skipped:a refused" {
			t.Errorf("%d %s, asked %v", row.Status, kinds(row), k.asked)
		}
		if w.header.Get("Retry-After") == "" {
			t.Errorf("no Retry-After: %v", w.header)
		}
		if len(k.alerts) != 2 || k.alerts[0].Kind != control.AlertNothingLeft || k.alerts[1].Until == nil {
			t.Errorf("alerts %+v", k.alerts)
		}
	})
}

// A request waits for a connection that rests for a short while, holds nothing
// meanwhile, and goes to it then.
func TestAShortWait(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rests  time.Duration
		edit   func(*rig)
		status int
		trace  string
	}{
		{"short", 5 * time.Second, nil, 200, "failed:a waited answered:a"},
		{"too long", time.Hour, nil, 429, "failed:a refused"},
		{"never waits", 5 * time.Second, func(k *rig) { k.Limits.Patience = -1 }, 429, "failed:a refused"},
		{"longer than the patience", 5 * time.Second, func(k *rig) { k.Limits.Patience = time.Second }, 429, "failed:a refused"},
		{"longer than the client is held", 50 * time.Second, func(k *rig) { k.Limits.Hold = 2 * time.Second }, 429, "failed:a refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a")
				k.settings.WaitForCooldown = settings.Defaults().WaitForCooldown
				k.settings.WaitForCooldown.Enabled = true
				if tt.edit != nil {
					tt.edit(k)
				}
				k.on("a", limited(tt.rests), answers)
				_, row := k.ask(t, messages)
				if row.Status != tt.status || kinds(row) != tt.trace {
					t.Errorf("%d %s", row.Status, kinds(row))
				}
				k.idle(t)
			})
		})
	}
}

// A client that leaves while its request waits is booked as such.
func TestAClientLeavesWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a")
		k.settings.WaitForCooldown.Enabled = true
		k.on("a", limited(5*time.Second))
		ctx, leave := context.WithTimeout(t.Context(), 2*time.Second)
		defer leave()
		w := k.serve(ctx, request(t, messages))
		if row := k.row(t); row.Status != 499 || kinds(row) != "failed:a waited left" || !w.abort || w.late > 0 {
			t.Errorf("%d %s, abort %v, %d bytes after the end", row.Status, kinds(row), w.abort, w.late)
		}
		k.idle(t)
	})
}

// A connection that rests when its turn comes, and is back when all others have
// failed, is asked then (once).
func TestARestingConnectionComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a", "b")
		k.on("a", limited(5*time.Second))
		k.ask(t, messages, header(HeaderPin, "a"))
		k.on("a", answers)
		k.on("b", func(ctx context.Context, to attempt.Target, c attempt.Client) attempt.Result {
			_ = admission.Sleep(ctx, 10*time.Second) // it takes long to fail
			return overloaded(ctx, to, c)
		})
		_, row := k.ask(t, messages)
		if row.Status != 200 || kinds(row) != "skipped:a failed:b answered:a" {
			t.Errorf("%d %s", row.Status, kinds(row))
		}
	})
}

// A gate or queue of ours that lets nothing through is no connection's failure
// (case P11), and the next target is tried.
func TestAFullGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a", "b")
		k.caps = admission.Caps{Account: 1, Depth: 1}
		permit, err := k.gates.Composite(t.Context(), k.caps, "p", "a", "m")
		if err != nil {
			t.Fatal(err)
		}
		_, row := k.ask(t, messages)
		if row.Status != 200 || kinds(row) != "skipped:a answered:b" {
			t.Errorf("%d %s", row.Status, kinds(row))
		}
		k.routes = k.routes[:1]
		if w, row := k.ask(t, messages); row.Result != resultRefused || !strings.Contains(w.body.String(), "error") {
			t.Errorf("%d %s: %s", row.Status, kinds(row), w.body.String())
		}
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		k.serve(ctx, request(t, messages))
		if row := k.row(t); row.Status != 499 || kinds(row) != "left:a" {
			t.Errorf("a client that leaves in the queue: %d %s", row.Status, kinds(row))
		}
		permit.Release()
		k.idle(t)
	})
}

// A queue learns from what the upstream answers: a model that is locked by its
// stated wait leaves the connection's other models alone (guide §5).
func TestAQueueLearns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a@gemini")
		k.protect("a", "gemini")
		if _, row := k.ask(t, messages); row.Status != 200 {
			t.Fatalf("%d", row.Status)
		}
		k.on("a", fails(http.StatusTooManyRequests, outcome.ReasonRateLimit, func(r *attempt.Result) {
			r.Outcome.RestatedFrom = http.StatusTooManyRequests
			r.Body = []byte(`{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3600s"}]}}`)
		}))
		k.ask(t, messages)
		k.on("a", answers)
		if _, row := k.ask(t, messages); row.Status == 200 {
			t.Errorf("the locked model was asked: %s", kinds(row))
		}
		if _, row := k.ask(t, strings.Replace(messages, `"m"`, `"other"`, 1)); row.Status != 200 {
			t.Errorf("another model: %d %+v", row.Status, row.Trace)
		}
		k.idle(t)
	})
}
