package combo

import (
	"math"
)

// leastUsed prefers the targets that were used least, by the combo's counts.
func leastUsed(in *Input) []*Target {
	return take(in.Targets, rank(in.Targets, func(t *Target) float64 { return -float64(t.Live.Usage.Requests) }))
}

// costOptimized prefers the lowest input price; an unknown price comes last.
func costOptimized(in *Input) []*Target {
	targets := in.Targets
	if in.Config.ManifestRouting && in.Hints.RequirePremium {
		premium := filter(targets, func(t *Target) bool { return t.Live.Facts.Tier == PremiumTier })
		if len(premium) > 0 {
			targets = premium
		}
	}
	return take(targets, rank(targets, func(t *Target) float64 {
		if p := t.Live.Facts.Price; p.Known {
			return -p.Input
		}
		return math.Inf(-1)
	}))
}

// contextOptimized prefers the largest context window; an unknown one counts
// as none.
func contextOptimized(in *Input) []*Target {
	return take(in.Targets, rank(in.Targets, func(t *Target) float64 { return float64(t.Live.Facts.Context) }))
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
