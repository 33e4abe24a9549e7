//go:build (cgo || ci) && !nogui

package windows

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"breakwater/proxy/control"
)

func TestCombosShowTheirStrategyAndTargets(t *testing.T) {
	b := newBench(t, "busy", pageCombos)
	b.wantShown("coding", "Always the first target that can take the request.", "claude-sonnet-4-5", "Claude · work", "cooling, 4 min 05 s", "Right now: Anthropic · home.", "Passed over: Claude · work: rate limited", "any connection of GLM (Z.ai coding plan)")
	pageOf[*combos](b).choose("k2")
	b.wantShown("every model that fits *-mini", "another combo", "weight 3")
}

func TestAStepThatLeadsToAnotherComboShowsNoState(t *testing.T) {
	b := newBench(t, "busy", "combos/k2")
	b.win.Resize(fyne.NewSize(900, 600)) // rows lay their cells out, and show them all
	rows := pageOf[*combos](b).steps.rows
	if first := rows[0].cells[3].(*badge); !first.shape.Visible() {
		t.Error("the first step has lost its state")
	}
	if other := rows[1].cells[3].(*badge); other.shape.Visible() || other.label.content != "" {
		t.Errorf("the other combo has a state: %q %q", other.shape.name, other.label.content)
	}
}

func TestNoCombosSayWhatOneIs(t *testing.T) {
	b := newBench(t, "empty", pageCombos)
	b.wantShown("No combos yet", "A combo is a model name of your own")
	b.push("New combo")
	b.wantShown("None yet. Choose a connection and a model below.")
}

// editor opens the editor and returns it.
func (b *bench) editor(id string) *comboDialog {
	b.t.Helper()
	p := pageOf[*combos](b)
	var d *comboDialog
	p.edit(id)
	walk(b.top(), func(o fyne.CanvasObject) bool {
		if r, ok := o.(*stepRow); ok {
			d = r.list.d
			return true
		}
		return false
	})
	if d == nil {
		b.t.Fatal("no editor is open")
	}
	return d
}

func models(d *comboDialog) string {
	var out []string
	for _, s := range d.draft.Steps {
		out = append(out, s.Provider)
	}
	return strings.Join(out, " ")
}

func TestTargetsAreReorderedByDragAndByKeyboard(t *testing.T) {
	b := newBench(t, "busy", pageCombos)
	d := b.editor("k1")
	row := func(at int) *stepRow { return d.steps.box.Objects[at].(*stepRow) }
	row(0).handle.Dragged(&fyne.DragEvent{Dragged: fyne.NewDelta(0, 30)})
	row(0).handle.Dragged(&fyne.DragEvent{Dragged: fyne.NewDelta(0, 40)})
	row(0).handle.DragEnd()
	if got := models(d); got != "anthropic glm claude" {
		t.Error(got)
	}
	row(0).handle.Dragged(&fyne.DragEvent{Dragged: fyne.NewDelta(0, -500)})
	row(0).handle.DragEnd()
	row(1).handle.Dragged(&fyne.DragEvent{Dragged: fyne.NewDelta(0, 9)})
	row(1).handle.DragEnd()
	if got := models(d); got != "anthropic glm claude" {
		t.Error("a small drag, or one past the end: ", got)
	}
	alt := func(key fyne.KeyName) fyne.Shortcut {
		return &desktop.CustomShortcut{KeyName: key, Modifier: fyne.KeyModifierAlt}
	}
	row(2).handle.TypedShortcut(alt(fyne.KeyUp))
	if got := models(d); got != "anthropic claude glm" || b.win.Canvas().Focused() != row(1).handle {
		t.Error("Alt+Up: ", got)
	}
	b.push("Save")
	if last := b.fake.calls[len(b.fake.calls)-1]; !strings.Contains(last, `edit combo k1`) || strings.Index(last, "anthropic") > strings.Index(last, "claude/") {
		t.Error(last)
	}
}

func TestComboIsBuiltFromConnections(t *testing.T) {
	b := newBench(t, "busy", pageCombos)
	b.editor("k1").modal.cancel()
	d := b.comboDialog(nil)
	b.wantShown("None yet. Choose a connection and a model below.")
	b.push("Save")
	b.wantShown("Give it a name: your agent asks for it as a model.")
	b.push("Add target")
	b.wantShown("Choose where it is asked.")
	d.name.SetText("night")
	b.push("Save")
	b.wantShown("Add at least one target.")
	d.place.SetSelected("Anthropic · home")
	b.push("Add target")
	b.wantShown("Name a model.")
	d.model.SetText("claude-haiku-4-5")
	b.push("Add target")
	d.place.SetSelected("combo coding")
	b.push("Add target")
	b.wantShown("claude-haiku-4-5", "another combo")
	b.fake.refuse = &control.ComboError{Code: "COMBO_002", Message: "bad", Details: []control.FieldError{{Field: "name", Message: "is taken"}}}
	b.push("Save")
	b.wantShown("name: is taken.")
	b.push("Save")
	if len(modals) != 0 {
		t.Fatal("the dialog is still open")
	}
	b.wantShown("night")
	made := b.fake.combos[2]
	if made.Name != "night" || made.Steps[0].Model != "anthropic/claude-haiku-4-5" || made.Steps[0].Connection != "c2" || made.Steps[1].Combo != "coding" {
		t.Errorf("%+v", made)
	}
}

func TestComboIsSwitchedAndDeleted(t *testing.T) {
	b := newBench(t, "busy", pageCombos)
	p := pageOf[*combos](b)
	p.setActive("k2", true)
	if !b.fake.did(`edit combo k2 {"isActive":true}`) || !p.rows[1].Active {
		t.Error(b.fake.calls)
	}
	p.choose("k2")
	p.typed(&fyne.KeyEvent{Name: fyne.KeyDelete})
	b.wantShown("Delete cheap?")
	b.push("Delete")
	if !b.fake.did("delete combo k2") || len(p.rows) != 1 {
		t.Error(b.fake.calls)
	}
}
