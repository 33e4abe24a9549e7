package control

import (
	"slices"

	"breakwater/resilience/combo"
)

// notUnderALease reports whether a request under a lease must not go through
// what a model's name stands for: combos that ask several targets at once, or
// one after the other, cannot keep to one connection (settings sheet §4.5).
func (s *Service) notUnderALease(model string) bool {
	x := s.combos.Load()
	return x != nil && x.unsafe(baseModel(model), nil)
}

// unsafe looks through a combo and those it refers to.
func (x *comboIndex) unsafe(name string, above []string) bool {
	c := x.byName[name]
	if c == nil || slices.Contains(above, name) {
		return false
	}
	switch c.Strategy {
	case combo.Fusion, combo.ContextRelay:
		return true
	case combo.Pipeline:
		if len(c.Steps) > 1 {
			return true
		}
	}
	if c.Config["hedging"] == true || c.Config["shadowRouting"] != nil {
		return true
	}
	pinned := slices.ContainsFunc(c.Steps, func(st combo.Step) bool { return st.Connection != "" })
	if pinned && len(c.Steps) > 1 {
		return true
	}
	above = append(above, name)
	return slices.ContainsFunc(c.Steps, func(st combo.Step) bool {
		return st.Kind == combo.KindRef && x.unsafe(st.Combo, above)
	})
}
