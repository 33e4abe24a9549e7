//go:build (cgo || ci) && !nogui

package windows

import (
	"testing"

	"breakwater/proxy/control"
)

func cellOf(t *testing.T, e *layerEditor, path string) *knobCell {
	t.Helper()
	for _, c := range e.card.cells {
		if c.knob.Path == path {
			return c
		}
	}
	t.Fatal("no line ", path)
	return nil
}

func TestComboDefaultsAreSetInTheSettings(t *testing.T) {
	b := newBench(t, "busy", "")
	b.fake.policy.all.ComboDefaults = map[string]any{"judgeModel": "openai/gpt-5"}
	b.goTo("settings/resilience")
	e := pageOf[*settings](b).resilience.combos
	if c := cellOf(t, e, "own.rest"); c.shown() != `{"judgeModel":"openai/gpt-5"}` || c.note.content != "set here" {
		t.Error(c.shown(), c.note.content)
	}
	retries := cellOf(t, e, "own.maxRetries")
	retries.entry.SetText("3")
	b.push("Save")
	if got := b.lastPatch(); got != `{"comboDefaults":{"judgeModel":"openai/gpt-5","maxRetries":3},"expectedRevision":0}` {
		t.Error(got)
	}
	b.redraw()
	if retries.shown() != "3" || retries.note.content != "set here" {
		t.Error("the next redraw shows what was before the save:", retries.shown(), retries.note.content)
	}
	b.fake.refuse = &control.InvalidError{Fields: []control.FieldError{{Field: "comboDefaults.maxRetries", Message: "must be less"}}}
	retries.entry.SetText("4")
	b.push("Save")
	b.wantShown("Must be less.")
	b.fake.refuse = nil
	retries.takeBack()
	if got := b.lastPatch(); got != `{"comboDefaults":{"judgeModel":"openai/gpt-5"},"expectedRevision":0}` {
		t.Error(got)
	}
}

func TestAProviderHasItsOwnComboDefaults(t *testing.T) {
	b := newBench(t, "busy", "")
	b.fake.policy.all.ProviderOverrides = map[string]map[string]any{"glm": {"hedging": true}}
	b.goTo("providers/openai")
	b.wantShown("Combos that begin here")
	e := b.side[0].(*provider).combos
	cellOf(t, e, "own.maxRetries").entry.SetText("0")
	b.push("Save")
	if got := b.lastPatch(); got != `{"providerOverrides":{"glm":{"hedging":true},"openai":{"maxRetries":0}},"expectedRevision":0}` {
		t.Error(got)
	}
	cellOf(t, e, "own.maxRetries").takeBack()
	if got := b.lastPatch(); got != `{"providerOverrides":{"glm":{"hedging":true}},"expectedRevision":0}` {
		t.Error("the layer of a provider without any is left:", got)
	}
}
