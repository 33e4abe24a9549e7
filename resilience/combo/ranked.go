package combo

import (
	"math"
)

// leastUsed prefers the targets that were used least, by the combo's counts.
func leastUsed(in *Input) []*Target {
	return take(in.Targets, rank(in.Targets, func(t *Target) float64 { return -float64(t.Usage().Requests) }))
}

// costOptimized prefers the lowest input price; an unknown price comes last.
func costOptimized(in *Input) []*Target {
	targets := in.Targets
	if in.Config.ManifestRouting && in.Hints.RequirePremium {
		premium := filter(targets, func(t *Target) bool { return t.Facts.Tier == PremiumTier })
		if len(premium) > 0 {
			targets = premium
		}
	}
	return take(targets, rank(targets, func(t *Target) float64 {
		if p := t.Facts.Price; p.Known {
			return -p.Input
		}
		return math.Inf(-1)
	}))
}

// contextOptimized prefers the largest context window; an unknown one counts
// as none.
func contextOptimized(in *Input) []*Target {
	return take(in.Targets, rank(in.Targets, func(t *Target) float64 { return float64(t.Facts.Context) }))
}

// headroom prefers the connection whose fuller window has most room left.
func headroom(in *Input) []*Target {
	return take(in.Targets, rank(in.Targets, func(t *Target) float64 { return t.Live.Quota.Headroom(in.Now) }))
}

func filter(targets []*Target, keep func(t *Target) bool) []*Target {
	out := make([]*Target, 0, len(targets))
	for i := range targets {
		if keep(targets[i]) {
			out = append(out, targets[i])
		}
	}
	return out
}

// part separates the targets that are taken out from those that stay.
func part(targets []*Target, out func(t *Target) bool) (stay, taken []*Target) {
	stay = make([]*Target, 0, len(targets))
	for _, t := range targets {
		if out(t) {
			taken = append(taken, t)
		} else {
			stay = append(stay, t)
		}
	}
	return stay, taken
}
