// Package metrics counts what the proxy does and shows it in Prometheus's text
// format.
package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/resilience/outcome"
)

// pair are the values of two labels.
type pair struct{ a, b string }

// bounds are the upper ends of the buckets of the first output, in seconds.
var bounds = [...]float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120}

// Meter counts requests and attempts since the start. Its methods are safe for
// use by several goroutines, and cheap.
type Meter struct {
	streams atomic.Int64

	mu       sync.Mutex
	requests map[pair]uint64 // by dialect and result
	attempts map[pair]uint64 // by provider and class
	buckets  [len(bounds) + 1]uint64
	seconds  float64 // sum of the times until the first output
}

// NewMeter returns a meter at zero.
func NewMeter() *Meter {
	return &Meter{requests: map[pair]uint64{}, attempts: map[pair]uint64{}}
}

// Request counts a request that has ended; firstOutput is the time until its
// first output, negative when none came.
func (m *Meter) Request(dialect, result string, firstOutput time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[pair{dialect, result}]++
	if firstOutput < 0 {
		return
	}
	s, i := firstOutput.Seconds(), 0
	for i < len(bounds) && s > bounds[i] {
		i++
	}
	m.buckets[i]++
	m.seconds += s
}

// classes are the words for the three verdicts (ruling 38).
var classes = map[outcome.Class]string{outcome.Success: "success", outcome.Failure: "failure", outcome.Neutral: "neutral"}

// Attempt counts one try at a provider.
func (m *Meter) Attempt(provider string, class outcome.Class) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempts[pair{provider, classes[class]}]++
}

// Stream counts an answer that streams, until the returned function is called.
func (m *Meter) Stream() (end func()) {
	m.streams.Add(1)
	return func() { m.streams.Add(-1) }
}

// write adds the counters to a page.
func (m *Meter) write(p *page) {
	m.mu.Lock()
	requests, attempts := maps.Clone(m.requests), maps.Clone(m.attempts)
	buckets, seconds := m.buckets, m.seconds
	m.mu.Unlock()
	p.counters("breakwater_requests_total", "Requests that have ended, by what became of them.", "dialect", "result", requests)
	p.counters("breakwater_attempts_total", "Tries at a provider, by verdict: neutral ones say nothing about it.", "provider", "class", attempts)
	const name = "breakwater_first_output_seconds"
	p.family(name, "histogram", "Time from a request to the first output of its answer.")
	var count uint64
	for i, n := range buckets {
		count += n
		le := "+Inf"
		if i < len(bounds) {
			le = number(bounds[i])
		}
		p.sample(name+"_bucket", float64(count), "le", le)
	}
	p.sample(name+"_sum", seconds)
	p.sample(name+"_count", float64(count))
	p.single("breakwater_streams_active", "gauge", "Streams that run now.", float64(m.streams.Load()))
}
