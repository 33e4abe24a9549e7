package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"breakwater/resilience/combo"
)

// maxCombos is how many combos are kept.
const maxCombos = 1000

// comboIndex is the combos in force; a change replaces it whole, so that
// requests read it without a lock.
type comboIndex struct {
	records []ComboRecord           // in the user's order
	byName  map[string]*combo.Combo // those that are switched on
}

func newComboIndex(records []ComboRecord) *comboIndex {
	x := &comboIndex{records: records, byName: make(map[string]*combo.Combo, len(records))}
	for i := range records {
		if c := &records[i].Combo; c.Enabled() {
			x.byName[c.Name] = c
		}
	}
	return x
}

func (x *comboIndex) find(id string) int {
	return slices.IndexFunc(x.records, func(r ComboRecord) bool { return r.ID == id })
}

// plain returns the records without what the store adds.
func (x *comboIndex) plain() []combo.Combo {
	out := make([]combo.Combo, len(x.records))
	for i := range x.records {
		out[i] = x.records[i].Combo
	}
	return out
}

// loadCombos reads the combos and what survives of the strategies' memory.
func (s *Service) loadCombos(ctx context.Context) error {
	records, err := s.cfg.Store.Combos(ctx)
	if err != nil {
		return fmt.Errorf("load combos: %w", err)
	}
	goods, err := s.cfg.Store.LastGoods(ctx)
	if err != nil {
		return fmt.Errorf("load combos: %w", err)
	}
	s.memory = combo.NewState()
	for _, g := range goods {
		combo.SetGood(s.memory, g.Combo, g.ComboID, combo.Good{Provider: g.Provider, Connection: g.ConnectionID})
	}
	s.memory.WatchGood(func(name, id string, g combo.Good) {
		s.cfg.Store.SaveLastGood(LastGood{ComboID: id, Combo: name, Provider: g.Provider, ConnectionID: g.Connection})
	})
	s.combos.Store(newComboIndex(records))
	return nil
}

// useCombos puts combos in force.
func (s *Service) useCombos(records []ComboRecord) {
	s.combos.Store(newComboIndex(records))
	s.replan()
	s.markState()
}

// Combos returns the combos in the user's order.
func (s *Service) Combos(context.Context) ([]Combo, error) {
	out := []Combo{}
	for _, r := range s.combos.Load().records {
		out = append(out, s.comboView(r))
	}
	return out, nil
}

// ActiveCombos returns the combos that are switched on, in the user's order.
func (s *Service) ActiveCombos() []ComboRecord {
	return slices.DeleteFunc(slices.Clone(s.combos.Load().records), func(r ComboRecord) bool { return !r.Enabled() })
}

func (s *Service) comboView(r ComboRecord) Combo {
	v := Combo{Combo: r.Combo, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	v.Steps = append([]combo.Step{}, v.Steps...)
	if s.isModel(r.Name) {
		v.Warning = &ComboWarning{
			Code:    combo.ShadowsModel,
			Message: fmt.Sprintf("%q is also the name of a model; requests for it go to this combo", r.Name),
		}
	}
	return v
}

// changedCombo is the answer of a change. What leads nowhere is no error, the
// other end may come later; but the user hears of it.
func (s *Service) changedCombo(r ComboRecord, corrected []ComboCorrection) Combo {
	v := s.comboView(r)
	v.Warnings = append(corrected, s.plans.Load().deadEnds(&r.Combo)...)
	return v
}

// isModel reports whether a connection is known to offer a model of this very
// name.
func (s *Service) isModel(name string) bool {
	return slices.ContainsFunc(s.Routes(), func(r *Route) bool {
		return slices.ContainsFunc(r.knownModels(), func(m string) bool { return strings.EqualFold(m, name) })
	})
}

// comboBriefs lists the combos as the snapshot shows them.
func (s *Service) comboBriefs() []ComboBrief {
	out := []ComboBrief{}
	records, p := s.combos.Load().records, s.Planner()
	for i := range records {
		r := &records[i]
		out = append(out, ComboBrief{ID: r.ID, Name: r.Name, Strategy: string(r.Strategy), Active: r.Enabled(), Targets: p.Size(&r.Combo)})
	}
	return out
}

// AddCombo stores a new combo.
func (s *Service) AddCombo(ctx context.Context, in ComboInput) (Combo, error) {
	s.edit.Lock()
	defer s.edit.Unlock()
	x := s.combos.Load()
	rec, corrected, err := s.newCombo(in, x)
	if err != nil {
		return Combo{}, err
	}
	if err := s.saveCombos(ctx, append(slices.Clone(x.records), rec), rec); err != nil {
		return Combo{}, err
	}
	return s.changedCombo(rec, corrected), nil
}

// newCombo returns the record of a new combo, checked, and what was corrected
// for that.
func (s *Service) newCombo(in ComboInput, x *comboIndex) (rec ComboRecord, corrected []ComboCorrection, err error) {
	if len(x.records) >= maxCombos {
		return rec, nil, &ComboError{Code: string(combo.Invariant), Message: fmt.Sprintf("there may be up to %d combos", maxCombos)}
	}
	now, last := s.realNow(), 0
	for _, r := range x.records {
		last = max(last, r.Order)
	}
	rec = ComboRecord{
		Combo: combo.Combo{
			ID: newID(), Name: in.Name, Description: in.Description, Steps: in.Steps, Strategy: combo.Name(in.Strategy), Config: in.Config,
			Active: in.Active, AllowedProviders: in.AllowedProviders, AllowedFamilies: in.AllowedFamilies,
			SystemMessage: in.SystemMessage, ToolFilter: in.ToolFilter, CacheProtection: in.CacheProtection, ContextLength: in.ContextLength,
		},
		Order: last + 1, CreatedAt: now, UpdatedAt: now,
	}
	corrected, err = s.checkCombo(&rec.Combo, x)
	return rec, corrected, err
}

// checkCombo brings a combo into its saved form, telling what it corrects, and
// checks it, alone and against the others.
func (s *Service) checkCombo(c *combo.Combo, others *comboIndex) ([]ComboCorrection, error) {
	corrected := c.Corrections()
	if c.Config = combo.Strip(c.Config); len(c.Config) == 0 {
		c.Config = nil
	}
	*c = c.Normalize(func(name string) bool {
		return slices.ContainsFunc(others.records, func(r ComboRecord) bool { return r.Name == name })
	})
	if err := combo.Validate(c); err != nil {
		return nil, comboRefused(err)
	}
	if err := s.notPasted("", "name", c.Name, "description", c.Description); err != nil {
		return nil, err
	}
	return corrected, comboRefused(combo.CheckAll(c, s.comboGlobals(), others.plain()))
}

// saveCombos stores some combos and puts all of them in force.
func (s *Service) saveCombos(ctx context.Context, all []ComboRecord, changed ...ComboRecord) error {
	if err := s.cfg.Store.SaveCombos(ctx, changed); err != nil {
		return fmt.Errorf("store the combo: %w", err)
	}
	s.useCombos(all)
	return nil
}

// EditCombo changes the fields that the patch holds. It takes effect at the
// next request.
func (s *Service) EditCombo(ctx context.Context, id string, p ComboPatch) (Combo, error) {
	s.edit.Lock()
	defer s.edit.Unlock()
	x := s.combos.Load()
	i := x.find(id)
	if i < 0 {
		return Combo{}, noCombo(id)
	}
	rec := x.records[i]
	patchCombo(&rec.Combo, p)
	rec.UpdatedAt = s.realNow()
	all := slices.Clone(x.records)
	changed := renamed(all, x.records[i].Name, strings.TrimSpace(rec.Name))
	all[i] = rec
	corrected, err := s.checkCombo(&rec.Combo, &comboIndex{records: all})
	if err != nil {
		return Combo{}, err
	}
	all[i] = rec
	if err := s.saveCombos(ctx, all, append(changed, rec)...); err != nil {
		return Combo{}, err
	}
	return s.changedCombo(rec, corrected), nil
}

func patchCombo(c *combo.Combo, p ComboPatch) {
	set(&c.Name, p.Name)
	set(&c.Description, p.Description)
	set(&c.Steps, p.Steps)
	set(&c.Config, p.Config)
	set(&c.AllowedProviders, p.AllowedProviders)
	set(&c.AllowedFamilies, p.AllowedFamilies)
	set(&c.SystemMessage, p.SystemMessage)
	set(&c.ToolFilter, p.ToolFilter)
	set(&c.CacheProtection, p.CacheProtection)
	set(&c.ContextLength, p.ContextLength)
	if p.Strategy != nil {
		c.Strategy = combo.Name(*p.Strategy)
	}
	if p.Active != nil {
		c.Active = p.Active
	}
}

// renamed puts a combo's new name into the steps that refer to it and returns
// the combos that changed.
func renamed(all []ComboRecord, from, to string) (changed []ComboRecord) {
	if from == to {
		return nil
	}
	for i := range all {
		if editSteps(&all[i], func(st *combo.Step) bool {
			if st.Kind == combo.KindRef && st.Combo == from {
				st.Combo = to
			}
			return true
		}) {
			changed = append(changed, all[i])
		}
	}
	return changed
}

// editSteps changes the steps of a copy of the record; edit returns whether a
// step stays. It reports whether anything is different.
func editSteps(r *ComboRecord, edit func(*combo.Step) bool) bool {
	steps, different := make([]combo.Step, 0, len(r.Steps)), false
	for _, st := range r.Steps {
		was := st
		keep := edit(&st)
		different = different || !keep || st.Combo != was.Combo || st.Connection != was.Connection || !slices.Equal(st.Allowed, was.Allowed)
		if keep {
			steps = append(steps, st)
		}
	}
	if different {
		r.Steps = steps
	}
	return different
}

// DeleteCombo forgets a combo. Steps of other combos that refer to it are
// passed over from now on.
func (s *Service) DeleteCombo(ctx context.Context, id string) error {
	s.edit.Lock()
	defer s.edit.Unlock()
	x := s.combos.Load()
	i := x.find(id)
	if i < 0 {
		return noCombo(id)
	}
	if err := s.cfg.Store.DeleteCombo(ctx, id); err != nil {
		return fmt.Errorf("delete the combo: %w", err)
	}
	s.useCombos(slices.Delete(slices.Clone(x.records), i, i+1))
	return nil
}

// ReorderCombos sets the order in which combos are listed.
func (s *Service) ReorderCombos(ctx context.Context, ids []string) error {
	s.edit.Lock()
	defer s.edit.Unlock()
	x := s.combos.Load()
	rank := make(map[string]int, len(ids))
	for i, id := range ids {
		if x.find(id) < 0 {
			return Invalid("ids", "there is no combo %q", id)
		}
		if _, twice := rank[id]; twice {
			return Invalid("ids", "%q is named twice", id)
		}
		rank[id] = i + 1
	}
	all := slices.Clone(x.records)
	place := func(r ComboRecord) int { return cmp.Or(rank[r.ID], len(ids)+1) }
	slices.SortStableFunc(all, func(a, b ComboRecord) int { return cmp.Compare(place(a), place(b)) })
	for i := range all {
		all[i].Order = i + 1
	}
	return s.saveCombos(ctx, all, all...)
}

// dropFromCombos takes a connection that was deleted out of the combos: steps
// pinned to it go, and so do those that allowed no other.
func (s *Service) dropFromCombos(ctx context.Context, connection string) error {
	all := slices.Clone(s.combos.Load().records)
	var changed []ComboRecord
	for i := range all {
		if editSteps(&all[i], func(st *combo.Step) bool {
			if st.Connection == connection {
				return false
			}
			if !slices.Contains(st.Allowed, connection) {
				return true
			}
			st.Allowed = slices.DeleteFunc(slices.Clone(st.Allowed), func(id string) bool { return id == connection })
			return len(st.Allowed) > 0
		}) {
			changed = append(changed, all[i])
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return s.saveCombos(ctx, all, changed...)
}
