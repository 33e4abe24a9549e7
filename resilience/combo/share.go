package combo

import (
	"math"
	"slices"
)

// saturatedAt is the share of a window at which fair sharing demotes a
// connection (QUOTA_SATURATION_THRESHOLD).
const saturatedAt = 0.5

// deficits are the round-robin credits of a combo's connections.
type deficits map[string]float64

var shares = newSlot[deficits](200)

// quotaShare spreads requests over the accounts that share a quota: deficit
// round robin, corrected by load. Nothing is dropped: connections at their cap
// and saturated ones come last.
func quotaShare(in *Input) []*Target {
	rest, saturated := split(in.Targets, func(t *Target) bool { return t.Connection != "" && in.saturated(t) })
	rest, capped := split(rest, func(t *Target) bool {
		limit := EffectiveMax(t.MaxConcurrent, 0)
		return limit > 0 && in.inFlight(t) >= limit
	})
	if len(rest) == 0 {
		return nil
	}
	first, second := in.dealShare(rest)
	if second >= 0 && in.inFlight(rest[second]) < in.inFlight(rest[first]) {
		first = second
	}
	out := front(rest, first)
	out = append(append(out, capped...), saturated...)
	in.Reserved = out[0].Connection
	Begin(in.State, in.Now, in.Reserved)
	return out
}

// split takes the demoted targets out; when that would be all, nobody is.
func split(targets []*Target, demoted func(t *Target) bool) (kept, out []*Target) {
	if kept, out = part(targets, demoted); len(kept) == 0 {
		return slices.Clone(targets), nil
	}
	return kept, out
}

func (in *Input) saturated(t *Target) bool {
	q := t.Live.Quota
	if q == nil {
		return false
	}
	full := func(w Window) bool { return w.Known && 1-w.Remaining(in.Now, 1) >= saturatedAt }
	if full(q.Session) || full(q.Weekly) {
		return true
	}
	return full(q.Models[t.ModelID()])
}

// dealShare pays every connection its share and charges the richest one. It
// returns the winner and the runner-up, -1 if there is none.
func (in *Input) dealShare(rest []*Target) (first, second int) {
	sum := 0.0
	for i := range rest {
		sum += shareWeight(rest[i])
	}
	first, second = 0, -1
	shares.do(in.State, in.Combo, func(d *deficits) bool {
		if *d == nil {
			*d = deficits{}
		}
		for i := range rest {
			(*d)[rest[i].Key] += shareWeight(rest[i]) / sum
			have := (*d)[rest[i].Key]
			switch {
			case i == 0:
			case have > (*d)[rest[first].Key]:
				first, second = i, first
			case second < 0 || have > (*d)[rest[second].Key]:
				second = i
			}
		}
		(*d)[rest[first].Key]--
		if len(*d) > 4*len(in.Targets)+16 { // targets that are gone
			for key := range *d {
				if indexOf(in.Targets, key) < 0 {
					delete(*d, key)
				}
			}
		}
		return true
	})
	return first, second
}

func shareWeight(t *Target) float64 {
	if t.Weight <= 0 {
		return 1
	}
	return t.Weight
}

func quotaShareDone(r *Result) {
	if r.Reserved != "" {
		End(r.State, r.Now, r.Reserved)
	}
}

// EffectiveMax returns a cap as a whole number; fallback when it is none.
func EffectiveMax(limit float64, fallback int) int {
	if math.IsNaN(limit) || limit < 1 || limit > math.MaxInt32 {
		return fallback
	}
	return int(limit)
}
