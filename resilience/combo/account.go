package combo

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Candidate is an account as the p2c choice among the accounts of one provider
// sees it (breaker sheet §6).
type Candidate struct {
	ID        string
	Priority  int // 0: not set
	Exhausted bool
	Blocked   bool // by the quota policy
	LastError bool
	RateLimit bool // the error was a limit: 429, rate, quota
	Auth      bool // … or a refusal: 401, 403, OAuth
	Server    bool // … or the upstream's own: 500 and above
	Backoff   int
	Headroom  float64 // percent of quota left
	Known     bool    // whether Headroom is known
	Uses      int     // in a row
	UsedAt    time.Time
	Latency   LatencyStats
}

// Score is the base score: the lower, the better.
func (c *Candidate) Score(now time.Time) float64 {
	score := 0.0
	add := func(when bool, n float64) {
		if when {
			score += n
		}
	}
	add(c.Exhausted, 200)
	add(c.Blocked, 80)
	add(c.LastError, 6)
	switch {
	case c.RateLimit:
		score += 24
	case c.Auth:
		score += 18
	case c.Server:
		score += 10
	}
	score += float64(min(c.Backoff*8, 40))
	if c.Known {
		h := clampTo(c.Headroom, 0, 100)
		score += math.Round((100 - h) / 8)
		switch {
		case h <= 10:
			score += 10
		case h <= 25:
			score += 4
		}
	} else {
		add(!c.Blocked, 4)
	}
	score += float64(min(c.Uses*2, 12))
	if !c.UsedAt.IsZero() {
		switch age := now.Sub(c.UsedAt); {
		case age < 15*time.Second:
			score += 3
		case age < time.Minute:
			score += 2
		case age < 5*time.Minute:
			score++
		}
	}
	return score + float64(min(max(0, c.Priority)-1, 6))
}

// ChooseAccount puts the account first that p2c prefers: of two at most all are
// ordered, of more two random ones are compared. weight is p2cLatency.weight.
func ChooseAccount(now time.Time, rand Rand, weight float64, list []Candidate) []Candidate {
	out := slices.Clone(list)
	better := func(a, b *Candidate) int {
		x, y := LatencyPenalty(weight, a.Latency, b.Latency)
		return cmp.Or(
			cmp.Compare(a.Score(now)+x, b.Score(now)+y),
			cmp.Compare(b.Headroom, a.Headroom),
			cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(a.ID, b.ID),
		)
	}
	if len(out) < 2 {
		return out
	}
	i, j := 0, 1
	if len(out) > 2 {
		i, j = pick(rand, len(out)), pick(rand, len(out)-1)
		if j >= i {
			j++
		}
	}
	if better(&out[j], &out[i]) < 0 {
		i = j
	}
	return slices.Insert(slices.Delete(out, i, i+1), 0, list[i])
}

func (c *Candidate) rank() int {
	if c.Priority == 0 {
		return 999
	}
	return c.Priority
}
