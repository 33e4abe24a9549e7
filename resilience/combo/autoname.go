package combo

import (
	"slices"
	"strings"
)

// autoModes are the auto names that set a mode or a router.
var autoModes = map[string]struct{ pack, router, task string }{
	"coding":  {QualityFirst, "", TaskCoding},
	"fast":    {ShipFast, "", ""},
	"cheap":   {CostSaver, "", ""},
	"offline": {OfflineFriendly, "", ""},
	"smart":   {QualityFirst, "", ""},
	"lkgp":    {"", "lkgp", ""},
	"chaos":   {ChaosMode, "", ""},
}

// autoNeeds are the categories of auto names: the task, and what a model must
// be known to do.
var autoNeeds = map[string]struct {
	task string
	fits func(f *Facts) bool
}{
	"coding":     {TaskCoding, func(f *Facts) bool { return f.Tools == Yes }},
	"reasoning":  {TaskAnalysis, func(f *Facts) bool { return f.Reasoning }},
	"vision":     {TaskDefault, func(f *Facts) bool { return f.Vision == Yes }},
	"chat":       {TaskDefault, func(*Facts) bool { return true }},
	"multimodal": {TaskDefault, func(f *Facts) bool { return f.Vision == Yes }},
}

var autoVariants = map[string]string{
	"fast": ShipFast, "cheap": CostSaver, "floor": CostSaver, "reliable": ReliabilityFirst, "free": "", "pro": QualityFirst,
}

// AutoName is a model name that asks for the auto engine without a combo of its
// own: auto, auto/fast, auto/coding:cheap.
type AutoName struct {
	Name     string
	Category string // coding, reasoning, vision, chat, multimodal; empty: any
	Variant  string
	Pack     string
	Router   string
	Task     string
}

// ParseAuto reads an auto name.
func ParseAuto(model string) (AutoName, bool) {
	name := strings.ToLower(strings.TrimSpace(model))
	n := AutoName{Name: name}
	if name == "auto" {
		return n, true
	}
	rest, ok := strings.CutPrefix(name, "auto/")
	if !ok {
		return n, false
	}
	category, variant, has := strings.Cut(rest, ":")
	mode, isMode := autoModes[rest]
	need, isNeed := autoNeeds[category]
	switch {
	case isMode:
		n.Pack, n.Router, n.Task = mode.pack, mode.router, mode.task
		if isNeed {
			n.Category = category
		}
		return n, true
	case !isNeed:
		return n, false
	}
	n.Category, n.Task = category, need.task
	if !has {
		return n, true
	}
	p, ok := autoVariants[variant]
	n.Variant, n.Pack = variant, p
	return n, ok
}

// Combo returns the combo behind the name: everything the given providers
// offer.
func (n AutoName) Combo(providers []string) Combo {
	c := Combo{ID: n.Name, Name: n.Name, Strategy: Auto, auto: &n}
	for _, p := range providers {
		c.Steps = append(c.Steps, Step{Kind: KindWildcard, Provider: p, Model: p + "/*"})
	}
	own := map[string]any{}
	if n.Pack != "" {
		own["modePack"] = n.Pack
	}
	if n.Router != "" {
		own["routerStrategy"] = n.Router
	}
	if len(own) > 0 {
		c.Config = map[string]any{"auto": own}
	}
	return c.Normalize(nil)
}

// Filter keeps the targets that the name asks for. A filter that would leave
// none is ignored.
func (n AutoName) Filter(targets []*Target) []*Target {
	if need, ok := autoNeeds[n.Category]; ok {
		targets = narrow(targets, func(t *Target) bool { return need.fits(&t.Facts) })
	}
	switch n.Variant {
	case "free":
		targets = narrow(targets, func(t *Target) bool { return t.Facts.Tier == FreeTier })
	case "pro":
		targets = narrow(targets, func(t *Target) bool { return t.Facts.Tier == PremiumTier })
	}
	return targets
}

func narrow(targets []*Target, keep func(t *Target) bool) []*Target {
	if some := filter(targets, keep); len(some) > 0 {
		return some
	}
	return slices.Clone(targets)
}
