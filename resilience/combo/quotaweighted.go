package combo

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// inFlightLease is how long a slot counts when it is never given back; each
// further request renews it.
const inFlightLease = 2 * time.Minute

// flight counts the requests under way on one connection.
type flight struct {
	n     int
	until time.Time
}

func (f *flight) count(now time.Time) int {
	if !f.until.After(now) {
		return 0
	}
	return f.n
}

var flights = newSlot[flight](5000)

// Begin counts a request on a connection.
func Begin(st *State, now time.Time, connection string) {
	if connection == "" {
		return
	}
	flights.do(st, connection, func(f *flight) bool {
		f.n, f.until = f.count(now)+1, now.Add(inFlightLease)
		return true
	})
}

// End counts it off again.
func End(st *State, now time.Time, connection string) {
	flights.do(st, connection, func(f *flight) bool {
		f.n = max(0, f.count(now)-1)
		return f.n > 0
	})
}

// InFlight returns how many requests are under way on a connection.
func InFlight(st *State, now time.Time, connection string) int {
	f, _ := flights.get(st, connection)
	return f.count(now)
}

// inFlight is the larger of what was counted here and what the caller knows.
func (in *Input) inFlight(t *Target) int {
	return max(t.Live.InFlight, InFlight(in.State, in.Now, t.Connection))
}

// quotaWeighted draws among the connections with quota left, in proportion to
// their reset-aware score and against their load. Connections at the floor and
// those with old figures are drawn from only when there is nothing better.
func quotaWeighted(in *Input) []*Target {
	pools := [2][]scored{make([]scored, 0, len(in.Targets)), nil}
	floor := in.Config.QuotaFloorPercent / 100
	for i := range in.Targets {
		t := in.Targets[i]
		left, known := t.Live.Quota.Remaining(in.Now)
		if t.Live.Breaker == Open || known && left <= tiny {
			continue
		}
		pool := 0
		if !known || left <= floor+tiny || t.Live.Quota.Stale(in.Now) {
			pool = 1
		}
		pools[pool] = append(pools[pool], scored{i, in.Config.resetScore(t.Live.Quota, in.Now)})
	}
	for _, p := range pools {
		slices.SortStableFunc(p, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	}
	if len(pools[0]) == 0 {
		pools[0], pools[1] = pools[1], nil
	}
	if len(pools[0]) == 0 {
		return nil
	}
	weights := make([]float64, len(pools[0]))
	for i, s := range pools[0] {
		t := in.Targets[s.at]
		if !t.Live.Account.Paid402 && !math.IsInf(s.score, 0) {
			weights[i] = max(0, s.score) / float64(1+in.inFlight(t))
		}
	}
	first := draw(in.Rand, weights)
	out := front(take(in.Targets, append(pools[0], pools[1]...)), first)
	in.Reserved = out[0].Connection
	Begin(in.State, in.Now, in.Reserved)
	return out
}

func quotaWeightedDone(r *Result) {
	if r.Reserved != "" {
		End(r.State, r.Now, r.Reserved)
	}
}
