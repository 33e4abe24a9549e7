package exchange

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/refusal"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// kept is the beginning of an answer that broke off before the client saw it.
type kept struct{ client attempt.Client }

// Deliver implements attempt.Kept.
func (k kept) Deliver() bool {
	k.client.Head(http.StatusOK, func(http.Header) {})
	return k.client.Write([]byte("beginning"))
}

// keeps is an answer that broke off before the client saw its beginning.
func keeps(_ context.Context, _ attempt.Target, client attempt.Client) attempt.Result {
	return attempt.Result{End: attempt.Failed, Kept: kept{client}, Outcome: outcome.Outcome{
		Class: outcome.Failure, Scope: outcome.ScopeConnection, Reason: outcome.ReasonTruncated, Status: http.StatusBadGateway, Fallback: true,
	}}
}

// slowly lets an attempt take its time; it ends early when the client leaves.
func slowly(d time.Duration, then script) script {
	return func(ctx context.Context, to attempt.Target, client attempt.Client) attempt.Result {
		if admission.Sleep(ctx, d) != nil && attempt.Gone(ctx, client) {
			return attempt.Result{End: attempt.Left}
		}
		return then(ctx, to, client)
	}
}

// steps are the ways in which a generated attempt goes.
var steps = map[string]script{
	"answer": answers, "overloaded": overloaded, "server error": overloaded2, "short limit": limited(3 * time.Second),
	"long limit": limited(time.Hour), "broken": breaks, "fault": panics, "bad request": bad, "kept": keeps,
	"slow answer": slowly(40*time.Second, answers), "slow failure": slowly(20*time.Second, overloaded),
	"fault after the head": func(_ context.Context, _ attempt.Target, c attempt.Client) attempt.Result {
		c.Head(http.StatusOK, func(http.Header) {})
		panic("a fault")
	},
	"another owner's": func(context.Context, attempt.Target, attempt.Client) attempt.Result {
		return attempt.Result{End: attempt.Refused, Fence: &control.LeaseError{Code: control.LeaseConnMismatch}}
	},
	"lease lost": func(context.Context, attempt.Target, attempt.Client) attempt.Result {
		return attempt.Result{End: attempt.Refused, Fence: &control.LeaseError{Code: control.LeaseFenceStale}}
	},
}

var strategies = []combo.Name{"", combo.Priority, combo.RoundRobin, combo.Weighted, combo.P2C, combo.QuotaShare, combo.Fusion, combo.Pipeline}

// life is a generated rig and the requests that it serves one after another.
type life struct {
	attempts                     map[string][]string
	waits, comboWaits, protected bool
	heartbeats, affinity         bool
	cap, retries                 int
	strategy                     combo.Name
	requests                     []generatedRequest
}

type generatedRequest struct {
	stream, probe, paused bool
	stays                 time.Duration
}

func drawLife(t *rapid.T) life {
	yes := func(what string) bool { return rapid.Bool().Draw(t, what) }
	l := life{
		attempts: map[string][]string{}, waits: yes("waits"), comboWaits: yes("combo waits"), protected: yes("protected"),
		heartbeats: yes("heartbeats"), affinity: yes("affinity"), cap: rapid.IntRange(0, 1).Draw(t, "cap"),
		retries: rapid.IntRange(0, 2).Draw(t, "retries"), strategy: rapid.SampledFrom(strategies).Draw(t, "strategy"),
	}
	for _, id := range []string{"a", "b", "c"} {
		l.attempts[id] = rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(steps))), 1, 4).Draw(t, "attempts of "+id)
	}
	for range rapid.IntRange(1, 4).Draw(t, "requests") {
		l.requests = append(l.requests, generatedRequest{
			stream: yes("stream"), probe: rapid.IntRange(0, 9).Draw(t, "probe") == 0, paused: rapid.IntRange(0, 19).Draw(t, "paused") == 0,
			// Off the beat of everything else that happens.
			stays: time.Duration(rapid.IntRange(1, 90).Draw(t, "stays"))*time.Second + 1500*time.Microsecond,
		})
	}
	return l
}

// rig builds the rig of a life.
func (l life) rig() *rig {
	k := newRig("a", "b", "c@q")
	for id, names := range l.attempts {
		var list []script
		for _, name := range names {
			list = append(list, steps[name])
		}
		k.on(id, list...)
	}
	k.settings.WaitForCooldown.Enabled = l.waits
	k.settings.ComboCooldownWait = settings.ComboCooldownWait{Enabled: l.comboWaits, MaxWaitMs: 5000, MaxAttempts: 2, BudgetMs: 8000}
	k.caps = admission.Caps{Account: l.cap, Depth: 1}
	if l.protected {
		k.protect("a", "p")
	}
	if l.heartbeats {
		k.Limits.Heartbeat, k.Limits.Hold = 1003*time.Millisecond, 2*time.Second
	}
	if l.affinity {
		k.ttl = time.Hour
	}
	if l.strategy != "" {
		k.addCombo("m", l.strategy, map[string]any{"maxRetries": float64(l.retries), "retryDelayMs": 700.0}, "p/m", "q/m")
	}
	return k
}

// Whatever the attempts come to: a request has one row and one end, gets one head
// and at most one refusal, what it took is given back, and a client that has left
// gets nothing more.
func TestEveryRequestEndsOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := drawLife(rt)
		var faults faults
		synctest.Test(t, func(t *testing.T) {
			k := l.rig()
			for i, q := range l.requests {
				body := messages
				if q.stream {
					body = strings.Replace(messages, `{`, `{"stream":true,`, 1)
				}
				req := request(t, body, header("X-Session-Id", fmt.Sprint("s", i%2)), func(r *Request) { r.Probe = q.probe })
				ctx, leave := context.WithTimeout(t.Context(), q.stays)
				w := &reply{header: http.Header{}, gone: func() bool { return ctx.Err() != nil }}
				k.admitted(ctx, req, w, func() *refusal.Notice {
					if q.paused {
						return new(refusal.Paused())
					}
					return nil
				})
				leave()
				synctest.Wait()
				faults.check(k, w, i+1)
			}
		})
		if len(faults) > 0 {
			rt.Fatal(strings.Join(faults, "\n"))
		}
	})
}

// faults are what a life did wrong.
type faults []string

// Errorf adds one.
func (f *faults) Errorf(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

func (f *faults) check(k *rig, w *reply, requests int) {
	if len(k.rows) != requests || len(k.metered) != requests {
		f.Errorf("%d rows and %d ends after %d requests", len(k.rows), len(k.metered), requests)
		return
	}
	row := k.rows[requests-1]
	refused := strings.Count(kinds(row), string(control.StepRefused))
	switch {
	case w.heads > 1:
		f.Errorf("%d heads: %s", w.heads, kinds(row))
	case refused > 1 || refused == 1 && row.Result != resultRefused:
		f.Errorf("%d refusals of a request that is %s: %s", refused, row.Result, kinds(row))
	case w.late > 0:
		f.Errorf("%d bytes after the client had left: %s", w.late, kinds(row))
	case w.heads == 0 && !w.abort:
		f.Errorf("no head, and the connection goes on: %s", kinds(row))
	case (row.Result == resultTruncated || row.Result == resultLeft) && !w.abort:
		f.Errorf("%s, and the connection goes on: %s", row.Result, kinds(row))
	case row.Result == resultAnswered && (w.abort || !strings.HasSuffix(w.body.String(), answerText)):
		f.Errorf("answered, abort %v, %q", w.abort, w.body.String())
	case row.Result == resultFailed && row.Status == http.StatusInternalServerError:
		f.Errorf("a fault outside the attempts: %s", k.log.String())
	}
	k.idle(f)
}
