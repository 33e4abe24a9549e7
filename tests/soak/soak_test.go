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

func newLoad() *load {
	return &load{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// once sends one request and reads its answer whole.
func (l *load) once(ctx context.Context, method, url, body string, header ...string) {
	l.send(ctx, io.Discard, method, url, body, header...)
}

// listen reads a stream without an end into a writer.
func (l *load) listen(ctx context.Context, url string, into io.Writer, header ...string) {
	l.send(ctx, into, http.MethodGet, url, "", header...)
}

func (l *load) send(ctx context.Context, into io.Writer, method, url, body string, header ...string) {
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
		_, err = io.Copy(into, res.Body)
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
	l := newLoad()
	t.Cleanup(l.client.CloseIdleConnections)
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
