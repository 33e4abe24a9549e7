package combo

import (
	"path"
	"slices"
	"strings"
)

// Account is a connection as far as resolving a combo needs it.
type Account struct {
	ID     string
	Tags   []string
	Active bool
}

// World is what a combo's names are looked up in.
type World interface {
	// Combo returns the combo of a name, nil if there is none.
	Combo(name string) *Combo
	// Models returns the model ids a provider offers, without its prefix.
	Models(provider string) []string
	// Accounts returns the connections of a provider.
	Accounts(provider string) []Account
}

// Resolver turns a combo into targets.
type Resolver struct {
	World   World
	Globals Globals
	// Allowed are the connections the caller's API key may use, empty for all.
	Allowed []string
}

// Resolve returns the targets of a combo in their declared order, with nested
// combos put in or kept as black boxes. path is where the combo stands in an
// outer one; nil for none.
func (r *Resolver) Resolve(c *Combo, cfg *Config, path []string) []*Spec {
	w := walkState{r: r, root: c, cfg: cfg, limit: cfg.MaxComboDepth}
	w.walk(c, path, "", -1, nil)
	out := w.out
	if cfg.Tiers != nil {
		out = cfg.Tiers.order(out)
	}
	e, _ := Lookup(string(c.Strategy))
	if e != nil && e.Expand {
		out = r.expand(out)
	} else {
		out = slices.DeleteFunc(out, func(s *Spec) bool { return !r.reachable(s) })
	}
	return out
}

type walkState struct {
	r     *Resolver
	root  *Combo
	cfg   *Config
	limit int
	out   []*Spec
	block []Spec // where the next targets lie, so that they need not be made one by one
}

func (w *walkState) add() *Spec {
	if len(w.block) == cap(w.block) {
		w.block = make([]Spec, 0, 8)
	}
	w.block = w.block[:len(w.block)+1]
	t := &w.block[len(w.block)-1]
	w.out = append(w.out, t)
	return t
}

// walk adds the targets of c. group and weight are those of the top-level step
// it stands under, group -1 at the top itself.
func (w *walkState) walk(c *Combo, path []string, prefix string, group int, top *Step) {
	if enter(path, c.Name, w.limit) != nil {
		return // a circle, or too deep: the reference is dropped
	}
	path = append(slices.Clone(path), c.Name)
	steps := w.r.expandSteps(c)
	if w.block == nil {
		w.block, w.out = make([]Spec, 0, len(steps)), make([]*Spec, 0, len(steps))
	}
	for i := range steps {
		s := &steps[i]
		g, owner := group, top
		if top == nil {
			g, owner = w.nextGroup(), s
		}
		key := prefix + s.ID
		if s.Kind == KindRef {
			w.ref(s, path, key, g, owner)
			continue
		}
		if !w.root.admits(s.Provider, s.Model) || !c.admits(s.Provider, s.Model) {
			continue
		}
		t := w.add()
		t.Kind, t.StepID, t.Key, t.Group = KindModel, s.ID, key, g
		t.Model, t.Provider, t.Connection, t.Allowed = s.Model, s.Provider, s.Connection, s.Allowed
		t.Weight, t.Label, t.Prompt, t.Protected = owner.Weight, s.Label, s.Prompt, s.Protected
	}
}

func (w *walkState) nextGroup() int {
	if len(w.out) == 0 {
		return 0
	}
	return w.out[len(w.out)-1].Group + 1
}

// ref puts the targets of a nested combo in, or keeps it as a black box.
func (w *walkState) ref(s *Step, path []string, key string, group int, owner *Step) {
	child := w.r.World.Combo(s.Combo)
	if child == nil || !child.Enabled() {
		return
	}
	e, _ := Lookup(string(w.root.Strategy))
	if w.cfg.NestedExecute && e != nil && e.Nests || e != nil && e.Handler {
		t := w.add()
		t.Kind, t.StepID, t.Key, t.Group, t.Combo = KindRef, s.ID, key, group, s.Combo
		t.Weight, t.Label, t.Prompt, t.Protected = owner.Weight, s.Label, s.Prompt, s.Protected
		return
	}
	before := len(w.out)
	w.walk(child, path, key+">", group, owner)
	for i := before; i < len(w.out); i++ {
		w.out[i].Protected = w.out[i].Protected || s.Protected
	}
}

// expandSteps replaces wildcards by the models they match; one that matches
// nothing stays as it is.
func (r *Resolver) expandSteps(c *Combo) []Step {
	if !slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Kind == KindWildcard }) {
		return c.Steps
	}
	var out []Step
	for _, s := range c.Steps {
		if s.Kind != KindWildcard {
			out = append(out, s)
			continue
		}
		before := len(out)
		for _, m := range r.World.Models(s.Provider) {
			if !matches(bare(s.Model), m) {
				continue
			}
			n := s
			n.Kind, n.Model = KindModel, s.Provider+"/"+m
			n.ID = cut(s.ID, 160) + "-" + slug(m)
			out = append(out, n)
		}
		if len(out) == before {
			out = append(out, s)
		}
	}
	return out
}

// matches compares a model id with a pattern; a slash is a letter like others.
func matches(pattern, model string) bool {
	hide := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", "\x00") }
	ok, err := path.Match(hide(pattern), hide(model))
	return ok && err == nil
}

// admits applies allowedProviders and allowedModelFamilies.
func (c *Combo) admits(provider, model string) bool {
	if len(c.AllowedProviders) > 0 && !slices.Contains(c.AllowedProviders, provider) {
		return false
	}
	return len(c.AllowedFamilies) == 0 || slices.ContainsFunc(c.AllowedFamilies, func(f string) bool {
		return strings.HasPrefix(strings.ToLower(bare(model)), strings.ToLower(f))
	})
}

// usable reports whether a target may run on a connection.
func (r *Resolver) usable(s *Spec, connection string) bool {
	return (s.Connection == "" || s.Connection == connection) &&
		(len(s.Allowed) == 0 || slices.Contains(s.Allowed, connection)) &&
		(len(r.Allowed) == 0 || slices.Contains(r.Allowed, connection))
}

// reachable reports whether any connection may run the target. A pinned
// connection need not be known: what is wrong with it shows at the attempt.
func (r *Resolver) reachable(s *Spec) bool {
	if s.Kind == KindRef || s.Connection != "" && r.usable(s, s.Connection) {
		return true
	}
	if len(r.Allowed) == 0 && len(s.Allowed) == 0 {
		return true
	}
	return slices.ContainsFunc(r.World.Accounts(s.Provider), func(a Account) bool { return r.usable(s, a.ID) })
}

// expand makes one target of each connection that may run a target. A target
// whose provider has no active connection stays as it is when nothing limits
// it, so that the attempt can say why.
func (r *Resolver) expand(targets []*Spec) []*Spec {
	out := make([]*Spec, 0, len(targets))
	for _, t := range targets {
		if t.Kind == KindRef || t.Connection != "" {
			if r.reachable(t) {
				out = append(out, t)
			}
			continue
		}
		before := len(out)
		for _, a := range r.World.Accounts(t.Provider) {
			if !a.Active || !r.usable(t, a.ID) {
				continue
			}
			n := *t
			n.Connection, n.Key = a.ID, t.Key+"@"+a.ID
			out = append(out, &n)
		}
		if len(out) == before && len(t.Allowed) == 0 && len(r.Allowed) == 0 {
			out = append(out, t)
		}
	}
	return out
}

// order puts the default tier's step first, then its fallbacks, then the rest.
func (t *Tiers) order(targets []*Spec) []*Spec {
	out := make([]*Spec, 0, len(targets))
	used := map[int]bool{}
	for name, n := t.Default, 0; name != "" && n <= len(t.Tiers); name, n = t.Tiers[name].Fallback, n+1 {
		for i := range targets {
			first, _, _ := strings.Cut(targets[i].Key, ">")
			if !used[i] && first == t.Tiers[name].Step {
				used[i] = true
				out = append(out, targets[i])
			}
		}
	}
	for i := range targets {
		if !used[i] {
			out = append(out, targets[i])
		}
	}
	return out
}
