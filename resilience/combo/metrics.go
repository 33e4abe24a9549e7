package combo

import (
	"time"
)

// Usage is what a combo has counted of one target.
type Usage struct {
	Requests  int64
	Successes int64
	Samples   int           // answers whose latency is known
	Latency   time.Duration // their average
	P95       time.Duration // 0: unknown
	StdDev    time.Duration
	TTFT      time.Duration // time to the first token, 0: unknown
	Rate      float64       // tokens a second, 0: unknown
	// Telemetry tells that the figures come from enough samples of the last
	// day; otherwise the auto engine's own assumptions hold.
	Telemetry bool
}

// SuccessRate returns the share of requests that succeeded, 0 without any.
func (u Usage) SuccessRate() float64 {
	if u.Requests <= 0 {
		return 0
	}
	return unit(float64(u.Successes) / float64(u.Requests))
}

// tally is the running account of one target.
type tally struct {
	requests, successes int64
	ring                [64]time.Duration // the last latencies
	n                   int
	at                  [64]time.Time
}

var tallies = slot[tally]{"usage", 5000}

// usageAge is how long a latency counts, and minTelemetry how many make the
// figures trusted.
const (
	usageAge     = 24 * time.Hour
	minTelemetry = 10
)

// Count records the end of one attempt on a target of a combo. latency is the
// time to its answer, not positive when there was none.
func Count(st State, now time.Time, combo, key string, latency time.Duration, ok bool) {
	tallies.do(st, combo+"\x00"+key, func(t *tally) bool {
		t.requests++
		if ok {
			t.successes++
		}
		if latency > 0 {
			i := t.n % len(t.ring)
			t.ring[i], t.at[i] = latency, now
			t.n++
		}
		return true
	})
}

// UsageOf returns what was counted of a target of a combo.
func UsageOf(st State, now time.Time, combo, key string) Usage {
	var u Usage
	tallies.do(st, combo+"\x00"+key, func(t *tally) bool {
		if t.requests == 0 {
			return false
		}
		u.Requests, u.Successes = t.requests, t.successes
		var fresh [64]time.Duration
		n := 0
		for i := range min(t.n, len(t.ring)) {
			if now.Sub(t.at[i]) <= usageAge {
				fresh[n] = t.ring[i]
				n++
			}
		}
		u.Samples, u.Telemetry = n, n >= minTelemetry
		if n > 0 {
			u.Latency, u.P95, u.StdDev = spread(fresh[:n])
		}
		return true
	})
	return u
}

// ForgetUsage forgets what was counted of a target.
func ForgetUsage(st State, combo, key string) { tallies.drop(st, combo+"\x00"+key) }
