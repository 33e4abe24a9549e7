package combo

import (
	"math"
	"slices"
	"sync"
	"time"
)

// The rolling window of the latency signal (guide §2).
const (
	latencySamples = 20
	latencyAge     = 15 * time.Minute
	latencyMin     = 3 // samples on both sides before the signal counts
	// MaxLatencyWeight keeps the signal below the penalties of spent quota.
	MaxLatencyWeight = 20
)

// Latency remembers time to first byte and outcome of the last attempts, by
// connection and by connection and model (guide §2, "Señal de latencia
// opcional"). It is memory only and safe for concurrent use.
type Latency struct {
	mu    sync.Mutex
	rings map[latencyKey]*latencyRing
}

type latencyKey struct{ connection, model string }

type latencyRing struct {
	samples [latencySamples]latencySample
	n       int
}

type latencySample struct {
	at     time.Time
	ttfb   time.Duration
	failed bool
}

// LatencyStats is what the window says at one moment.
type LatencyStats struct {
	Samples   int
	TTFB      time.Duration // average, 0 when no sample has one
	ErrorRate float64
}

// NewLatency returns a tracker without samples.
func NewLatency() *Latency { return &Latency{rings: map[latencyKey]*latencyRing{}} }

// Record adds an attempt. ttfb is not positive when no byte came.
func (l *Latency) Record(now time.Time, connection, model string, ttfb time.Duration, failed bool) {
	if connection == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(latencyKey{connection, ""}, latencySample{now, ttfb, failed})
	if model != "" {
		l.add(latencyKey{connection, model}, latencySample{now, ttfb, failed})
	}
}

func (l *Latency) add(k latencyKey, s latencySample) {
	r := l.rings[k]
	if r == nil {
		r = &latencyRing{}
		l.rings[k] = r
	}
	r.samples[r.n%latencySamples] = s
	r.n++
}

// Stats returns the window of a connection, or of one model on it when model
// is not empty.
func (l *Latency) Stats(now time.Time, connection, model string) LatencyStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.rings[latencyKey{connection, model}]
	if r == nil {
		return LatencyStats{}
	}
	var st LatencyStats
	var sum time.Duration
	timed, failed := 0, 0
	for _, s := range r.samples[:min(r.n, latencySamples)] {
		if age := now.Sub(s.at); age > latencyAge || age < -latencyAge {
			continue
		}
		st.Samples++
		if s.failed {
			failed++
		}
		if s.ttfb > 0 {
			timed++
			sum += s.ttfb
		}
	}
	if timed > 0 {
		st.TTFB = sum / time.Duration(timed)
	}
	if st.Samples > 0 {
		st.ErrorRate = float64(failed) / float64(st.Samples)
	}
	return st
}

// Forget drops the samples of a connection that is gone.
func (l *Latency) Forget(connection string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.rings {
		if k.connection == connection {
			delete(l.rings, k)
		}
	}
}

// Sweep drops the windows in which every sample is too old.
func (l *Latency) Sweep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, r := range l.rings {
		newest := r.samples[(r.n-1)%latencySamples].at
		if now.Sub(newest) > latencyAge {
			delete(l.rings, k)
		}
	}
}

// LatencyPenalty returns what the signal adds to the scores of a pair of
// candidates, of which the lower wins: half of weight for being slower than the
// other (twice as slow is the full half), half for the error rate. weight is
// p2cLatency.weight: 0 is off, more than 20 counts as 20.
func LatencyPenalty(weight float64, a, b LatencyStats) (forA, forB float64) {
	if weight <= 0 || math.IsNaN(weight) || a.Samples < latencyMin || b.Samples < latencyMin {
		return 0, 0
	}
	half := min(weight, MaxLatencyWeight) / 2
	slower := func(x, than time.Duration) float64 {
		if x <= 0 || than <= 0 {
			return 0
		}
		return half * unit(float64(x)/float64(than)-1)
	}
	return slower(a.TTFB, b.TTFB) + half*a.ErrorRate, slower(b.TTFB, a.TTFB) + half*b.ErrorRate
}

// spread returns average, 95th percentile and standard deviation.
func spread(d []time.Duration) (avg, p95, dev time.Duration) {
	var sum float64
	for _, x := range d {
		sum += float64(x)
	}
	mean := sum / float64(len(d))
	var sq float64
	for _, x := range d {
		sq += (float64(x) - mean) * (float64(x) - mean)
	}
	above := len(d) - int(math.Ceil(0.95*float64(len(d))))
	return time.Duration(mean), largest(d, above+1), time.Duration(math.Sqrt(sq / float64(len(d))))
}

// largest returns the nth largest of a list. n is small: then one pass costs
// less than sorting.
func largest(d []time.Duration, n int) time.Duration {
	top := make([]time.Duration, 0, 8) // largest first
	for _, x := range d {
		if len(top) == n && x <= top[n-1] {
			continue
		}
		i := len(top)
		for i > 0 && top[i-1] < x {
			i--
		}
		top = slices.Insert(top[:min(len(top), n-1)], i, x)
	}
	return top[len(top)-1]
}
