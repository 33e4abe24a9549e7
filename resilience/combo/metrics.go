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
	at                  [64]int64 // when, in milliseconds since 1970
	// sum is what all of it comes to, as of sumAt; a further attempt takes it back.
	sum   *Usage
	sumAt time.Time
}

// sumAge is how long a sum holds, whose samples only grow older.
const sumAge = time.Minute

var tallies = newSlot[tally](5000)

// usageAge is how long a latency counts, and minTelemetry how many make the
// figures trusted.
const (
	usageAge     = 24 * time.Hour
	minTelemetry = 10
)

// tallyKey names a target of a combo.
func tallyKey(combo, key string) string { return combo + "\x00" + key }

// Count records the end of one attempt on a target of a combo. latency is the
// time to its answer, not positive when there was none.
func Count(st *State, now time.Time, combo, key string, latency time.Duration, ok bool) {
	tallies.do(st, tallyKey(combo, key), func(t *tally) bool {
		t.sum = nil
		t.requests++
		if ok {
			t.successes++
		}
		if latency > 0 {
			i := t.n % len(t.ring)
			t.ring[i], t.at[i] = latency, now.UnixMilli()
			t.n++
		}
		return true
	})
}

// UsageOf returns what was counted of a target of a combo.
func UsageOf(st *State, now time.Time, combo, key string) (u Usage) {
	tallies.peek(st, tallyKey(combo, key), func(t *tally) { u = *t.usage(now) })
	return u
}

// fillUsage writes into the targets what was counted of them.
func fillUsage(st *State, now time.Time, targets []*Target) {
	for _, x := range targets {
		tallies.peek(st, x.tally, func(t *tally) { x.Live.Usage = t.usage(now) })
	}
}

func (t *tally) usage(now time.Time) *Usage {
	if age := now.Sub(t.sumAt); t.sum == nil || age < 0 || age >= sumAge {
		t.sum, t.sumAt = t.summed(now), now
	}
	return t.sum
}

// summed is what all attempts and the latencies of the last day come to.
func (t *tally) summed(now time.Time) *Usage {
	u := &Usage{Requests: t.requests, Successes: t.successes}
	fresh, oldest := make([]time.Duration, 0, len(t.ring)), now.Add(-usageAge).UnixMilli()
	for i := range min(t.n, len(t.ring)) {
		if t.at[i] >= oldest {
			fresh = append(fresh, t.ring[i])
		}
	}
	u.Samples, u.Telemetry = len(fresh), len(fresh) >= minTelemetry
	if len(fresh) > 0 {
		u.Latency, u.P95, u.StdDev = spread(fresh)
	}
	return u
}

// ForgetUsage forgets what was counted of a target.
func ForgetUsage(st *State, combo, key string) { tallies.drop(st, tallyKey(combo, key)) }
