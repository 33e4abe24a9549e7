package cases

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// long skips what runs for minutes: build/test --chaos and the nightly run set
// the variable.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("RUN_CHAOS_INT") != "1" {
		t.Skip("it takes minutes: RUN_CHAOS_INT=1 or build/test --chaos runs it")
	}
}

// settled waits until the process has no more goroutines than before.
func settled(t *testing.T, before int) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	n := runtime.NumGoroutine()
	for deadline := time.Now().Add(10 * time.Second); n > before && time.Now().Before(deadline); n = runtime.NumGoroutine() {
		<-time.After(10 * time.Millisecond)
	}
	if n > before {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", n, before, buf[:runtime.Stack(buf, true)])
	}
}

// chaosStep is what an upstream does with one request.
func chaosStep(r *rand.Rand) simulator.Step {
	ms := func(n int) time.Duration { return time.Duration(r.IntN(n)) * time.Millisecond }
	ok := simulator.OK("one two three four five six")
	switch r.IntN(20) {
	case 0, 1:
		return simulator.Status(503)
	case 2:
		return simulator.Reset()
	case 3:
		return ok.ResetAfter(simulator.AfterPreamble)
	case 4:
		return ok.CutAfter(1 + r.IntN(4))
	case 5:
		return ok.EndAfter(r.IntN(4))
	case 6:
		return ok.StallAfter(simulator.AfterPreamble, simulator.Forever)
	case 7:
		return ok.ErrorAfter(simulator.AfterPreamble, simulator.Error{Type: "overloaded_error", Message: "busy"})
	case 8:
		return simulator.Status(429).WithRetryAfter(time.Second)
	case 9:
		return simulator.Empty()
	case 10:
		return ok.Delayed(ms(60)).InChunks(1+r.IntN(7), 1+r.IntN(200))
	case 11:
		return ok.Delayed(5 * time.Second) // longer than the proxy waits
	}
	return ok.Delayed(ms(15)).InChunks(1 + r.IntN(400))
}

// A bad hour: a thousand requests over two connections with faults of every
// kind. A client that tries again gets every answer, once and whole; the
// breaker opens and recovers; nothing is left behind.
func TestChaos(t *testing.T) {
	long(t)
	before := runtime.NumGoroutine()
	t.Run("a thousand requests", chaos)
	settled(t, before)
}

func chaos(t *testing.T) {
	const requests, workers = 1000, 16
	answers.Store(0)
	limits := proxy.DefaultLimits()
	limits.Headers, limits.Readiness, limits.ReadinessMax = time.Second, 500*time.Millisecond, time.Second
	limits.Stall, limits.Idle = 500*time.Millisecond, time.Second
	k := scenario.StartWith(t, limits)
	k.Add("alpha", "demo")
	k.Add("beta", "demo-oauth")
	r := rand.New(rand.NewPCG(7, 7))
	for _, name := range []string{"alpha", "beta"} {
		steps := make([]simulator.Step, 4*requests)
		for i := range steps {
			steps[i] = chaosStep(r)
		}
		if name == "alpha" {
			for i := range 100 { // an outage that a breaker is made for
				steps[50+i] = simulator.Status(503)
			}
		}
		k.Sim.Account(name).Script(steps...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened, closed := countBreakers(ctx, t, k)

	var next, tries atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for next.Add(1) <= requests {
				tries.Add(answerAtLast(t, k))
			}
		})
	}
	done.Wait()
	for _, name := range []string{"alpha", "beta"} {
		awaitIdle(t, k, name)
		k.Sim.Account(name).Script()
	}
	if opened.Load() == 0 {
		t.Error("no breaker opened")
	}
	for deadline := time.Now().Add(20 * time.Second); k.Breaker("demo").State != "CLOSED" || k.Breaker("demo-oauth").State != "CLOSED"; {
		if time.Now().After(deadline) {
			t.Fatalf("breakers %s, %s after the faults ended", k.Breaker("demo").State, k.Breaker("demo-oauth").State)
		}
		answerAtLast(t, k)
	}
	if served := k.Connection("alpha").Served + k.Connection("beta").Served; served != answers.Load() {
		t.Errorf("%d answers were served, %d arrived", served, answers.Load())
	}
	if closed.Load() == 0 {
		t.Error("no breaker closed again")
	}
	t.Logf("%d requests took %d tries; breakers opened %d times and closed %d times", requests, tries.Load(), opened.Load(), closed.Load())
}

// countBreakers counts the breakers that open and close.
func countBreakers(ctx context.Context, t *testing.T, k *scenario.Kit) (opened, closed *atomic.Int64) {
	t.Helper()
	opened, closed = &atomic.Int64{}, &atomic.Int64{}
	events, err := k.Facade().Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for e := range events {
			if e.Alert == nil {
				continue
			}
			switch e.Alert.Kind {
			case control.AlertBreakerOpen:
				opened.Add(1)
			case control.AlertBreakerClosed:
				closed.Add(1)
			}
		}
	}()
	return opened, closed
}

// answers counts the whole answers that clients got.
var answers atomic.Int64

// answerAtLast asks until it gets a whole answer, as a client would, and
// returns how often it asked. All clients move the one clock, so a try is much
// less than a second of a client's own patience, and many of them compete for
// the one probe of a breaker.
func answerAtLast(t *testing.T, k *scenario.Kit) int64 {
	const patience = 5000
	var a scenario.Answer
	for n := int64(1); n <= patience; n++ {
		a = k.Do(http.MethodPost, "/v1/messages", scenario.Messages)
		starts, stops := strings.Count(a.Body, "event: message_start"), strings.Count(a.Body, "event: message_stop")
		switch {
		case a.Status == 200 && a.Err == nil:
			if starts != 1 || stops != 1 {
				t.Errorf("a clean end with %d starts and %d stops: %s", starts, stops, a.Body)
			}
			answers.Add(1)
			return n
		case a.Status == 200 && (starts != 1 || stops != 0):
			t.Errorf("a broken answer with %d starts and %d stops: %s", starts, stops, a.Body)
		case a.Status != 200 && a.Status != 429 && a.Status < 500:
			t.Errorf("status %d: %s", a.Status, a.Body)
		case a.Status == 0:
			t.Errorf("no answer: %v", a.Err)
		}
		// A client waits as it is told; the core's time is what it waits by.
		k.Clock.Advance(time.Second)
		<-time.After(time.Millisecond)
	}
	t.Errorf("a request was never answered, at last with %d, %v: %s", a.Status, a.Err, a.Body)
	return patience
}

// heap returns the bytes in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Five hundred streams at once cost at most 64 KiB each while they run, over
// what client and upstream of this test need without the proxy, and nothing
// afterwards.
func TestMemoryOfStreams(t *testing.T) {
	long(t)
	const streams, chunks = 500, 200
	var release chan struct{}
	delta := []byte(event("content_block_delta", textDelta))
	halfway := make(chan struct{}, streams)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		_, _ = io.WriteString(w, event("message_start", messageStart)+event("content_block_start", blockStart))
		for i := range chunks {
			if i == chunks/2 {
				halfway <- struct{}{}
				<-release
			}
			_, _ = w.Write(delta)
			_ = flush.Flush()
		}
		_, _ = io.WriteString(w, event("message_stop", `{"type":"message_stop"}`))
	}))
	defer up.Close()
	k := scenario.Start(t)
	k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = up.URL + "/v1" })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var failed atomic.Int64
	ask := func(base string) {
		res, err := client.Post(base+"/v1/messages", "application/json", strings.NewReader(scenario.Messages))
		if err != nil {
			failed.Add(1)
			return
		}
		defer func() { _ = res.Body.Close() }()
		if n, err := io.Copy(io.Discard, res.Body); err != nil || n < chunks*int64(len(delta)) {
			failed.Add(1)
		}
	}
	run := func(base string) (during uint64) {
		release = make(chan struct{})
		var done sync.WaitGroup
		for range streams {
			done.Go(func() { ask(base) })
		}
		for range streams {
			<-halfway
		}
		during = heap()
		close(release)
		done.Wait()
		return during
	}
	direct := run(up.URL)
	idle := heap()
	during := run(k.URL)
	awaitIdle(t, k, "alpha")
	if err := k.Store.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	up.CloseClientConnections()
	after := heap()
	each := (int64(during) - int64(direct)) / streams
	t.Logf("%d KiB a stream while they run; %d KiB more than before afterwards", each>>10, (int64(after)-int64(idle))>>10)
	if each > 64<<10 {
		t.Errorf("%d bytes a stream", each)
	}
	if int64(after)-int64(idle) > 8<<20 {
		t.Errorf("%d bytes more than before", after-idle)
	}
	if failed.Load() > 0 {
		t.Errorf("%d streams failed", failed.Load())
	}
}

// Ten thousand requests leave no goroutine behind.
func TestGoroutinesAfterManyRequests(t *testing.T) {
	long(t)
	before := runtime.NumGoroutine()
	t.Run("ten thousand requests", func(t *testing.T) {
		k := scenario.Start(t)
		k.Pair()
		var next atomic.Int64
		var done sync.WaitGroup
		for range 8 {
			done.Go(func() {
				for next.Add(1) <= 10_000 {
					if a := k.Do(http.MethodPost, "/v1/messages", scenario.NoStream(scenario.Messages)); a.Status != 200 || a.Err != nil {
						t.Error(fmt.Sprint(a.Status, a.Err))
					}
				}
			})
		}
		done.Wait()
	})
	settled(t, before)
}
