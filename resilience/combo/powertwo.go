package combo

import (
	"math"
	"slices"
)

// powerOfTwo takes the better of two random targets; the rest keeps its order.
func powerOfTwo(in *Input) []*Target {
	n := len(in.Targets)
	if n < 2 {
		return slices.Clone(in.Targets)
	}
	i, j := pick(in.Rand, n), pick(in.Rand, n-1)
	if j >= i {
		j++
	}
	if in.Targets[j].fitness() > in.Targets[i].fitness() {
		i = j
	}
	return front(in.Targets, i)
}

// fitness is the p2c score of a target: how often it succeeds and how fast.
func (t *Target) fitness() float64 {
	if t.Live.Breaker == Open {
		return math.Inf(-1)
	}
	score, u := 0.5, t.Usage()
	if u.Requests > 0 {
		score = u.SuccessRate()
	}
	if u.Latency > 0 {
		score += 1 / math.Log10(float64(u.Latency.Milliseconds())+10)
	} else {
		score += 0.25
	}
	if t.Live.Breaker == HalfOpen {
		score -= 0.25
	}
	return score
}
