//go:build (cgo || ci) && !nogui

package windows

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"breakwater/proxy/control"
)

// cell returns the control of a setting.
func (b *bench) cell(path string) *knobCell {
	b.t.Helper()
	p := pageOf[*settings](b).resilience
	for _, k := range append(p.cards, p.lockout) {
		for _, c := range k.cells {
			if c.knob.Path == path {
				return c
			}
		}
	}
	b.t.Fatal("no setting ", path)
	return nil
}

func (b *bench) lastPatch() string {
	if n := len(b.fake.policy.patches); n > 0 {
		return b.fake.policy.patches[n-1]
	}
	return ""
}

func TestResilienceShowsValuesWithTheirOrigin(t *testing.T) {
	b := newBench(t, "busy", "settings/resilience")
	b.wantShown("Connection cooldown", "Provider breaker", "Wait for a cooldown", "Provider cooldown", "Stalled streams", "Model lockout", "Subscriptions", "API keys")
	b.wantHidden("Save", "Data folder")
	for path, want := range map[string][2]string{
		"connectionCooldown.apikey.baseCooldownMs": {"2.5", "set here"},
		"connectionCooldown.oauth.baseCooldownMs":  {"5", "default"},
		"providerBreaker.apikey.resetTimeoutMs":    {"45", "from the environment"},
		"modelLockout.errorCodes":                  {"403, 404, 429, 502, 503, 504", "default"},
	} {
		c := b.cell(path)
		if c.shown() != want[0] || c.note.content != want[1] || c.back.Visible() != (want[1] == "set here") {
			t.Errorf("%s shows %q, %q", path, c.shown(), c.note.content)
		}
	}
}

func TestSaveWakesWhenSomethingChanged(t *testing.T) {
	b := newBench(t, "busy", "settings/resilience")
	c := b.cell("connectionCooldown.oauth.baseCooldownMs")
	c.entry.SetText("7")
	b.wantShown("Connection cooldown")
	b.push("Cancel")
	if c.entry.Text != "5" || c.card.save.Visible() {
		t.Errorf("%q after cancel", c.entry.Text)
	}
	c.entry.SetText("7")
	b.push("Save")
	if got := b.lastPatch(); got != `{"connectionCooldown":{"oauth":{"baseCooldownMs":7000}}}` {
		t.Error(got)
	}
	if c.note.content != "set here" || !c.back.Visible() || c.card.save.Visible() {
		t.Error("the value is not shown as stored")
	}
	test.Tap(c.back)
	if got := b.lastPatch(); got != `{"connectionCooldown":{"oauth":{"baseCooldownMs":null}}}` || c.entry.Text != "5" || c.note.content != "default" {
		t.Errorf("%s %q", got, c.entry.Text)
	}
}

func TestNumbersAreClampedWhileTyping(t *testing.T) {
	b := newBench(t, "busy", "settings/resilience")
	c := b.cell("connectionCooldown.oauth.maxBackoffSteps")
	b.win.Canvas().Focus(c.entry)
	c.entry.SetText("")
	test.Type(c.entry, "3x9")
	if c.entry.Text != "32" || c.entry.CursorColumn != 2 {
		t.Errorf("%q, cursor at %d", c.entry.Text, c.entry.CursorColumn)
	}
}

func TestTakingOneBackKeepsWhatIsTypedElsewhere(t *testing.T) {
	b := newBench(t, "busy", "settings/resilience")
	other := b.cell("connectionCooldown.oauth.maxBackoffSteps")
	other.entry.SetText("3")
	test.Tap(b.cell("connectionCooldown.apikey.baseCooldownMs").back)
	if other.entry.Text != "3" || !other.card.save.Visible() {
		t.Errorf("%q", other.entry.Text)
	}
	b.sync()
	if other.entry.Text != "3" {
		t.Error("a new snapshot undoes what is typed")
	}
}

func TestRefusedSettingsAreShownBesideTheField(t *testing.T) {
	b := newBench(t, "busy", "settings/resilience")
	c := b.cell("providerBreaker.oauth.degradationThreshold")
	c.entry.SetText("9")
	b.push("Save")
	b.wantShown("Less than where it opens.")
	if len(b.fake.policy.patches) != 0 || b.win.Canvas().Focused() != c.entry {
		t.Error("it was sent, or the field has no focus")
	}
	c.entry.SetText("6")
	b.fake.refuse = control.Invalid("providerBreaker.oauth.degradationThreshold", "is odd")
	c.entry.OnSubmitted("")
	b.wantShown("Is odd.")
	b.push("Save")
	b.wantHidden("Is odd.", "Less than where it opens.")
	if c.note.content != "set here" {
		t.Error(c.note.content)
	}
}

func TestThreeWayHintsGoBackToAutomatic(t *testing.T) {
	b := newBench(t, "busy", "settings/resilience")
	c := b.cell("connectionCooldown.apikey.useUpstream429BreakerHints")
	if c.shown() != "" {
		t.Fatal(c.shown())
	}
	c.tri.SetSelected("Never")
	b.push("Save")
	if got := b.lastPatch(); !strings.Contains(got, `"useUpstream429BreakerHints":false`) {
		t.Error(got)
	}
	c.tri.SetSelected("Automatic")
	b.push("Save")
	if got := b.lastPatch(); !strings.Contains(got, `"useUpstream429BreakerHints":null`) || c.note.content != "default" {
		t.Error(got, c.note.content)
	}
}

func TestModelLockoutIsSavedOverTheGuide(t *testing.T) {
	b := newBench(t, "busy", "settings/resilience")
	c := b.cell("modelLockout.enabled")
	c.onOff.flip()
	b.cell("modelLockout.errorCodes").entry.SetText("429, 503")
	b.push("Save")
	if got := b.lastPatch(); got != `{"modelLockout":{"enabled":true,"errorCodes":[429,503]}}` {
		t.Error(got)
	}
	if c.note.content != "set here" {
		t.Error(c.note.content)
	}
}

func TestSectionsAreReachedByKeyAndLink(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	b.wantShown("Appearance")
	for range 2 {
		pageOf[*settings](b).choice.TypedKey(&fyne.KeyEvent{Name: fyne.KeyRight})
	}
	b.wantShown("Model lockout")
	b.wantHidden("Appearance")
	b.goTo("settings/general")
	b.wantShown("Appearance")
	b.goTo("cooldowns")
	walk(b.top(), func(o fyne.CanvasObject) bool {
		l, ok := o.(*link)
		if ok && l.label.content == "Rules" {
			test.Tap(l)
			return true
		}
		return false
	})
	b.wantShown("Model lockout")
}
