package combo

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// AutoConfig is the part of a combo's configuration for the auto engine. All
// keys are those of the stored form.
type AutoConfig struct {
	Pool            []string           `json:"candidatePool,omitempty"` // providers or models; empty: all
	Weights         map[string]float64 `json:"weights,omitempty"`
	ModePack        string             `json:"modePack,omitempty"`
	BudgetCap       float64            `json:"budgetCap,omitempty"`      // US dollars a request, 0: none
	BudgetFallback  string             `json:"budgetFallback,omitempty"` // strict refuses; else the cheapest is taken
	ExplorationRate float64            `json:"explorationRate"`
	Router          string             `json:"routerStrategy,omitempty"`
	SLAP95Ms        float64            `json:"slaP95Ms,omitempty"`        // 0: 2000
	SLAErrorRate    float64            `json:"slaErrorRate,omitempty"`    // 0: 0.05
	SLAHard         bool               `json:"hardConstraints,omitempty"` // violators come last
}

func readAuto(c *Config, v any) bool {
	next := c.Auto
	if !isObject(v) || !decodeInto(v, &next) {
		return false
	}
	next.ExplorationRate, next.BudgetCap = unit(next.ExplorationRate), max(0, next.BudgetCap)
	c.Auto = next
	return true
}

// estimateTokens is what a request is taken to use when it is priced.
const estimateTokens = 1000

// auto scores every connection by 16 factors and leaves out, for a while, those
// that score badly. What is left out comes last: it is still better than no
// answer.
func auto(in *Input) []*Target {
	pool := in.candidates()
	if len(pool) == 0 {
		if len(in.Targets) > 0 {
			in.Refusal = &Refusal{
				Status: 429, Code: "quota_exhausted", Type: "rate_limit_error", Terminal: "quota_exhausted",
				Message: "Every account of this combo has used up its quota.",
			}
		}
		return nil
	}
	healed := in.heal(pool)
	in.router()(in, healed)
	healed = in.admitByScore(healed)
	slices.SortStableFunc(healed, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	if in.Config.Auto.SLAHard && in.routerName() == "sla-aware" {
		slices.SortStableFunc(healed, func(a, b candidate) int {
			return cmp.Compare(in.violations(a.t), in.violations(b.t))
		})
	}
	first := in.choose(healed)
	if first = in.withinBudget(healed, first); in.Refusal != nil {
		return nil
	}
	return in.listed(healed, first)
}

// listed is the answer: the choice, the rest of the ranking, and whoever was
// left out.
func (in *Input) listed(ranked []candidate, first int) []*Target {
	out := make([]*Target, 0, len(in.Targets))
	seen := make([]bool, len(in.Targets))
	add := func(at int) {
		if !seen[at] {
			seen[at] = true
			out = append(out, in.Targets[at])
		}
	}
	add(ranked[first].at)
	for _, c := range ranked {
		add(c.at)
	}
	for i := range in.Targets {
		if !in.Targets[i].Live.Cutoff {
			add(i)
		}
	}
	return out
}

// candidates are the targets above their quota cutoff and in the pool; a pool
// that holds none of them is ignored.
func (in *Input) candidates() []candidate {
	all := make([]candidate, 0, len(in.Targets))
	for i := range in.Targets {
		t := in.Targets[i]
		if t.Live.Cutoff {
			continue
		}
		all = append(all, candidate{at: i, t: t})
	}
	pool := in.Config.Auto.Pool
	if len(pool) == 0 {
		return all
	}
	some := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool {
		return !slices.Contains(pool, c.t.Provider) && !slices.Contains(pool, c.t.Model) && !slices.Contains(pool, c.t.ModelID())
	})
	if len(some) == 0 {
		return all
	}
	return some
}

// incident reports that most breakers are open: no time for experiments.
func (in *Input) incident() bool {
	open := 0
	for _, t := range in.Targets {
		if t.Live.Breaker == Open {
			open++
		}
	}
	return 2*open > len(in.Targets)
}

// choose returns the place of the first target in the ranking.
func (in *Input) choose(ranked []candidate) int {
	n := len(ranked)
	if n < 2 || in.Config.Auto.SLAHard && in.routerName() == "sla-aware" {
		return 0
	}
	rate := in.Config.Auto.ExplorationRate
	if rate > 0 && !in.incident() && in.Rand() < rate {
		return pick(in.Rand, n)
	}
	if in.routerName() != "rules" {
		return 0
	}
	return in.fromTier(ranked)
}

// preferences are how often each tier of the ranking is drawn: top, middle,
// rest.
var preferences = []struct {
	word string
	p    [3]float64
}{
	{"smart", [3]float64{.5, .3, .2}},
	{"fast", [3]float64{.3, .5, .2}},
	{"cheap", [3]float64{.2, .3, .5}},
	{"coding", [3]float64{.6, .25, .15}},
}

// fromTier spreads requests over candidates that are about as good: the best
// ones take turns; when all are close, the middle and the rest get a share too.
func (in *Input) fromTier(ranked []candidate) int {
	best, worst := ranked[0].score, ranked[len(ranked)-1].score
	top, mid := 0, 0 // ends of the tiers
	for _, c := range ranked {
		if best-c.score <= 1e-4 {
			top++
		}
		if best-c.score <= .3*(best-worst) {
			mid++
		}
	}
	mid = max(mid, top)
	if mid == top { // an empty middle takes the first half of the rest
		mid += (len(ranked) - top + 1) / 2
	}
	ends := [4]int{0, top, mid, len(ranked)}
	tier := 0
	if best-worst < .1 {
		tier = in.drawTier()
		for tier > 0 && ends[tier] == ends[tier+1] {
			tier--
		}
	}
	size := ends[tier+1] - ends[tier]
	key := "auto:" + in.Combo + ":" + string(rune('0'+tier))
	return ends[tier] + nextTurn(in.State, key)%max(1, size)
}

func (in *Input) drawTier() int {
	p := [3]float64{.45, .35, .2}
	name := strings.ToLower(in.Combo)
	for _, x := range preferences {
		if strings.Contains(name, x.word) {
			p = x.p
			break
		}
	}
	return draw(in.Rand, p[:])
}

// withinBudget keeps the choice when its estimated price is within the cap. It
// takes turns among those that are, or the cheapest when none is; a strict
// budget refuses then.
func (in *Input) withinBudget(ranked []candidate, first int) int {
	limit := in.Config.Auto.BudgetCap
	if in.Hints.Budget > 0 {
		limit = in.Hints.Budget
	}
	estimate := func(c *candidate) float64 {
		cost, priced := c.cost()
		if !priced {
			return math.Inf(1)
		}
		return max(0, cost) / 1e6 * estimateTokens
	}
	if limit <= 0 || estimate(&ranked[first]) <= limit {
		return first
	}
	var within []int
	cheapest := first
	for i := range ranked {
		if estimate(&ranked[i]) <= limit {
			within = append(within, i)
		}
		if estimate(&ranked[i]) < estimate(&ranked[cheapest]) {
			cheapest = i
		}
	}
	if len(within) > 0 {
		return within[nextTurn(in.State, "auto-budget:"+in.Combo)%len(within)]
	}
	if in.Config.Auto.BudgetFallback == "strict" {
		in.Refusal = &Refusal{
			Status: 400, Code: "budget_exceeded", Type: "invalid_request_error", Terminal: NoExecutable,
			Message: "No target of this combo is within the price cap of the request.",
		}
	}
	return cheapest
}
