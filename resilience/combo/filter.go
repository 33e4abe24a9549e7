package combo

import (
	"slices"
	"strings"

	"breakwater/resilience/exclusion"
)

// Needs is what a request asks of a target.
type Needs struct {
	Tags         []string // metadata.tags, as ReadTags returns them
	AllTags      bool     // metadata.tag_match_mode is "all"
	Tools        bool
	Vision       bool
	Schema       bool  // structured output
	InputTokens  int64 // estimated
	OutputTokens int64 // asked for, 0: not said
}

// ReadTags reads metadata.tags: a list or text with commas.
func ReadTags(v any) []string {
	var raw []string
	switch x := v.(type) {
	case string:
		raw = strings.Split(x, ",")
	case []any:
		for _, e := range x {
			if s, ok := e.(string); ok {
				raw = append(raw, s)
			}
		}
	}
	return cleanTags(raw)
}

func cleanTags(raw []string) []string {
	var out []string
	for _, s := range raw {
		if s = strings.ToLower(strings.TrimSpace(s)); s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// byTags keeps what may run on a connection with the request's tags. When that
// is nothing the tags are ignored.
func (r *Resolver) byTags(targets []*Target, n *Needs) []*Target {
	if len(n.Tags) == 0 {
		return targets
	}
	fits := func(a *Account) bool {
		have := cleanTags(a.Tags)
		has := func(tag string) bool { return slices.Contains(have, tag) }
		if n.AllTags {
			return !slices.ContainsFunc(n.Tags, func(t string) bool { return !has(t) })
		}
		return slices.ContainsFunc(n.Tags, has)
	}
	out := make([]*Target, 0, len(targets))
	for _, t := range targets {
		if t.Kind == KindRef {
			out = append(out, t)
			continue
		}
		var ids []string
		for _, a := range r.World.Accounts(t.Provider) {
			if fits(&a) && r.usable(t.Spec, a.ID) {
				ids = append(ids, a.ID)
			}
		}
		switch {
		case len(ids) == 0:
			continue
		case t.Connection == "":
			s := *t.Spec
			s.Allowed = ids
			t = &Target{Spec: &s, Live: t.Live}
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return targets
	}
	return out
}

// overflows answers a request that no target has room for: all windows are
// known and the largest is too small.
func overflows(targets []*Target, n *Needs) *Refusal {
	largest := int64(0)
	for i := range targets {
		if targets[i].Facts.Context <= 0 {
			return nil
		}
		largest = max(largest, targets[i].Facts.Context)
	}
	if n.InputTokens+n.OutputTokens <= largest || len(targets) == 0 {
		return nil
	}
	return &Refusal{
		Status: 400, Code: "context_length_exceeded", Type: "invalid_request_error", Terminal: ContextExhausted,
		Message: "The request is longer than the context window of every target of this combo.",
	}
}

// able tells whether a target can do what the request needs. Vision must be
// known, the rest must not be known to be missing.
func able(t *Target, n *Needs) bool {
	f := &t.Facts
	return t.Kind == KindRef || !(n.Tools && f.Tools == No || n.Schema && f.Schema == No || n.Vision && f.Vision != Yes)
}

// capable splits by ability. Nothing left is a refusal, unless the owner wants
// such requests tried anyway.
func capable(targets []*Target, n *Needs, failOpen bool) (kept, rejected []*Target, refusal *Refusal) {
	unable := func(t *Target) bool { return !able(t, n) }
	if !slices.ContainsFunc(targets, unable) { // nearly always
		return targets, nil, nil
	}
	kept, rejected = part(targets, unable)
	switch {
	case len(kept) > 0:
		return kept, rejected, nil
	case failOpen:
		return targets, nil, nil
	default:
		return nil, rejected, &Refusal{
			Status: 400, Code: "capability_mismatch", Type: "invalid_request_error", Terminal: NoExecutable,
			Message: "No target of this combo can handle what the request needs (tools, images or structured output).",
		}
	}
}

// roomy puts targets known to have room before the unknown ones and leaves out
// those known to have none; it changes nothing while size is no question.
func roomy(targets []*Target, n *Needs) []*Target {
	tight := func(t *Target) bool {
		f := &t.Facts
		return f.Context > 0 && f.Context < n.InputTokens+n.OutputTokens || f.MaxOutput > 0 && f.MaxOutput < n.OutputTokens
	}
	if !slices.ContainsFunc(targets, tight) { // nearly always
		return targets
	}
	left, _ := part(targets, tight)
	if len(left) == 0 {
		return targets
	}
	fit, unknown := part(left, func(t *Target) bool { return t.Facts.Context <= 0 })
	return append(fit, unknown...)
}

// require applies the combo's contextRequirements. In lenient mode an unknown
// window is let through; strict falls back to the unknown ones rather than to
// nothing.
func (c *ContextRequirements) require(targets []*Target) ([]*Target, *Refusal) {
	out := targets
	if c.MinWindow > 0 {
		window := func(t *Target) int64 { return t.Facts.Context }
		unknown := filter(targets, func(t *Target) bool { return window(t) <= 0 })
		out = filter(targets, func(t *Target) bool {
			return window(t) >= c.MinWindow || window(t) <= 0 && c.Mode != "strict"
		})
		if len(out) == 0 {
			out = unknown
		}
		if len(out) == 0 && len(targets) > 0 {
			r := noTargets("No target of this combo has the context window that the combo asks for.")
			r.Terminal = ContextExhausted
			for _, t := range targets {
				r.Excluded = append(r.Excluded, Excluded{t, exclusion.Exclusion{Reason: exclusion.ContextRequirements}})
			}
			return nil, r
		}
	}
	if c.PreferLarge {
		out = take(out, rank(out, func(t *Target) float64 { return float64(t.Facts.Context) }))
	}
	return out, nil
}

// EvalScore is what stored evaluation runs say of a model, each part 0 to 1.
type EvalScore struct {
	Quality, Latency float64
	Cases            int
	AgeHours         float64
}

// byEval puts the evaluated targets in the order of their scores; the others
// follow as they were.
func (e *EvalRouting) byEval(targets []*Target, scores map[string]EvalScore) []*Target {
	if e == nil || len(scores) == 0 {
		return targets
	}
	return take(targets, rank(targets, func(t *Target) float64 {
		s, ok := scores[t.Model]
		if !ok || s.Cases < e.MinCases || s.AgeHours > e.MaxAgeHours {
			return -1
		}
		return e.QualityWeight*unit(s.Quality) + e.LatencyWeight*unit(s.Latency)
	}))
}
