package combo

import (
	"math"
	"strings"
)

// factor is one of the things the auto engine weighs (ruling 4: 16).
type factor int

const (
	fQuota factor = iota
	fHealth
	fCostInv
	fLatencyInv
	fTaskFit
	fStability
	fTierPriority
	fTierAffinity
	fSpecificity
	fContextAffinity
	fSessionAvailability
	fDensity
	fQuality
	fCacheAffinity
	fResetWindow
	fReliability
	factorCount
)

var factorNames = [factorCount]string{
	"quota", "health", "costInv", "latencyInv", "taskFit", "stability", "tierPriority", "tierAffinity",
	"specificityMatch", "contextAffinity", "sessionAvailability", "connectionDensity", "quality",
	"cacheAffinity", "resetWindowAffinity", "reliability",
}

// Weights are the auto engine's, one a factor, in the order of FactorNames.
type Weights [factorCount]float64

// FactorNames returns the names of the factors as they stand in auto.weights.
func FactorNames() []string { return factorNames[:] }

// DefaultWeights are used when neither the combo nor the request says anything.
var DefaultWeights = Weights{
	fQuota: .1429, fHealth: .1605, fCostInv: .1429, fLatencyInv: .1143, fTaskFit: .0762,
	fStability: .0476, fTierPriority: .0476, fTierAffinity: .0476, fSpecificity: .0476,
	fContextAffinity: .0476, fSessionAvailability: .0476, fDensity: .0476, fQuality: .03,
}

// packColumns are the factors that the mode packs weigh, in the order in which
// their table gives them.
var packColumns = [...]factor{
	fQuota, fHealth, fCostInv, fLatencyInv, fTaskFit, fStability, fTierPriority,
	fContextAffinity, fSessionAvailability, fDensity, fQuality, fReliability,
}

// pack is one row of the table of mode packs.
func pack(row [len(packColumns)]float64) (w Weights) {
	for i, f := range packColumns {
		w[f] = row[i]
	}
	return w
}

// The mode packs.
const (
	ShipFast         = "ship-fast"
	CostSaver        = "cost-saver"
	QualityFirst     = "quality-first"
	OfflineFriendly  = "offline-friendly"
	ReliabilityFirst = "reliability-first"
	ChaosMode        = "chaos-mode"
)

var packs = map[string]Weights{
	ShipFast:         pack([...]float64{.1133, .2667, .0276, .3048, .0952, 0, .0376, .0095, .0476, .0476, .02, .03}),
	CostSaver:        pack([...]float64{.1133, .181, .3324, .0476, .0952, .0476, .0376, 0, .0476, .0476, .02, .03}),
	QualityFirst:     pack([...]float64{.0752, .1714, .0276, .0476, .3524, .1429, .0276, 0, .0476, .0476, .03, .03}),
	OfflineFriendly:  pack([...]float64{.3324, .2667, .0752, .0476, 0, .0952, .0376, 0, .0476, .0476, .02, .03}),
	ReliabilityFirst: pack([...]float64{.1133, .3524, .0181, .0476, .0952, .1905, .0276, 0, .0476, .0476, .02, .04}),
	ChaosMode:        pack([...]float64{.0376, .4, .014, .0186, .1905, .1714, .004, .0186, .0476, .0476, .02, .03}),
}

// inForce are the packs and, under the empty name, the defaults as they weigh.
var inForce = func() map[string]*Weights {
	m := map[string]*Weights{"": new(NormalizeWeights(DefaultWeights))}
	for name, w := range packs {
		m[name] = new(NormalizeWeights(w))
	}
	return m
}()

// NormalizeWeights brings weights to a sum of 1; negative ones and those that
// are no number count as 0. Without any weight the defaults hold.
func NormalizeWeights(w Weights) Weights {
	sum := 0.0
	for i, x := range w {
		if x < 0 || math.IsNaN(x) || math.IsInf(x, 0) {
			w[i] = 0
			continue
		}
		sum += x
	}
	if sum <= 0 {
		return NormalizeWeights(DefaultWeights)
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// NamedWeights reads auto.weights: a factor that is not named has none.
func NamedWeights(named map[string]float64) Weights {
	var w Weights
	for i, name := range factorNames {
		w[i] = named[name]
	}
	return NormalizeWeights(w)
}

// weights are those of the request's mode, else the combo's own, else its
// pack's, else the defaults.
func (a *AutoConfig) weights(mode string) *Weights {
	if mode == balanced {
		return inForce[""]
	}
	if w, ok := inForce[mode]; ok && mode != "" {
		return w
	}
	if len(a.Weights) > 0 {
		return new(NamedWeights(a.Weights))
	}
	if w, ok := inForce[a.ModePack]; ok {
		return w
	}
	return inForce[""]
}

// ParseBudget reads the header X-OmniRoute-Budget, in US dollars; what is not
// above 0 is no budget.
func ParseBudget(header string) float64 {
	f, ok := asNumber(header)
	if !ok || f <= 0 {
		return 0
	}
	return f
}

// balanced is the mode without a pack.
const balanced = "balanced"

// ParseMode reads the header X-OmniRoute-Mode; an unknown word is no mode.
func ParseMode(header string) string {
	switch strings.ToLower(strings.TrimSpace(header)) {
	case "fast", "fastest", "speed":
		return ShipFast
	case "quality", "best":
		return QualityFirst
	case "cheap", "cost", "saver":
		return CostSaver
	case "reliable":
		return ReliabilityFirst
	case "offline":
		return OfflineFriendly
	case "balanced", "default":
		return balanced
	default:
		return ""
	}
}
