package exchange

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"breakwater/proxy/attempt"
	"breakwater/proxy/refusal"
	"breakwater/resilience/combo"
)

// A fault of our own in an attempt counts against no connection: before the
// commit point the next target answers, after it the stream is cut.
func TestAFaultInAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newRig("a", "b")
		k.on("a", panics)
		for range 30 {
			w, row := k.ask(t, messages)
			if row.Status != 200 || kinds(row) != "failed:a answered:b" || w.abort {
				t.Fatalf("%d %s, abort %v", row.Status, kinds(row), w.abort)
			}
		}
		k.on("a", func(_ context.Context, _ attempt.Target, c attempt.Client) attempt.Result {
			c.Head(http.StatusOK, func(http.Header) {})
			c.Write([]byte("half"))
			panic("a fault")
		})
		asked := len(k.asked)
		w, row := k.ask(t, messages)
		if row.Result != resultTruncated || kinds(row) != "cut:a" || !w.abort || w.body.String() != "half" || len(k.asked) != asked+1 {
			t.Errorf("%s %s, abort %v, %q", row.Result, kinds(row), w.abort, w.body.String())
		}
		if n := strings.Count(k.log.String(), "a request hit a fault in Breakwater"); n != 31 {
			t.Errorf("%d faults in the log", n)
		}
		if left := k.routes[0].Use.Failed.Load(); left != 0 {
			t.Errorf("%d failures are counted against the connection", left)
		}
		k.idle(t)
	})
}

// A fault outside an attempt ends the request with a 500 in its one row. The
// client, which has nothing yet, is cut off.
func TestAFaultInPlanning(t *testing.T) {
	for _, tt := range []struct {
		name  string
		body  string
		admit func() *refusal.Notice
		edit  func(*rig)
	}{
		{"a single model", messages, nil, func(k *rig) { k.planning = func() { panic("a fault") } }},
		{"a combo", strings.Replace(messages, `"m"`, `"c"`, 1), nil, func(k *rig) {
			k.addCombo("c", combo.Priority, nil, "p/m")
			k.planning = func() { panic("a fault") }
		}},
		{"admission", messages, func() *refusal.Notice { panic("a fault") }, func(*rig) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a")
				tt.edit(k)
				if tt.admit == nil {
					tt.admit = func() *refusal.Notice { return nil }
				}
				req := request(t, tt.body, func(r *Request) { r.Body.Stream = true })
				w := &reply{header: http.Header{}, gone: func() bool { return false }}
				k.admitted(t.Context(), req, w, tt.admit)
				if row := k.row(t); row.Status != 500 || row.Result != resultFailed || !w.abort || w.body.Len() > 0 {
					t.Errorf("%d %s, abort %v, %q", row.Status, row.Result, w.abort, w.body.String())
				}
				if !strings.Contains(k.log.String(), "a request hit a fault in Breakwater") {
					t.Error("the log does not say so")
				}
				k.idle(t)
			})
		})
	}
}

// A fault in a call that fusion makes beside the request ends that call alone,
// whether it comes from the attempt or from what leads to it.
func TestAFaultInASideCall(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(*rig)
	}{
		{"in the attempt", func(k *rig) { k.on("b", panics) }},
		{"before it", func(k *rig) {
			var once sync.Once
			k.planning = func() { once.Do(func() { panic("a fault") }) }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newRig("a", "b@q", "c@r")
				k.addCombo("f", combo.Fusion, nil, "p/m", "q/m", "r/m")
				tt.fault(k)
				_, row := k.ask(t, strings.Replace(messages, `"m"`, `"f"`, 1))
				if row.Status != 200 || row.Result != resultAnswered {
					t.Errorf("%d %s: %s", row.Status, row.Result, kinds(row))
				}
				if !strings.Contains(k.log.String(), "a request hit a fault in Breakwater") {
					t.Error("the log does not say so")
				}
			})
		})
	}
}
