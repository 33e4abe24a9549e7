//go:build (cgo || ci) && !nogui

package windows

import (
	"errors"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"breakwater/proxy/control"
)

// pick taps a provider in the dialog's list.
func (b *bench) pick(provider string) {
	b.t.Helper()
	found := walk(b.top(), func(o fyne.CanvasObject) bool {
		r, ok := o.(*row)
		if ok && r.cells[0].(*text).content == provider {
			test.Tap(r)
			return true
		}
		return false
	})
	if !found {
		b.t.Fatal("no provider ", provider)
	}
}

// fields returns the entries of the open dialog in their order.
func (b *bench) fields() []*field {
	var out []*field
	walk(b.top(), func(o fyne.CanvasObject) bool {
		if f, ok := o.(*field); ok {
			out = append(out, f)
			return false
		}
		return false
	})
	return out
}

func TestAddingAConnectionStoresAndShowsIt(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	b.push("Add connection")
	b.pick("Anthropic")
	f := b.fields() // search, name, key
	f[1].SetText("Anthropic · third")
	f[2].SetText(" sk-ant-123 ")
	if !f[2].Password {
		t.Error("the key is readable on the screen")
	}
	b.push("Add")
	if len(b.fake.added) != 1 {
		t.Fatal(b.fake.calls)
	}
	in := b.fake.added[0]
	if in.Provider != "anthropic" || in.Name != "Anthropic · third" || in.APIKey != "sk-ant-123" || in.Credential != "apikey" || in.Dialects != nil {
		t.Errorf("%+v", in)
	}
	if len(modals) != 0 {
		t.Error("the dialog stays open")
	}
	b.sync()
	b.wantShown("Anthropic · third is serving.")
	b.wantHidden("sk-ant-123")
}

func TestFieldErrorsAreShownBesideTheField(t *testing.T) {
	b := newBench(t, "busy", "connections/add")
	b.pick("OpenAI")
	b.fake.refuse = &control.InvalidError{Fields: []control.FieldError{
		{Field: "name", Message: "another connection is called that"}, {Field: "baseUrl", Message: "needs http or https"}, {Field: "shape", Message: "is odd"},
	}}
	b.fields()[2].SetText("sk-1")
	b.push("Add")
	b.wantShown("Another connection is called that.", "Needs http or https.", "Shape: is odd.")
	if len(modals) != 1 || b.fields()[2].Text != "sk-1" {
		t.Error("what was typed is lost")
	}
	if b.win.Canvas().Focused() != b.fields()[1] {
		t.Error("the first refused field has the focus")
	}
	b.push("Add")
	if len(modals) != 0 {
		t.Error("the second try is good")
	}
}

func TestAddAndTestStaysOpenWithTheVerdict(t *testing.T) {
	b := newBench(t, "busy", "connections/add")
	b.pick("Anthropic")
	b.fields()[2].SetText("sk-1")
	b.fake.result = control.TestResult{StatusCode: 401, Diagnosis: control.Diagnosis{Type: "upstream_auth_error"}}
	b.push("Add and test")
	b.wantShown("The provider refused the credential. Check that the whole key was pasted. (status 401)")
	if b.fields()[2].Text != "" || !strings.HasPrefix(b.fields()[2].PlaceHolder, "stored") {
		t.Error("the stored key is still in the field")
	}
	b.fields()[2].SetText("sk-2")
	b.fake.result = control.TestResult{Valid: true, LatencyMs: 90}
	b.push("Test")
	b.wantShown("The provider accepted the credential (90 ms).")
	if len(b.fake.added) != 1 || len(b.fake.patches) != 1 || *b.fake.patches[0].APIKey != "sk-2" {
		t.Error("the second test edits what the first one added: ", b.fake.calls)
	}
}

func TestPassthroughAsksForNoKey(t *testing.T) {
	b := newBench(t, "empty", "connections/add")
	b.pick("Claude subscription")
	b.wantShown("Your agent stays signed in", "Low-priority lane", "Automatic limit reset")
	b.wantHidden("Key", "Kept in the system's keychain")
	walk(b.top(), func(o fyne.CanvasObject) bool {
		if c, ok := o.(*choice); ok {
			c.SetSelected("Pasted token")
			return true
		}
		return false
	})
	b.wantShown("Kept in the system's keychain")
	b.wantHidden("Your agent stays signed in")
}

func TestSearchNarrowsTheCatalogueAndEnterTakesTheFirst(t *testing.T) {
	b := newBench(t, "busy", "connections/add")
	test.Type(b.fields()[0], "deep")
	b.wantShown("DeepSeek")
	b.wantHidden("OpenRouter")
	b.fields()[0].OnSubmitted("")
	b.wantShown("Kept in the system's keychain and never shown again.")
	b.fields()[0].SetText("nobody")
	b.wantShown("No provider is called that.")
	b.fields()[0].SetText("")
	b.fields()[0].TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	b.push("Add")
	if b.fake.added[0].Provider != "gemini" {
		t.Error("the arrow goes to the next provider:", b.fake.added[0].Provider)
	}
}

func TestEnterInAFieldAddsAndChoosingAgainKeepsWhatWasTyped(t *testing.T) {
	b := newBench(t, "busy", "connections/add")
	b.pick("Anthropic")
	b.fields()[2].SetText("sk-1")
	b.pick("Anthropic")
	if b.fields()[2].Text != "sk-1" {
		t.Fatal("the key is lost")
	}
	b.fields()[2].OnSubmitted("sk-1")
	if len(b.fake.added) != 1 || len(modals) != 0 {
		t.Error(b.fake.calls)
	}
}

func TestEditingSendsOnlyWhatChanged(t *testing.T) {
	b := newBench(t, "busy", "connections/c3")
	b.push("Edit…")
	f := b.fields() // name, key, base URL, default model, models
	if f[0].Text != "GLM · team plan" || f[1].Text != "" || !strings.HasPrefix(f[1].PlaceHolder, "stored") {
		t.Errorf("%q %q %q", f[0].Text, f[1].Text, f[1].PlaceHolder)
	}
	f[0].SetText("GLM · mine")
	b.push("Save")
	p := b.fake.patches[0]
	if p.Name == nil || *p.Name != "GLM · mine" || p.APIKey != nil || p.DefaultModel != nil || p.BaseURL != nil || p.Dialects != nil || p.Models != nil {
		t.Errorf("%+v", p)
	}
}

func TestCustomProviderAsksForURLAndDialects(t *testing.T) {
	b := newBench(t, "busy", "connections/add")
	b.pick("Custom")
	b.wantShown("Base URL", "Messages", "Chat", "Responses")
	var switches []*keyToggle
	walk(b.top(), func(o fyne.CanvasObject) bool {
		if x, ok := o.(*keyToggle); ok {
			switches = append(switches, x)
		}
		return false
	})
	test.Tap(switches[0]) // Messages off
	b.push("Add")
	if got := b.fake.added[0].Dialects; len(got) != 2 || got[0] != "chat" {
		t.Error(got)
	}
}

func TestRowToggleCallsTheFacadeAndGoesBackWhenRefused(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	r := b.line("c2")
	test.Tap(r.cells[1].(*toggle))
	if !b.fake.did("active c2 false") {
		t.Fatal(b.fake.calls)
	}
	b.sync()
	if b.line("c2").cells[1].(*toggle).on {
		t.Error("the switch is on although the connection is off")
	}
	b.fake.refuse = errors.New("database is locked")
	r = b.line("c3")
	test.Tap(r.cells[1].(*toggle))
	b.wantShown("That did not work: database is locked")
	if !b.line("c3").cells[1].(*toggle).on {
		t.Error("a refused switch goes back")
	}
}

func TestRowsMoveInRoutingOrderOnly(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	buttons := func(id string) []fyne.CanvasObject { return b.line(id).cells[8].(*fyne.Container).Objects }
	test.Tap(buttons("c2")[0].(*iconButton))
	if !b.fake.did("order [c2 c1 c3 c4 c5 c6 c7]") {
		t.Error(b.fake.calls)
	}
	b.connectionsPage().sort("name")
	if !buttons("c4")[0].(*iconButton).disabled {
		t.Error("moving makes no sense in another order")
	}
}

func TestDeletingAsksWithTheName(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	c, _ := b.connectionByID("c4")
	b.askDelete(c)
	b.wantShown("Delete OpenAI · platform?")
	b.push("Cancel")
	if b.fake.did("delete c4") || len(modals) != 0 {
		t.Fatal("cancel deletes nothing")
	}
	b.askDelete(c)
	b.push("Delete")
	if !b.fake.did("delete c4") {
		t.Error(b.fake.calls)
	}
}

func TestMenuHoldsWhatFitsTheConnection(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	b.connectionsPage().menu("c1", fyne.NewPos(300, 200))
	if len(b.win.Canvas().Overlays().List()) != 1 {
		t.Fatal("no menu")
	}
	b.win.Canvas().Overlays().Remove(b.win.Canvas().Overlays().Top())
	b.clearCooldown("c1")
	b.connectionsPage().detail.test("c1")
	if !b.fake.did("clear c1") || !b.fake.did("test c1") {
		t.Error(b.fake.calls)
	}
	b.wantShown("The provider accepted the credential (312 ms).")
	b.connectionsPage().choose("c2")
	b.wantHidden("The provider accepted the credential (312 ms).")
}

func TestTappingARowChoosesIt(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	tapAt(b, "GLM · team plan")
	b.wantShown("GLM · team plan: GLM (Z.ai coding plan) has failed a few times and is watched closely.")
	if b.win.Canvas().Focused() != b.connectionsPage().list {
		t.Error("the keys go to the list now")
	}
	b.connectionsPage().list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	b.wantShown("OpenAI · platform: the breaker of OpenAI is open")
	b.goTo(pageActivity)
	tapAt(b, "openrouter/qwen")
	b.wantShown("Quota used up after 610 ms.")
	b.goTo(pageOverview)
	tapAt(b, "OpenAI · platform")
	if b.current.key() != pageConnections {
		t.Error("a row of the overview leads to its connection")
	}
}

// tapAt taps where a text begins, as the driver would.
func tapAt(b *bench, words string) {
	b.t.Helper()
	b.win.Canvas().Capture() // lays everything out
	var at fyne.Position
	if !walk(b.top(), func(o fyne.CanvasObject) bool {
		if t, ok := o.(*text); ok && strings.HasPrefix(t.content, words) {
			at = fyne.CurrentApp().Driver().AbsolutePositionForObject(t)
			return true
		}
		return false
	}) {
		b.t.Fatal("not shown: ", words)
	}
	test.TapCanvas(b.win.Canvas(), at.AddXY(4, 4))
}

func TestKeysActOnTheChosenConnection(t *testing.T) {
	b := newBench(t, "busy", "connections/c2")
	b.connectionsPage().list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	b.wantShown("Edit Anthropic · home")
	escape()
	b.connectionsPage().list.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDelete})
	b.wantShown("Delete Anthropic · home?")
}

func TestWelcomeOffersTheKeyOfTheEnvironment(t *testing.T) {
	b := newBench(t, "empty", "")
	b.wantShown("Nothing to serve with yet", "Use an API key", "I have a Claude subscription", "Add another provider", "Try the demo")
	b.env["ANTHROPIC_API_KEY"] = "sk-ant-secret"
	w := b.pages[0].(*overview).welcome
	w.built = -1
	b.redraw()
	b.wantShown("Use the key in ANTHROPIC_API_KEY")
	test.Tap(w.offers.Objects[0].(*offer))
	b.wantHidden("sk-ant-secret")
	b.push("Add")
	if b.fake.added[0].APIKey != "sk-ant-secret" {
		t.Error("the key was not taken over")
	}
	b.sync()
	b.goTo(pageOverview)
	b.wantShown("Your connection is serving")
	b.wantHidden("Try the demo")
}

func TestEmptyPagesSayWhatFillsThem(t *testing.T) {
	b := newBench(t, "empty", pageConnections)
	b.wantShown("No connections yet")
	b.goTo(pageActivity)
	b.wantShown("No requests yet")
	b = newBench(t, "well", "")
	b.fake.rows, b.activity = nil, nil
	b.redraw()
	b.wantShown("No request yet.")
}

func TestTipNamesWhatIsUnderThePointer(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	r := b.line("c1")
	if got := r.tip(3); !strings.HasPrefix(got, "until Wed 2 Jan 2030 12:04:05 UTC · last error Wed") {
		t.Errorf("%q", got)
	}
	if r.tip(-1) != "" {
		t.Error("no cell, no tip")
	}
	tips.show("a tip", fyne.NewPos(995, 675))
	at, size := tips.box.Position(), tips.box.Size()
	if at.X+size.Width > 1000 || at.Y+size.Height > 680 {
		t.Errorf("the tip runs out of the window: %v %v", at, size)
	}
	tips.hide()
	if tips.box.Visible() {
		t.Error("hidden")
	}
}
