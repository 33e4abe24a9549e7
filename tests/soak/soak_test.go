// Package soak holds the tests that load the product for a while; they run
// when BREAKWATER_SOAK is set.
package soak

import (
	"context"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/tests/scenario"
)

// span is how long each load lasts: BREAKWATER_SOAK seconds.
func span(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("BREAKWATER_SOAK")
	if text == "" {
		t.Skip("BREAKWATER_SOAK=60 runs it for 60 s")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		t.Fatalf("BREAKWATER_SOAK=%q is no number of seconds", text)
	}
	return time.Duration(n) * time.Second
}

// load sends requests at a steady pace and keeps how long each took.
type load struct {
	client *http.Client
	errors atomic.Int64
	mu     sync.Mutex
	took   []time.Duration
}

func newLoad(t *testing.T) *load {
	t.Helper()
	l := &load{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(l.client.CloseIdleConnections)
	return l
}

// once sends one request and reads its answer whole.
func (l *load) once(ctx context.Context, method, url, body string, header ...string) {
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		l.errors.Add(1)
		return
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := l.client.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close() // read to its end
	}
	if err != nil || res.StatusCode != http.StatusOK {
		if ctx.Err() == nil {
			l.errors.Add(1)
		}
		return
	}
	l.mu.Lock()
	l.took = append(l.took, time.Since(began))
	l.mu.Unlock()
}

// run calls send once in every interval from as many workers, until the time
// is over or there were enough.
func (l *load) run(ctx context.Context, workers int, every time.Duration, enough int64, send func(ctx context.Context)) {
	var all sync.WaitGroup
	var sent atomic.Int64
	for range workers {
		all.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for enough == 0 || sent.Add(1) <= enough {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					send(ctx)
				}
			}
		})
	}
	all.Wait()
}

// at returns a percentile.
func (l *load) at(percent float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.took) == 0 {
		return 0
	}
	slices.Sort(l.took)
	return l.took[min(int(float64(len(l.took))*percent/100), len(l.took)-1)]
}

// Bounds of the health route under load.
const (
	healthP95    = 50 * time.Millisecond
	healthErrors = 0.001 // of all
)

// The health route, which anybody may ask, stays quick under sustained load,
// with and without a credential.
func TestHealthUnderLoad(t *testing.T) {
	d := span(t)
	k := scenario.Start(t)
	k.Pair()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	l := newLoad(t)
	l.run(ctx, 32, 20*time.Millisecond, 0, func(ctx context.Context) {
		l.once(ctx, http.MethodGet, k.URL+"/api/monitoring/health", "")
		l.once(ctx, http.MethodGet, k.URL+"/api/monitoring/health", "", "Authorization", "Bearer "+k.Token)
	})
	p95, failed := l.at(95), l.errors.Load()
	t.Logf("%d answers in %v, p50 %v, p95 %v, p99 %v, %d errors", len(l.took), d, l.at(50), p95, l.at(99), failed)
	if p95 > healthP95 || float64(failed) > healthErrors*float64(len(l.took)) || len(l.took) < 100 {
		t.Errorf("p95 %v (bound %v), %d errors of %d", p95, healthP95, failed, len(l.took))
	}
}

// traffic proxies requests at a steady pace and returns the figures.
func traffic(ctx context.Context, t *testing.T, k *scenario.Kit) *load {
	t.Helper()
	l := newLoad(t)
	body := scenario.NoStream(scenario.Messages)
	l.run(ctx, 4, 40*time.Millisecond, 0, func(ctx context.Context) {
		l.once(ctx, http.MethodPost, k.URL+"/v1/messages", body, "Content-Type", "application/json")
	})
	return l
}

// Load of the management side beside the traffic.
const (
	reads       = 20_000 // in 60 s; in proportion for other spans
	subscribers = 200
	slowdown    = 1.2 // the traffic's p99 with them, at most so many times that without
	noise       = 2 * time.Millisecond
)

// 20 000 management reads and 200 subscribers in a minute do not slow the
// traffic down.
func TestManagementBesideTraffic(t *testing.T) {
	d := span(t)
	k := scenario.Start(t)
	k.Pair()
	alone, cancel := context.WithTimeout(t.Context(), d)
	without := traffic(alone, t, k)
	cancel()

	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var all sync.WaitGroup
	watchers := newLoad(t)
	for range subscribers {
		all.Go(func() {
			watchers.once(ctx, http.MethodGet, k.URL+"/api/events", "", "Authorization", "Bearer "+k.Token)
		})
	}
	readers := newLoad(t)
	paths := []string{"/api/state", "/api/providers", "/api/activity?limit=20", "/api/resilience", "/metrics", "/api/monitoring/health", "/api/settings", "/api/rate-limits"}
	var turn atomic.Int64
	total := int64(float64(reads) * d.Seconds() / 60)
	all.Go(func() {
		readers.run(ctx, 8, time.Duration(float64(d)*8*0.95/float64(total)), total, func(ctx context.Context) {
			path := paths[int(turn.Add(1))%len(paths)]
			readers.once(ctx, http.MethodGet, k.URL+path, "", "Authorization", "Bearer "+k.Token)
		})
	})
	with := traffic(ctx, t, k)
	all.Wait()
	t.Logf("alone: %d requests, p50 %v, p99 %v; with %d reads (p99 %v) and %d subscribers: %d requests, p50 %v, p99 %v",
		len(without.took), without.at(50), without.at(99), len(readers.took), readers.at(99), subscribers, len(with.took), with.at(50), with.at(99))
	if n := without.errors.Load() + with.errors.Load() + readers.errors.Load() + watchers.errors.Load(); n > 0 {
		t.Errorf("%d errors", n)
	}
	if bound := time.Duration(slowdown*float64(without.at(99))) + noise; with.at(99) > bound {
		t.Errorf("p99 %v, bound %v", with.at(99), bound)
	}
	if int64(len(readers.took)) < total*9/10 {
		t.Errorf("%d of %d reads were made", len(readers.took), total)
	}
}
