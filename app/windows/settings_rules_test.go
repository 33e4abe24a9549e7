//go:build (cgo || ci) && !nogui

package windows

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"breakwater/proxy/control"
)

// choices returns the selects of the open dialog in their order.
func (b *bench) choices() []*choice {
	var out []*choice
	walk(b.top(), func(o fyne.CanvasObject) bool {
		if c, ok := o.(*choice); ok {
			out = append(out, c)
		}
		return false
	})
	return out
}

// run does what a menu's entry does.
func run(t *testing.T, items []*fyne.MenuItem, word string) {
	t.Helper()
	for _, i := range items {
		if i.Label == word && !i.Disabled {
			i.Action()
			return
		}
	}
	t.Fatal("the menu has no ", word)
}

func TestErrorRulesAreListedWithTheInactiveOnes(t *testing.T) {
	b := newBench(t, "busy", "settings/rules")
	b.wantShown("3 of 50", "Claude subscription (1)", "“weekly limit”", "5 h", "inactive", "Inactive: no rule is asked about status 400.",
		"OpenAI (1)", "any text", "30 min", "OpenRouter (1)", "by the status", "1 h")
	b.fake.policy.rules, b.fake.policy.defaults = nil, nil
	b.goTo(pageOverview)
	b.goTo("settings/rules")
	b.wantShown("0 of 50", "No rules yet.", "No defaults.")
	b.wantHidden("inactive", "Inactive:")
}

func TestAddingARule(t *testing.T) {
	b := newBench(t, "busy", "settings/rules")
	b.push("Add rule…")
	b.wantShown("Add an error rule", "The connection is left out; others of the provider serve.")
	c := b.choices() // provider, status, reason, cooldown
	c[0].SetSelected("Gemini (1)")
	b.fields()[0].SetText("daily limit")
	c[3].SetSelected("24 h")
	b.wantShown("When Gemini answers 429 and “daily limit”, the connection rests for 24 h.")
	b.push("Save")
	if got := b.lastPatch(); !strings.Contains(got, `"gemini":[{"status":429,"match":"daily limit","scope":"connection","reason":"quota_exhausted","cooldownMs":86400000}]`) || !strings.Contains(got, "weekly limit") {
		t.Error(got)
	}
	if len(modals) != 0 {
		t.Error("the dialog stays open")
	}
	b.wantShown("4 of 50", "Gemini (1)", "“daily limit”", "24 h")
}

func TestRuleDialogChecksAndKeepsWhatWasTyped(t *testing.T) {
	b := newBench(t, "busy", "settings/rules")
	b.push("Add rule…")
	c := b.choices()
	c[0].SetSelected("Another…")
	c[1].SetSelected("Any")
	c[3].SetSelected("Another…")
	b.push("Save")
	b.wantShown("The provider's id, 1 to 100 characters.", "Name a status, a text, or both.", "From 1 to 43 200 minutes.")
	f := b.fields() // id, text, minutes
	f[0].SetText("Zen ")
	f[1].SetText("slow down")
	f[2].SetText("7")
	b.fake.refuse = control.Invalid("providerErrorRules.zen.0.match", "is odd")
	b.push("Save")
	b.wantShown("Is odd.")
	b.push("Save")
	if got := b.lastPatch(); !strings.Contains(got, `"zen":[{"match":"slow down","scope":"connection","reason":"quota_exhausted","cooldownMs":420000}]`) {
		t.Error(got)
	}
}

func TestEditingARuleAndADefault(t *testing.T) {
	b := newBench(t, "busy", "settings/rules")
	test.Tap(b.rowOf("“weekly limit”"))
	b.wantShown("Edit the error rule")
	if b.fields()[0].Text != "weekly limit" || b.choices()[3].Selected != "5 h" {
		t.Error("the stored rule is not shown")
	}
	b.fields()[0].OnSubmitted("")
	if got := b.lastPatch(); !strings.Contains(got, `"claude":[{"status":429,"match":"weekly limit","scope":"connection","reason":"quota_exhausted","cooldownMs":18000000},{`) {
		t.Error("a save without a change keeps the rule and its place:", got)
	}
	test.Tap(b.rowOf("by the status"))
	b.wantShown("Edit the default")
	b.wantHidden("Text in the answer")
	b.choices()[2].SetSelected("5 h")
	b.push("Save")
	if got := b.lastPatch(); got != `{"providerErrorDefaults":{"openrouter":{"cooldownMs":18000000,"scope":"connection"}}}` {
		t.Error(got)
	}
	b.push("Add default…")
	b.choices()[0].SetSelected("OpenRouter (1)")
	b.push("Save")
	b.wantShown("It has a default already.")
}

func TestDeletingAsks(t *testing.T) {
	b := newBench(t, "busy", "settings/rules")
	p := pageOf[*settings](b).rules
	test.Tap(b.rowOf("30 min").cells[6].(*keyIcon))
	if b.win.Canvas().Overlays().Top() == nil {
		t.Fatal("no menu")
	}
	b.win.Canvas().Overlays().Top().Hide()
	run(t, p.ruleMenu(2), "Delete…")
	b.wantShown("Delete this rule for OpenAI (1)?")
	b.push("Cancel")
	if b.lastPatch() != "" {
		t.Fatal("it was not confirmed")
	}
	run(t, p.ruleMenu(2), "Delete…")
	b.push("Delete")
	b.wantShown("2 of 50")
	b.wantHidden("30 min")
	run(t, p.defaultMenu(0), "Delete…")
	b.wantShown("Delete the default of OpenRouter (1)?")
	b.push("Delete")
	b.wantShown("No defaults.")
}

func TestRulesChangePlaces(t *testing.T) {
	b := newBench(t, "busy", "settings/rules")
	p := pageOf[*settings](b).rules
	run(t, p.ruleMenu(0), "Try later")
	if p.rules[0].Status != 400 || p.rules[1].Match != "weekly limit" {
		t.Errorf("%+v", p.rules)
	}
	for _, i := range p.ruleMenu(2) {
		if strings.HasPrefix(i.Label, "Try") && !i.Disabled {
			t.Error("the only rule of a provider goes nowhere")
		}
	}
}
