package admission

import (
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/settings"
)

func TestSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queues("acme", nil, Overrides{})
		if _, ok := q.Unsaved(t0); ok {
			t.Error("nothing has been learned")
		}
		q.Learn(call, limited("100", "40", "30s"))
		list, ok := q.Unsaved(t0)
		if !ok || len(list) != 1 || list[0] != (Learned{acme, "alpha", 100, 40, 590, t0}) {
			t.Fatalf("%v %+v", ok, list)
		}
		q.Learn(call, limited("100", "41", "30s"))
		if _, ok := q.Unsaved(t0.Add(59 * time.Second)); ok {
			t.Error("twice within a minute")
		}
		if list, ok := q.Unsaved(t0.Add(time.Minute)); !ok || list[0].Remaining != 41 {
			t.Errorf("%v %+v", ok, list)
		}
		if _, ok := q.Unsaved(t0.Add(time.Hour)); ok {
			t.Error("unchanged, and saved again")
		}

		next := queues("acme", nil, Overrides{})
		next.Restore([]Learned{list[0], {Key: "acme:beta", Limit: 0}, {Key: "acme:old", Limit: 5, At: t0.Add(-25 * time.Hour)}}, t0.Add(time.Hour))
		if v := next.view(t, acme); v.Spacing != 590*ms || v.Limit != 100 {
			t.Errorf("restored %+v", v)
		}
		if len(next.restored) != 1 {
			t.Errorf("restored %+v", next.restored)
		}
		pause(t, 10*time.Minute)
		next.Sweep()
		if len(next.Views()) != 0 {
			t.Error("an idle limiter stays")
		}
		send(t, next, call).Release()
		if v := next.view(t, acme); v.Spacing != 590*ms {
			t.Errorf("after idling %+v", v)
		}
		if next.Unsaved(t0.Add(26 * time.Hour)); len(next.restored) != 0 {
			t.Errorf("after a day %+v", next.restored)
		}

		late := queues("gemini", nil, Overrides{}) // its limiters come with the calls
		late.Restore([]Learned{{Key: "gemini:alpha:m1", Connection: "alpha", Limit: 60, SpacingMs: 990, At: t0}}, t0)
		late.Learn(Call{Connection: "alpha", Model: "m2"}, limited("100", "40", "1s"))
		if list, ok := late.Unsaved(t0); !ok || len(list) != 2 {
			t.Errorf("%v %+v", ok, list)
		}
		late.Forget("alpha")
		if len(late.restored) != 0 {
			t.Errorf("forgotten, and still %+v", late.restored)
		}
	})
}

func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queues("acme", func(q *settings.RequestQueue) { q.ConcurrentRequests, q.MaxWaitMs = 1, 3_600_000 }, Overrides{})
		s := send(t, q, call)
		waiting := waitFor(t, q, call)
		q.Learn(call, Answer{Status: 429, Body: []byte(retryInfo + `1800s"}]}}`), Now: t0})
		s.Release()
		for range 50 { // a pause is no wedge
			pause(t, SweepEvery)
			if w := q.Sweep(); len(w) > 0 {
				t.Fatalf("taken down: %v", w)
			}
		}
		r := <-waiting
		if r.err != nil || r.after != 30*time.Minute {
			t.Fatalf("after %s: %v", r.after, r.err)
		}
		pause(t, time.Hour) // a long stream is not idle
		q.Sweep()
		q.view(t, acme)
		r.got.Release()
		r.got.Release()
	})
}
