package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/tests/scenario"
)

// Load of the management side beside the traffic.
const (
	reads       = 20_000 // in 60 s; in proportion for other spans
	subscribers = 200
	slowdown    = 1.2 // the traffic's p99 with them, at most so many times that without
	noise       = 2 * time.Millisecond
)

// order tells a second process of this test what load to make.
type order struct {
	URL, Token  string
	Span        time.Duration
	Reads       int64
	Subscribers int
}

// report is what came of it.
type report struct {
	Reads, Events int64
	Errors        int64
	P99           time.Duration
}

// orderVariable holds an order as JSON.
const orderVariable = "BREAKWATER_SOAK_ORDER"

func TestMain(m *testing.M) {
	text := os.Getenv(orderVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(o.carryOut()); err != nil {
		os.Exit(1)
	}
}

// start has the order carried out by a process that gives way to the measured
// ones, where the system can say so: what the readers do with their answers is
// not the program's load.
func (o order) start(ctx context.Context, t *testing.T) (wait func() report) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{os.Args[0]}
	if nice, err := exec.LookPath("nice"); err == nil {
		args = append([]string{nice, "-n", "5"}, args...)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() (r report) {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("the load: %v %s", err, &errs)
		}
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// carryOut reads at a steady pace and listens, for as long as is asked.
func (o order) carryOut() report {
	ctx, cancel := context.WithTimeout(context.Background(), o.Span)
	defer cancel()
	token := []string{"Authorization", "Bearer " + o.Token}
	readers, watchers := newLoad(), newLoad()
	var all sync.WaitGroup
	var frames frameCounter
	for range o.Subscribers {
		all.Go(func() { watchers.listen(ctx, o.URL+"/api/events", &frames, token...) })
	}
	paths := []string{"/api/state", "/api/providers", "/api/activity?limit=20", "/api/resilience", "/metrics", "/api/monitoring/health", "/api/settings", "/api/rate-limits"}
	var turn atomic.Int64
	const workers = 8
	if o.Reads > 0 {
		readers.run(ctx, workers, time.Duration(float64(o.Span)*workers*0.95/float64(o.Reads)), o.Reads, func(ctx context.Context) {
			readers.once(ctx, http.MethodGet, o.URL+paths[int(turn.Add(1))%len(paths)], "", token...)
		})
	}
	all.Wait()
	return report{Reads: int64(len(readers.took)), Events: frames.n.Load(), Errors: readers.errors.Load() + watchers.errors.Load(), P99: readers.at(99)}
}

// frameCounter counts the frames of all streams.
type frameCounter struct{ n atomic.Int64 }

// Write counts the ends of frames.
func (f *frameCounter) Write(p []byte) (int, error) {
	f.n.Add(int64(bytes.Count(p, []byte("\n\n"))))
	return len(p), nil
}

// traffic proxies requests at a steady pace and returns the figures.
func traffic(ctx context.Context, t *testing.T, url string) *load {
	t.Helper()
	l := newLoad()
	t.Cleanup(l.client.CloseIdleConnections)
	body := scenario.NoStream(scenario.Messages)
	l.run(ctx, 4, 40*time.Millisecond, 0, func(ctx context.Context) {
		l.once(ctx, http.MethodPost, url+"/v1/messages", body, "Content-Type", "application/json")
	})
	return l
}

// measure proxies for a while and returns the figures.
func measure(t *testing.T, p program, d time.Duration) *load {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return traffic(ctx, t, p.url)
}

// 20 000 management reads and 200 subscribers in a minute do not slow the
// traffic down. The program is a process of its own, and so is what reads and
// listens; this one is the client whose waits count, and the provider.
func TestManagementBesideTraffic(t *testing.T) {
	d := span(t)
	p := startProgram(t)
	measure(t, p, min(d, 3*time.Second)) // caches and connections are warm in both
	without := measure(t, p, d)

	o := order{URL: p.url, Token: p.token, Span: d, Reads: int64(float64(reads) * d.Seconds() / 60), Subscribers: subscribers}
	wait := o.start(t.Context(), t)
	with := measure(t, p, d)
	r := wait()
	t.Logf("alone: %d requests, p50 %v, p99 %v; with %d reads (p99 %v) and %d subscribers (%d frames): %d requests, p50 %v, p99 %v",
		len(without.took), without.at(50), without.at(99), r.Reads, r.P99, subscribers, r.Events, len(with.took), with.at(50), with.at(99))
	if n := without.errors.Load() + with.errors.Load() + r.Errors; n > 0 {
		t.Errorf("%d errors", n)
	}
	if bound := time.Duration(slowdown*float64(without.at(99))) + noise; with.at(99) > bound {
		t.Errorf("p99 %v, bound %v", with.at(99), bound)
	}
	if r.Reads < o.Reads*9/10 {
		t.Errorf("%d of %d reads were made", r.Reads, o.Reads)
	}
	if r.Events < int64(subscribers*len(with.took))*9/10 {
		t.Errorf("%d frames for %d subscribers of %d requests", r.Events, subscribers, len(with.took))
	}
}
