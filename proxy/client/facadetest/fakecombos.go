package facadetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"breakwater/proxy/control"
	"breakwater/resilience/combo"
)

// Combos returns the combos.
func (f *Fake) Combos(ctx context.Context) ([]control.Combo, error) {
	err := f.enter(ctx, "Combos")
	defer f.mu.Unlock()
	return append([]control.Combo{}, f.combos...), err
}

// AddCombo adds a combo.
func (f *Fake) AddCombo(ctx context.Context, in control.ComboInput) (control.Combo, error) {
	err := f.enter(ctx, "AddCombo")
	defer f.mu.Unlock()
	if err != nil {
		return control.Combo{}, err
	}
	f.serial++
	c := control.Combo{Combo: combo.Combo{
		ID: fmt.Sprintf("combo%d", f.serial), Name: in.Name, Description: in.Description, Steps: in.Steps, Strategy: combo.Name(in.Strategy),
		Config: in.Config, Active: in.Active, AllowedProviders: in.AllowedProviders, AllowedFamilies: in.AllowedFamilies,
		SystemMessage: in.SystemMessage, ToolFilter: in.ToolFilter, CacheProtection: in.CacheProtection, ContextLength: in.ContextLength,
	}}
	c.CreatedAt = time.Now().UTC().Round(0)
	corrected := c.Corrections()
	if err := f.checkCombo(&c); err != nil {
		return control.Combo{}, err
	}
	f.combos = append(slices.Clone(f.combos), c)
	c.Warnings = corrected
	f.publishCombos()
	return c, nil
}

func (f *Fake) checkCombo(c *control.Combo) error {
	others := make([]combo.Combo, len(f.combos))
	for i := range f.combos {
		others[i] = f.combos[i].Combo
	}
	c.Combo = c.Normalize(func(name string) bool {
		return slices.ContainsFunc(others, func(o combo.Combo) bool { return o.Name == name })
	})
	err := combo.Validate(&c.Combo)
	if err == nil {
		err = combo.CheckAll(&c.Combo, combo.Globals{}, others)
	}
	e, ok := errors.AsType[*combo.Error](err)
	if !ok {
		return err
	}
	out := &control.ComboError{Code: string(e.Code), Message: e.Message}
	for _, i := range e.Issues {
		out.Details = append(out.Details, control.FieldError{Field: i.Field, Message: i.Reason})
	}
	return out
}

func (f *Fake) publishCombos() {
	f.snap.Combos = []control.ComboBrief{}
	for _, c := range f.combos {
		f.snap.Combos = append(f.snap.Combos, control.ComboBrief{
			ID: c.ID, Name: c.Name, Strategy: string(c.Strategy), Active: c.Enabled(), Targets: len(c.Steps),
		})
	}
	f.publishSnapshot()
}

func (f *Fake) findCombo(id string) int {
	return slices.IndexFunc(f.combos, func(c control.Combo) bool { return c.ID == id })
}

// EditCombo changes a combo.
func (f *Fake) EditCombo(ctx context.Context, id string, p control.ComboPatch) (control.Combo, error) {
	err := f.enter(ctx, "EditCombo")
	defer f.mu.Unlock()
	i := f.findCombo(id)
	switch {
	case err != nil:
		return control.Combo{}, err
	case i < 0:
		return control.Combo{}, &control.ComboError{Code: string(combo.NotFound), Message: "no such combo"}
	}
	c := f.combos[i]
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
	c.Active = cmp.Or(p.Active, c.Active)
	corrected := c.Corrections()
	if err := f.checkCombo(&c); err != nil {
		return control.Combo{}, err
	}
	f.combos = slices.Clone(f.combos)
	f.combos[i] = c
	c.Warnings = corrected
	f.publishCombos()
	return c, nil
}

// DeleteCombo forgets a combo.
func (f *Fake) DeleteCombo(ctx context.Context, id string) error {
	err := f.enter(ctx, "DeleteCombo")
	defer f.mu.Unlock()
	i := f.findCombo(id)
	switch {
	case err != nil:
		return err
	case i < 0:
		return &control.ComboError{Code: string(combo.NotFound), Message: "no such combo"}
	}
	f.combos = slices.Delete(slices.Clone(f.combos), i, i+1)
	f.publishCombos()
	return nil
}

// ReorderCombos orders the combos.
func (f *Fake) ReorderCombos(ctx context.Context, ids []string) error {
	err := f.enter(ctx, "ReorderCombos")
	defer f.mu.Unlock()
	if err != nil {
		return err
	}
	rank := map[string]int{}
	for i, id := range ids {
		if f.findCombo(id) < 0 {
			return control.Invalid("ids", "there is no combo %q", id)
		}
		rank[id] = i - len(ids)
	}
	f.combos = slices.Clone(f.combos)
	slices.SortStableFunc(f.combos, func(a, b control.Combo) int { return cmp.Compare(rank[a.ID], rank[b.ID]) })
	f.publishCombos()
	return nil
}

func (f *Fake) editComboSettings(p control.ComboSettingsPatch) {
	c := &f.comboSettings
	set(&c.ComboDefaults, p.ComboDefaults)
	set(&c.ProviderOverrides, p.ProviderOverrides)
	set(&c.ComboStickyRoundRobinLimit, p.ComboStickyRoundRobinLimit)
	set(&c.StickyRoundRobinLimit, p.StickyRoundRobinLimit)
	set(&c.StickyWeightedLimit, p.StickyWeightedLimit)
	set(&c.DisableSessionStickiness, p.DisableSessionStickiness)
	set(&c.CompatFilterFailOpen, p.CompatFilterFailOpen)
	set(&c.ModelFacts, p.ModelFacts)
}

// PreviewCombo lists the steps in their order: a fake has no planner.
func (f *Fake) PreviewCombo(ctx context.Context, in control.PreviewRequest) (control.ComboPreview, error) {
	err := f.enter(ctx, "PreviewCombo")
	defer f.mu.Unlock()
	if err != nil {
		return control.ComboPreview{}, err
	}
	out := control.ComboPreview{Strategy: "priority", Targets: []control.PreviewTarget{}}
	var steps []control.ComboStep
	switch i := f.findCombo(in.ID); {
	case in.Draft != nil:
		steps, out.Strategy = in.Draft.Steps, cmp.Or(in.Draft.Strategy, out.Strategy)
	case i >= 0:
		steps, out.Strategy = f.combos[i].Steps, string(f.combos[i].Strategy)
	default:
		return out, &control.ComboError{Code: string(combo.NotFound), Message: "there is no such combo"}
	}
	for _, s := range steps {
		out.Targets = append(out.Targets, control.PreviewTarget{Model: s.Model, ConnectionID: s.Connection, Weight: s.Weight, Usable: true})
	}
	return out, nil
}

// Drill answers every request of the drill without a fault.
func (f *Fake) Drill(ctx context.Context, in control.DrillRequest) (control.DrillReport, error) {
	err := f.enter(ctx, "Drill")
	defer f.mu.Unlock()
	out := control.DrillReport{Requests: []control.DrillRound{}, Connections: []control.DrillConnection{}}
	i := f.findCombo(in.Combo)
	switch {
	case err != nil:
		return out, err
	case i < 0:
		return out, &control.ComboError{Code: string(combo.NotFound), Message: "there is no such combo"}
	case in.Requests < 0 || in.Requests > control.MaxDrillRequests:
		return out, control.Invalid("requests", "1 to %d", control.MaxDrillRequests)
	}
	out.Model, out.Answered = f.combos[i].Name, cmp.Or(in.Requests, 10)
	for range out.Answered {
		out.Requests = append(out.Requests, control.DrillRound{Activity: control.Activity{Status: 200, Result: "answered", Trace: []control.Step{}}, Moves: []control.DrillMove{}})
	}
	return out, nil
}
