package facadetest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"breakwater/proxy/control"
)

// addCombo adds a combo of model steps and takes it away at the end.
func addCombo(t *testing.T, f control.Facade, name string, models ...string) control.Combo {
	t.Helper()
	in := control.ComboInput{Name: name}
	for _, m := range models {
		in.Steps = append(in.Steps, control.ComboStep{Model: m})
	}
	c, err := f.AddCombo(t.Context(), in)
	if err != nil {
		t.Fatalf("AddCombo(%s): %v", name, err)
	}
	t.Cleanup(func() {
		if err := f.DeleteCombo(context.WithoutCancel(t.Context()), c.ID); err != nil && !errors.Is(err, control.ErrNotFound) {
			t.Errorf("clean up %s: %v", name, err)
		}
	})
	return c
}

func comboNames(t *testing.T, f control.Facade) (listed, brief []string) {
	t.Helper()
	all, err := f.Combos(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		listed = append(listed, c.Name)
	}
	snap, err := f.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range snap.Combos {
		brief = append(brief, c.Name)
	}
	return listed, brief
}

func combos(t *testing.T, f control.Facade) {
	ctx := t.Context()
	if all, err := f.Combos(ctx); err != nil || all == nil || len(all) != 0 {
		t.Fatalf("Combos = %v, %v", all, err)
	}
	a := addCombo(t, f, "Fast one", "openai/gpt-5-mini", "groq/*")
	if a.ID == "" || a.Version != 2 || a.Strategy != "priority" || !a.Enabled() || len(a.Steps) != 2 || a.CreatedAt.IsZero() {
		t.Errorf("added %+v", a)
	}
	if s := a.Steps; s[0].ID == "" || s[0].Kind != "model" || s[0].Provider != "openai" || s[1].Kind != "provider-wildcard" {
		t.Errorf("steps %+v", a.Steps)
	}
	b := addCombo(t, f, "Team", "Fast one", "anthropic/claude-sonnet-4-5")
	if b.Steps[0].Kind != "combo-ref" || b.Steps[0].Combo != "Fast one" {
		t.Errorf("a combo's name is %+v, want a reference", b.Steps[0])
	}
	if err := f.ReorderCombos(ctx, []string{b.ID}); err != nil {
		t.Fatal(err)
	}
	want := []string{"Team", "Fast one"}
	if listed, brief := comboNames(t, f); !slices.Equal(listed, want) || !slices.Equal(brief, want) {
		t.Errorf("order %v, in the snapshot %v, want %v", listed, brief, want)
	}
	c, err := f.EditCombo(ctx, b.ID, control.ComboPatch{
		Strategy: new("weighted"), Active: new(false), Config: &map[string]any{"maxRetries": 3.0},
		Steps: &[]control.ComboStep{{Model: "openai/gpt-5", Weight: 30}},
	})
	if err != nil || c.Strategy != "weighted" || c.Enabled() || c.Config["maxRetries"] != 3.0 || len(c.Steps) != 1 || c.Steps[0].Weight != 30 || c.Name != "Team" {
		t.Errorf("edited %+v, %v", c, err)
	}
	same, err := f.EditCombo(ctx, b.ID, control.ComboPatch{})
	if err != nil || same.Name != "Team" || same.Strategy != "weighted" {
		t.Errorf("a patch of nothing gives %+v, %v", same, err)
	}
	ahead, err := f.PreviewCombo(ctx, control.PreviewRequest{ID: a.ID})
	if err != nil || ahead.Targets == nil || ahead.Strategy != "priority" {
		t.Errorf("PreviewCombo = %+v, %v", ahead, err)
	}
	draft, err := f.PreviewCombo(ctx, control.PreviewRequest{ID: a.ID, Draft: &control.ComboInput{Strategy: "weighted", Steps: []control.ComboStep{{Model: "openai/gpt-5"}}}})
	if err != nil || draft.Strategy != "weighted" {
		t.Errorf("the preview of a draft is %+v, %v", draft, err)
	}
	if _, err := f.PreviewCombo(ctx, control.PreviewRequest{ID: "nobody"}); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("the preview of nobody: %v", err)
	}
	if _, err := f.Drill(ctx, control.DrillRequest{Combo: "nobody"}); !errors.Is(err, control.ErrNotFound) {
		t.Errorf("a drill of nobody: %v", err)
	}
	if err := f.DeleteCombo(ctx, a.ID); err != nil {
		t.Fatal(err)
	}
	if listed, brief := comboNames(t, f); !slices.Equal(listed, want[:1]) || !slices.Equal(brief, want[:1]) {
		t.Errorf("after the deletion %v, in the snapshot %v", listed, brief)
	}
}

// comboCorrections: what is not used as it was given is told, once.
func comboCorrections(t *testing.T, f control.Facade) {
	ctx := t.Context()
	in := control.ComboInput{Name: "Odd", Strategy: "best", Steps: []control.ComboStep{
		{Model: "openai/gpt-5", Weight: 250}, {Model: "openai/gpt-5-mini", Weight: 30}, {Model: "groq/*", Weight: -1},
	}}
	c, err := f.AddCombo(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.DeleteCombo(ctx, c.ID); err != nil {
			t.Error(err)
		}
	}()
	want := []control.ComboCorrection{
		{Field: "strategy", Given: "best", Used: "priority"},
		{Field: "models[0].weight", Given: "250", Used: "100"},
		{Field: "models[2].weight", Given: "-1", Used: "0"},
	}
	if !slices.Equal(corrections(c), want) || c.Strategy != "priority" || c.Steps[0].Weight != 100 || c.Steps[2].Weight != 0 {
		t.Errorf("warnings %+v of %+v, want %+v", c.Warnings, c.Combo, want)
	}
	if all, err := f.Combos(ctx); err != nil || len(all) != 1 || len(all[0].Warnings) != 0 {
		t.Errorf("the list repeats them: %+v, %v", all, err)
	}
	for strategy, want := range map[string]int{"usage": 0, "Weighted": 0, "": 0, "weigthed": 1} {
		if c, err = f.EditCombo(ctx, c.ID, control.ComboPatch{Strategy: &strategy}); err != nil || len(corrections(c)) != want {
			t.Errorf("%q: %+v, %v", strategy, c.Warnings, err)
		}
	}
}

// corrections are the warnings of a change but those of steps that lead
// nowhere, which only the service knows.
func corrections(c control.Combo) []control.ComboCorrection {
	return slices.DeleteFunc(slices.Clone(c.Warnings), func(w control.ComboCorrection) bool { return w.Message != "" })
}

func comboRefusals(t *testing.T, f control.Facade) {
	ctx := t.Context()
	a := addCombo(t, f, "A", "openai/gpt-5")
	b := addCombo(t, f, "B", "A")
	made := func(in control.ComboInput) error { _, err := f.AddCombo(ctx, in); return err }
	edited := func(id string, p control.ComboPatch) error { _, err := f.EditCombo(ctx, id, p); return err }
	step := func(model string) []control.ComboStep { return []control.ComboStep{{Model: model}} }
	for _, tc := range []struct {
		name, code string
		status     int
		err        error
	}{
		{"no name", "COMBO_002", 400, made(control.ComboInput{Steps: step("openai/gpt-5")})},
		{"a letter that names may not have", "COMBO_002", 400, edited(a.ID, control.ComboPatch{Name: new("A*")})},
		{"a value out of bounds", "COMBO_002", 400, edited(a.ID, control.ComboPatch{Config: &map[string]any{"maxRetries": 11.0}})},
		{"tiers without a default", "COMBO_003", 400, edited(a.ID, control.ComboPatch{Config: &map[string]any{"compositeTiers": map[string]any{
			"defaultTier": "x", "tiers": map[string]any{"y": map[string]any{"stepId": a.Steps[0].ID}},
		}}})},
		{"the name is taken", "COMBO_004", 400, made(control.ComboInput{Name: "a", Steps: step("openai/gpt-5")})},
		{"a circle", "COMBO_005", 400, edited(a.ID, control.ComboPatch{Steps: new(step(b.Name))})},
		{"a quota share", "COMBO_006", 409, edited(a.ID, control.ComboPatch{Strategy: new("quota-share")})},
		{"nobody", "COMBO_007", 404, edited("nobody", control.ComboPatch{Name: new("C")})},
		{"nobody to delete", "COMBO_007", 404, f.DeleteCombo(ctx, "nobody")},
		{"a wildcard in a pipeline", "COMBO_008", 400, made(control.ComboInput{Name: "C", Strategy: "pipeline", Steps: step("openai/*")})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, ok := errors.AsType[*control.ComboError](tc.err)
			if !ok || e.Code != tc.code || e.Status() != tc.status || e.Message == "" || (e.Code == "COMBO_002") != (len(e.Details) > 0) {
				t.Errorf("got %#v, want %s with status %d", tc.err, tc.code, tc.status)
			}
			if errors.Is(tc.err, control.ErrNotFound) != (tc.code == "COMBO_007") {
				t.Errorf("%v is ErrNotFound: %v", tc.err, errors.Is(tc.err, control.ErrNotFound))
			}
		})
	}
	for _, id := range []string{"", ".", "..", "a/b", "reorder"} {
		if err := f.DeleteCombo(ctx, id); !errors.Is(err, control.ErrNotFound) {
			t.Errorf("delete %q: %v, want ErrNotFound", id, err)
		}
	}
	for _, ids := range [][]string{{"nobody"}, {a.ID, "nobody"}} {
		if _, ok := errors.AsType[*control.InvalidError](f.ReorderCombos(ctx, ids)); !ok {
			t.Errorf("order %v was taken", ids)
		}
	}
	if listed, _ := comboNames(t, f); !slices.Equal(listed, []string{"A", "B"}) {
		t.Errorf("refusals left %v", listed)
	}
}

func comboSettings(t *testing.T, f control.Facade) {
	ctx := t.Context()
	before, err := f.AllSettings(ctx)
	if err != nil || before.ComboDefaults == nil || before.ProviderOverrides == nil || before.ModelFacts == nil {
		t.Fatalf("AllSettings = %+v, %v", before.ComboSettings, err)
	}
	after, err := f.EditAllSettings(ctx, control.AllSettingsPatch{ComboSettingsPatch: control.ComboSettingsPatch{
		ComboDefaults:              &map[string]any{"maxRetries": 2.0},
		ProviderOverrides:          &map[string]map[string]any{"openai": {"queueDepth": 0.0}},
		ComboStickyRoundRobinLimit: new(4), DisableSessionStickiness: new(true),
		ModelFacts: &map[string]control.ModelFact{"openai/gpt-5": {Input: new(1.5), Output: new(0.0), Vision: new(false)}},
	}})
	if err != nil || after.Revision <= before.Revision || after.ComboDefaults["maxRetries"] != 2.0 || after.ProviderOverrides["openai"]["queueDepth"] != 0.0 ||
		after.ComboStickyRoundRobinLimit != 4 || !after.DisableSessionStickiness || after.CompatFilterFailOpen {
		t.Errorf("EditAllSettings = %+v, %v", after.ComboSettings, err)
	}
	fact := after.ModelFacts["openai/gpt-5"]
	if fact.Input == nil || *fact.Input != 1.5 || fact.Output == nil || *fact.Output != 0 || fact.Vision == nil || *fact.Vision || fact.Tools != nil {
		t.Errorf("facts %+v", fact)
	}
	back, err := f.EditAllSettings(ctx, control.AllSettingsPatch{ComboSettingsPatch: control.ComboSettingsPatch{
		ComboDefaults: &map[string]any{}, ProviderOverrides: &map[string]map[string]any{}, ModelFacts: &map[string]control.ModelFact{},
		ComboStickyRoundRobinLimit: new(0), DisableSessionStickiness: new(false),
	}})
	if err != nil || len(back.ComboDefaults)+len(back.ProviderOverrides)+len(back.ModelFacts)+back.ComboStickyRoundRobinLimit != 0 || back.DisableSessionStickiness {
		t.Errorf("taken back %+v, %v", back.ComboSettings, err)
	}
}
