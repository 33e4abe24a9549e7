package combo

import (
	"time"
)

// What is assumed of a target without enough samples.
const (
	bootP95       = 1500 * time.Millisecond
	bootErrorRate = 0.05
)

// The soft penalties multiply a score.
const (
	quotaSoftFactor  = 0.7 // QUOTA_SOFT_DEPRIORITIZE_FACTOR
	statusSoftFactor = 0.5 // STATUS_SOFT_DEPRIORITIZE_FACTOR
)

// Hints are what the auto engine is told of the request.
type Hints struct {
	Mode           string  // see ParseMode
	Budget         float64 // X-OmniRoute-Budget in US dollars, 0: none
	Task           string  // see TaskOf
	Tier           string  // free, cheap or premium, empty: no hint
	Specificity    float64 // 0 to 100, see HasSpecificity
	HasSpecificity bool
	RequirePremium bool
	TaskFit        map[string]float64 // the user's own ratings
}

// candidate is a target with its score.
type candidate struct {
	at    int
	t     *Target
	score float64
}

// cost is what is compared of the target's price.
func (c *candidate) cost() (dollars float64, priced bool) {
	p := &c.t.Facts.Price
	return p.Blended(), p.Known
}

// bounds are the largest figures of a pool.
type bounds struct {
	cost    float64
	p95     time.Duration
	dev     time.Duration
	ttft    time.Duration
	latency time.Duration
	rate    float64
	density []crowd
}

// crowd is how many candidates a provider has.
type crowd struct {
	provider string
	n        int
}

func (t *Target) p95() time.Duration {
	if p95 := t.Usage().P95; p95 > 0 {
		return p95
	}
	return bootP95
}

func (t *Target) errorRate() float64 {
	if u := t.Usage(); u.Telemetry && u.Requests > 0 {
		return 1 - u.SuccessRate()
	}
	return bootErrorRate
}

func boundsOf(pool []candidate) bounds {
	b := bounds{cost: .001, p95: time.Millisecond, dev: time.Millisecond, density: make([]crowd, 0, 8)}
	for i := range pool {
		t := pool[i].t
		if cost, priced := pool[i].cost(); priced {
			b.cost = max(b.cost, cost)
		}
		u := t.Usage()
		b.p95, b.dev = max(b.p95, t.p95()), max(b.dev, u.StdDev)
		b.ttft, b.latency, b.rate = max(b.ttft, u.TTFT), max(b.latency, u.Latency), max(b.rate, u.Rate)
		b.enter(t.Provider)
	}
	return b
}

// enter counts a candidate of a provider.
func (b *bounds) enter(provider string) {
	for i := range b.density {
		if b.density[i].provider == provider {
			b.density[i].n++
			return
		}
	}
	b.density = append(b.density, crowd{provider, 1})
}

// siblings is how many other candidates a provider has.
func (b *bounds) siblings(provider string) int {
	for i := range b.density {
		if b.density[i].provider == provider {
			return b.density[i].n - 1
		}
	}
	return 0
}

// cheapness is 1 for a candidate that costs nothing, 0 for the dearest one, and
// other for one whose price is unknown.
func (b *bounds) cheapness(c *candidate, other float64) float64 {
	cost, priced := c.cost()
	if !priced {
		return other
	}
	return 1 - unit(cost/b.cost)
}

// Factors are the values of one candidate, each from 0 to 1.
type Factors [factorCount]float64

func factorsOf(c *candidate, b *bounds, h *Hints, now time.Time) Factors {
	t, l := c.t, &c.t.Live
	var f Factors
	f[fQuota] = 1 // no quota is no limit
	if left, known := l.Quota.Remaining(now); known {
		f[fQuota] = left
	}
	f[fHealth] = t.health()
	f[fCostInv] = b.cheapness(c, .5) // an unknown price is neither cheap nor dear
	f[fLatencyInv] = 1 - ratio(t.p95(), b.p95)
	f[fTaskFit] = TaskFit(h.TaskFit, t.Model, &t.Facts, h.Task)
	f[fStability] = 1 - ratio(t.Usage().StdDev, b.dev)
	f[fTierPriority] = tierPriority(t.Tier, l.Account.ResetAt, now)
	f[fTierAffinity] = tierAffinity(h.Tier, t.Facts.Tier)
	f[fSpecificity] = specificity(h, t.Facts.Tier)
	f[fContextAffinity] = [...]float64{NoTie: .5, SameAccount: 1, OtherAccount: .1}[l.Session]
	f[fSessionAvailability] = 1
	if limit := EffectiveMax(t.MaxConcurrent, 0); limit > 0 {
		f[fSessionAvailability] = 1 - float64(l.InFlight)/float64(limit)
	}
	f[fDensity] = float64(b.siblings(t.Provider)) / 10
	f[fQuality] = orElse(l.Quality, .5)
	f[fCacheAffinity] = orElse(l.CacheAffinity, 0)
	f[fResetWindow] = l.Quota.resetAffinity(now)
	f[fReliability] = 1 - t.errorRate()
	for i := range f {
		f[i] = unit(f[i])
	}
	return f
}

// score adds the weighted factors up and applies the soft penalties.
func (f *Factors) score(w *Weights, a *AccountFacts) float64 {
	sum := 0.0
	for i := range f {
		sum += w[i] * f[i]
	}
	if a.SoftQuota {
		sum *= quotaSoftFactor
	}
	if a.BadStatus {
		sum *= statusSoftFactor
	}
	return unit(sum)
}

func ratio(a, b time.Duration) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func orElse(p *float64, other float64) float64 {
	if p == nil {
		return other
	}
	return *p
}

// tierPriority values the account's plan, and the nearer its renewal, the more.
func tierPriority(tier string, renewal, now time.Time) float64 {
	base := .33
	switch tier {
	case "ultra":
		base = 1
	case "pro":
		base = .67
	case "free":
		base = 0
	}
	near := 0.0
	if !renewal.IsZero() {
		near = max(0, 1-renewal.Sub(now).Seconds()/MonthSpan.Seconds())
	}
	return min(1, .8*base+.2*near)
}

// tierStep counts the price tiers, 0 for none.
func tierStep(tier string) int {
	switch tier {
	case FreeTier:
		return 1
	case CheapTier:
		return 2
	case PremiumTier:
		return 3
	default:
		return 0
	}
}

func tierAffinity(hint, tier string) float64 {
	a, b := tierStep(hint), tierStep(tier)
	switch {
	case a == 0 || b == 0:
		return .5
	case a == b:
		return 1
	case a-b == 1 || b-a == 1:
		return .7
	default:
		return .3
	}
}

// specificity sends plain requests to plain models.
func specificity(h *Hints, tier string) float64 {
	s := h.Specificity
	pickIf := func(fits bool, otherwise float64) float64 {
		if fits {
			return .9
		}
		return otherwise
	}
	switch {
	case !h.HasSpecificity:
		return .5
	case tier == FreeTier:
		return pickIf(s <= 15, .2)
	case tier == CheapTier:
		return pickIf(s > 15 && s <= 50, .4)
	case tier == PremiumTier:
		return pickIf(s > 50, .3)
	default:
		return .5
	}
}

// resetAffinity is how near the nearest known reset is, on the window's scale.
func (q *Quota) resetAffinity(now time.Time) float64 {
	if q == nil {
		return .5
	}
	best, known := 0.0, false
	for _, w := range []struct {
		Window
		span time.Duration
	}{{q.Session, SessionSpan}, {q.Weekly, WeekSpan}, {q.Monthly, MonthSpan}} {
		if w.Known && !w.Reset.IsZero() {
			best, known = max(best, w.urgency(now, w.span)), true
		}
	}
	if !known {
		return .5
	}
	return best
}
