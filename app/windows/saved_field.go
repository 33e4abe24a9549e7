//go:build (cgo || ci) && !nogui

package windows

import (
	"errors"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// savedField is an entry whose Save wakes up when something was typed.
type savedField struct {
	entry  *field
	save   *button
	note   *text
	box    fyne.CanvasObject
	stored string
	onSave func(string)
}

func newSavedField(save func(string)) *savedField {
	f := &savedField{entry: newField(""), note: newCaption("").wrapped(), onSave: save}
	f.save = newButton(view.T("Save"), func() { f.onSave(f.entry.Text) })
	f.save.Hide()
	f.entry.OnChanged = func(s string) { f.awake(s != f.stored) }
	f.entry.OnSubmitted = func(s string) {
		if s != f.stored {
			f.onSave(s)
		}
	}
	f.note.Hide()
	f.box = container.New(stack{gapSmall}, container.New(line{gap: gap, grow: f.entry}, f.entry, f.save), f.note)
	return f
}

// awake shows Save while there is something to save.
func (f *savedField) awake(on bool) {
	if f.save.Visible() != on {
		show(f.save, on)
		f.box.Refresh()
	}
}

// show takes over a stored value, unless something else is being typed.
func (f *savedField) show(s string) {
	if s == f.stored {
		return
	}
	untouched := f.entry.Text == f.stored
	f.stored = s
	if untouched {
		f.entry.SetText(s)
	}
	f.awake(f.entry.Text != s)
}

func (f *savedField) wrong(s string) {
	f.note.show(sentenceCase(s), view.RoleError)
	show(f.note, true)
	f.box.Refresh()
}

// saved takes what is in the entry for stored.
func (f *savedField) saved() {
	f.stored = f.entry.Text
	f.awake(false)
	show(f.note, false)
	f.box.Refresh()
}

// fieldMessage returns what is wrong with the one field that was sent.
func fieldMessage(err error) string {
	var invalid *control.InvalidError
	if errors.As(err, &invalid) && len(invalid.Fields) > 0 {
		return invalid.Fields[0].Message
	}
	return problem(err)
}
