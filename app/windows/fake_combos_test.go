//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"breakwater/proxy/control"
)

// comboState fills the combos of the busy state.
func (f *fake) comboState() {
	raw := `[{"id":"k1","name":"coding","strategy":"priority","models":[
		{"model":"claude/claude-sonnet-4-5","providerId":"claude","connectionId":"c1","weight":1},
		{"model":"anthropic/claude-sonnet-4-5","providerId":"anthropic","connectionId":"c2","weight":1},
		{"model":"glm/glm-4.6","providerId":"glm","weight":1}]},
		{"id":"k2","name":"cheap","strategy":"weighted","isActive":false,"models":[
		{"model":"openrouter/*-mini","providerId":"openrouter","kind":"provider-wildcard","weight":3},{"kind":"combo-ref","comboName":"coding","weight":1}]}]`
	if err := json.Unmarshal([]byte(raw), &f.combos); err != nil {
		panic(err)
	}
	f.snap.Combos = nil
	for _, c := range f.combos {
		f.snap.Combos = append(f.snap.Combos, control.ComboBrief{ID: c.ID, Name: c.Name, Strategy: string(c.Strategy), Active: c.Enabled(), Targets: len(c.Steps)})
	}
}

func (f *fake) Combos(context.Context) ([]control.Combo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.combos), nil
}

func (f *fake) AddCombo(_ context.Context, in control.ComboInput) (control.Combo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refused(); err != nil {
		return control.Combo{}, err
	}
	var c control.Combo
	c.ID, c.Name, c.Steps = fmt.Sprintf("k%d", len(f.combos)+1), in.Name, in.Steps
	raw, _ := json.Marshal(map[string]any{"strategy": in.Strategy})
	_ = json.Unmarshal(raw, &c)
	f.combos = append(f.combos, c)
	f.note("add combo %s", raw)
	return c, nil
}

func (f *fake) EditCombo(_ context.Context, id string, p control.ComboPatch) (control.Combo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	raw, _ := json.Marshal(p)
	f.note("edit combo %s %s", id, raw)
	if err := f.refused(); err != nil {
		return control.Combo{}, err
	}
	for i := range f.combos {
		if f.combos[i].ID == id {
			_ = json.Unmarshal(raw, &f.combos[i])
			return f.combos[i], nil
		}
	}
	return control.Combo{}, control.ErrNotFound
}

func (f *fake) DeleteCombo(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("delete combo %s", id)
	f.combos = slices.DeleteFunc(f.combos, func(c control.Combo) bool { return c.ID == id })
	return f.refused()
}
