package control

import (
	"crypto/rand"
	"encoding/binary"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"breakwater/proxy/catalog"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/settings"
)

// planning is the planner of one state of combos, connections and settings. A
// change of any makes a new one, so that nothing that was worked out before
// outlives it; what the strategies remember is handed on.
type planning struct {
	s       *Service
	combos  *comboIndex
	groups  map[string]*comboGroup // by provider id, alias and connection name, in lower case
	facts   *combo.Table
	autos   sync.Map // of auto names to *combo.Combo
	kept    combo.Kept
	planner combo.Planner
}

// comboGroup is who a step's provider stands for.
type comboGroup struct {
	name     string   // the word for it in a model's name
	routes   []*Route // in routing order
	accounts []combo.Account
	models   []string // names that are known to be offered
}

// Planner returns the planner of combos over the connections as they are now.
// One request uses one planner from beginning to end.
func (s *Service) Planner() *combo.Planner { return &s.plans.Load().planner }

// replan makes the planner of the present state.
func (s *Service) replan() {
	routes, index := s.routes.Load(), s.combos.Load()
	if routes == nil || index == nil {
		return // not loaded yet
	}
	p := &planning{s: s, combos: index, groups: groupsOf(*routes), facts: s.factTable()}
	p.planner = combo.Planner{
		Resolver: combo.Resolver{World: p, Globals: s.comboGlobals()},
		State:    s.memory, Rand: chance, Look: p.look, Fixed: p.fix, Renew: p.renew, Kept: &p.kept, Health: comboHealth{s},
	}
	s.plans.Store(p)
}

// chance is a number from 0 up to 1 of a source that nobody can foresee.
func chance() float64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return float64(binary.LittleEndian.Uint64(b[:])>>11) / (1 << 53)
}

// groupsOf sorts the connections by the words that may stand before a model's
// name. A provider's id or alias means all its connections; only a name that
// is neither means one connection.
func groupsOf(routes []*Route) map[string]*comboGroup {
	groups := map[string]*comboGroup{}
	for _, r := range routes {
		g := groups[r.Provider.ID]
		if g == nil {
			g = &comboGroup{name: r.Provider.ID}
			groups[r.Provider.ID] = g
			for _, alias := range r.Provider.Aliases {
				groups[strings.ToLower(alias)] = g
			}
		}
		g.routes = append(g.routes, r)
	}
	for _, r := range routes {
		if name := strings.ToLower(r.Record.Name); groups[name] == nil {
			groups[name] = &comboGroup{name: r.Record.Name, routes: []*Route{r}}
		}
	}
	done := map[*comboGroup]bool{}
	for _, g := range groups {
		if !done[g] {
			done[g] = true
			g.complete()
		}
	}
	return groups
}

func (g *comboGroup) complete() {
	for _, r := range g.routes {
		g.accounts = append(g.accounts, combo.Account{ID: r.Record.ID, Active: r.Record.Active, Tags: r.Record.Tags})
		for _, m := range r.knownModels() {
			if !slices.Contains(g.models, m) {
				g.models = append(g.models, m)
			}
		}
	}
}

// knownModels are the names of models that the connection is known to offer:
// those it was given, and those of the catalogue that fit its patterns.
func (r *Route) knownModels() []string {
	var out []string
	for _, m := range append(slices.Clone(r.Record.Models), r.Record.DefaultModel) {
		if m != "" && !r.Excludes(m) && !strings.ContainsAny(m, "*?[") && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	for _, m := range catalog.Models(r.Provider.ID) {
		if r.offers(m.Name) && !slices.Contains(out, m.Name) {
			out = append(out, m.Name)
		}
	}
	return out
}

// group returns who a step's provider stands for. A step without a provider
// has the model's name in its place and stands for everybody who is known to
// offer that model; the pattern that fits anything says nothing.
func (p *planning) group(provider string) *comboGroup {
	if g := p.groups[strings.ToLower(provider)]; g != nil {
		return g
	}
	g := &comboGroup{name: provider}
	for _, r := range p.s.Routes() {
		if provider != "" && !slices.Contains(r.models, "*") && r.offers(provider) {
			g.routes = append(g.routes, r)
			g.accounts = append(g.accounts, combo.Account{ID: r.Record.ID, Active: r.Record.Active, Tags: r.Record.Tags})
		}
	}
	return g
}

// Combo implements combo.World.
func (p *planning) Combo(name string) *combo.Combo { return p.combos.byName[name] }

// Models implements combo.World.
func (p *planning) Models(provider string) []string { return p.group(provider).models }

// Accounts implements combo.World.
func (p *planning) Accounts(provider string) []combo.Account { return p.group(provider).accounts }

// Combo returns the combo that clients ask for by a model's name: one that is
// switched on, or the one behind an auto name. A combo hides a model of the
// same name; one that is switched off hides nothing.
func (s *Service) Combo(model string) (*combo.Combo, bool) {
	p := s.plans.Load()
	if c := p.combos.byName[model]; c != nil {
		return c, true
	}
	model = baseModel(model)
	if c := p.combos.byName[model]; c != nil {
		return c, true
	}
	if !strings.HasPrefix(strings.ToLower(model), "auto") {
		return nil, false
	}
	return p.auto(model)
}

// auto returns the combo behind an auto name.
func (p *planning) auto(model string) (*combo.Combo, bool) {
	name, ok := combo.ParseAuto(model)
	if !ok {
		return nil, false
	}
	if c, ok := p.autos.Load(name.Name); ok {
		return c.(*combo.Combo), true //nolint:forcetypeassert,nolintlint // the map holds nothing else
	}
	c := name.Combo(p.autoProviders())
	kept, _ := p.autos.LoadOrStore(name.Name, &c)
	return kept.(*combo.Combo), true //nolint:forcetypeassert,nolintlint // the map holds nothing else
}

// autoProviders are the words for everybody who is switched on and of whom a
// model is known, in routing order. Connections with an address of their own
// are different services, so each has its own word.
func (p *planning) autoProviders() []string {
	var out []string
	for _, r := range p.s.Routes() {
		word := r.Provider.ID
		if r.Provider.Custom {
			word = r.Record.Name
		}
		if r.Record.Active && !slices.Contains(out, word) && len(p.group(word).models) > 0 {
			out = append(out, word)
		}
	}
	return out
}

// comboPlace is where a target leads: the connections in routing order.
type comboPlace struct {
	routes []*Route
	model  string // its name at the upstream
	// opaque tells that the model is a pattern nothing fits.
	opaque  bool
	weighed atomic.Pointer[weighed]
}

// fix writes into a target what stays as it is until the next replan.
func (p *planning) fix(t *combo.Spec) {
	at := p.place(t)
	t.Data = at
	if len(at.routes) == 0 {
		return
	}
	r := at.routes[0]
	t.Facts = p.facts.Of(r.Provider.ID + "/" + at.model)
	if t.Provider != r.Provider.ID { // what the user says of this connection's models
		t.Facts = p.facts.Over(t.Facts, t.Model)
	}
	if r.Provider.Profile == settings.Local && !p.facts.Priced(t.Model) && !p.facts.Priced(r.Provider.ID+"/"+at.model) {
		t.Facts.Price, t.Facts.Tier = combo.Price{Known: true, HasOutput: true}, combo.FreeTier
	}
	t.MaxConcurrent = float64(r.Record.MaxConcurrent)
}

// place finds the connections a target may use. Those that are not known to
// offer the model are left out, unless that leaves nobody: catalogues age.
func (p *planning) place(t *combo.Spec) *comboPlace {
	at := &comboPlace{model: t.ModelID(), opaque: strings.Contains(t.Model, "*")}
	if t.Connection != "" {
		if r, ok := p.s.Route(t.Connection); ok && !r.Excludes(at.model) {
			at.routes = []*Route{r}
		}
		return at
	}
	all := p.group(t.Provider).routes
	allowed := func(r *Route) bool { return len(t.Allowed) == 0 || slices.Contains(t.Allowed, r.Record.ID) }
	for _, r := range all {
		if allowed(r) && r.offers(at.model) {
			at.routes = append(at.routes, r)
		}
	}
	if len(at.routes) == 0 {
		at.routes = slices.DeleteFunc(slices.Clone(all), func(r *Route) bool { return !allowed(r) || r.Excludes(at.model) })
	}
	return at
}

// placeOf is where a target leads, worked out with its plan or else now.
func (s *Service) placeOf(t *combo.Target) *comboPlace {
	if at, ok := t.Data.(*comboPlace); ok {
		return at
	}
	return s.plans.Load().place(t.Spec)
}

// ComboChoices returns the connections that a target of a combo may be sent
// to, in routing order, with the model's name at the upstream, and those that
// were passed over; the model of q is not looked at. A target that names a
// connection leads to that one only.
func (s *Service) ComboChoices(t *combo.Target, q Ask) (choices []Choice, passed []Passed) {
	at := s.placeOf(t)
	choices = make([]Choice, 0, len(at.routes))
	taken := s.takenFrom(q.Hold)
	for _, r := range at.routes {
		if _, speaks := r.Endpoint(q.Dialect); !speaks || t.Connection == "" && len(t.Allowed) > 0 && !slices.Contains(t.Allowed, r.Record.ID) {
			continue
		}
		switch {
		case !q.Grant.AllowsConnection(r.Record.ID):
			passed = append(passed, Passed{r, exclusion.KeyNotAllowed})
		case r.Credential() == catalog.PassthroughCredential && (q.Admits == nil || !q.Admits(r)):
			passed = append(passed, Passed{r, exclusion.NoCredential})
		case r.keyMissing():
			passed = append(passed, Passed{r, exclusion.KeyMissing})
		case taken != nil && taken(r.Record.ID):
			passed = append(passed, Passed{r, exclusion.Leased})
		case at.opaque:
			passed = append(passed, Passed{r, exclusion.ModelNotOffered})
		default:
			choices = append(choices, Choice{r, at.model})
		}
	}
	return choices, passed
}
