package simulation

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/clock"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
)

// benchService is a service with ten connections of four providers and, for
// each strategy, a combo over them.
func benchService(b *testing.B, names ...combo.Name) *control.Service {
	b.Helper()
	w := newWorld(1, time.Now(), time.Hour, false)
	st := newStore(b, w.records()[:10])
	svc, err := control.New(b.Context(), control.Config{
		Store: st, Secrets: noSecrets{}, Log: slog.New(slog.DiscardHandler), Version: "bench",
		Endpoint: "http://127.0.0.1:7411", Clock: clock.System{},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		svc.Close()
		st.close(b)
	})
	for _, name := range names {
		in := control.ComboInput{Name: string(name), Strategy: string(name)}
		for i, r := range svc.Routes() {
			in.Steps = append(in.Steps, control.ComboStep{Model: r.Provider.ID + "/" + r.Record.Models[0], Connection: r.Record.ID, Weight: weight(i)})
		}
		if _, err := svc.AddCombo(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
	return svc
}

// BenchmarkDispatch is what a request for a combo of ten targets costs beside
// its upstream: the plan, the gates, the queue, the last look, and everything
// given back. The limit is 15 µs.
func BenchmarkDispatch(b *testing.B) {
	// The program's own pace while few requests run.
	defer debug.SetGCPercent(debug.SetGCPercent(proxy.RelaxedGC))
	for _, name := range combo.Public() {
		if made[name] {
			continue
		}
		b.Run(string(name), func(b *testing.B) {
			svc := benchService(b, name)
			c, ok := svc.Combo(string(name))
			if !ok {
				b.Fatal("no combo")
			}
			b.ReportAllocs()
			for b.Loop() {
				dispatch(b, svc, c)
			}
		})
	}
}

func dispatch(b *testing.B, svc *control.Service, c *combo.Combo) {
	b.Helper()
	now := svc.Now()
	plan, refusal := svc.Planner().Plan(c, &combo.Request{Now: now})
	if refusal != nil {
		b.Fatal(refusal)
	}
	t := plan.Order[0]
	choices, _ := svc.ComboChoices(t, control.Ask{Dialect: dialect.Chat})
	r, model := choices[0].Route, choices[0].Model
	permit, err := svc.Gates().Composite(b.Context(), svc.Caps(r), r.Provider.ID, r.Record.ID, model)
	if err != nil {
		b.Fatal(err)
	}
	slot, err := svc.Queues().Acquire(b.Context(), admission.Call{Connection: r.Record.ID, Model: model})
	if err != nil {
		b.Fatal(err)
	}
	a, barred := svc.Engine().Begin(resilience.Candidate{Conn: r.Conn, Model: model})
	if barred != nil {
		b.Fatal(barred.Reason)
	}
	a.Report(outcome.Outcome{Class: outcome.Success, Status: 200})
	slot.Release()
	permit.Release()
	combo.Count(svc.Planner().State, now, c.Name, t.Key, time.Second, true)
	plan.Serve(now, t, r.Record.ID, nil)
}

// BenchmarkQueue is a turn in a queue in which nobody else waits. The limit is
// 5 µs.
func BenchmarkQueue(b *testing.B) {
	for _, rate := range []int64{0, 1 << 30} {
		b.Run(fmt.Sprintf("limit %d", rate), func(b *testing.B) {
			svc := benchService(b)
			if rate > 0 {
				if _, err := svc.EditResilience(b.Context(), []byte(`{"requestQueue":{"concurrentRequests":100,"requestsPerMinute":1000000}}`)); err != nil {
					b.Fatal(err)
				}
			}
			call := admission.Call{Connection: svc.Routes()[0].Record.ID, Model: "m"}
			b.ReportAllocs()
			for b.Loop() {
				slot, err := svc.Queues().Acquire(b.Context(), call)
				if err != nil {
					b.Fatal(err)
				}
				slot.Release()
			}
		})
	}
}
