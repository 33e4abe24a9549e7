package control

import (
	"fmt"
	"slices"

	"breakwater/resilience/combo"
)

// deadEnds lists what in a combo leads to nobody as things are.
func (p *planning) deadEnds(c *combo.Combo) []ComboCorrection {
	if len(c.Steps) == 0 {
		return []ComboCorrection{{Field: "models", Given: "[]", Message: "the combo has no step: every request for it is refused"}}
	}
	var list []ComboCorrection
	for i := range c.Steps {
		field, given, why := p.deadEnd(&c.Steps[i])
		if why != "" {
			list = append(list, ComboCorrection{Field: fmt.Sprintf("models[%d].%s", i, field), Given: given, Message: why})
		}
	}
	return list
}

// Leads reports whether there is a connection that a target of a combo stands
// for, whatever state it is in.
func (s *Service) Leads(t *combo.Target) bool { return len(s.placeOf(t).routes) > 0 }

// deadEnd tells which field of a step leads nowhere, and why; it may be none.
func (p *planning) deadEnd(s *combo.Step) (field, given, why string) {
	if s.Kind == combo.KindRef {
		if !slices.ContainsFunc(p.combos.records, func(r ComboRecord) bool { return r.Name == s.Combo }) {
			return "comboName", s.Combo, "there is no combo of this name; the step is passed over"
		}
		return "", "", ""
	}
	routes := p.group(s.Provider).routes
	if s.Connection != "" {
		r, ok := p.s.Route(s.Connection)
		if !ok {
			return "connectionId", s.Connection, "there is no such connection; the step is passed over"
		}
		routes = []*Route{r}
	}
	for _, id := range s.Allowed {
		if _, ok := p.s.Route(id); !ok {
			return "allowedConnectionIds", id, "there is no such connection"
		}
	}
	model := (&combo.Spec{Model: s.Model}).ModelID()
	switch {
	case len(routes) == 0:
		return "model", s.Model, "no connection of this provider or name is there; the step is passed over"
	case !slices.ContainsFunc(routes, func(r *Route) bool { return !r.Excludes(model) }):
		return "model", s.Model, "this model is left out by every connection of the step, which is passed over"
	case s.Kind == combo.KindModel && s.Connection == "" && !slices.ContainsFunc(routes, func(r *Route) bool { return r.serves(model) }):
		return "model", s.Model, "no connection is known to offer this model; it is asked for all the same"
	}
	return "", "", ""
}
