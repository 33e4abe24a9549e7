//go:build (cgo || ci) && !nogui

package windows

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"breakwater/app/windows/view"
)

// makeLimits makes the fields of the limits that a connection has of its own.
func (f *connectionForm) makeLimits() []fyne.CanvasObject {
	out := []fyne.CanvasObject{newText(view.T("Limits and labels"), view.RoleText).bold()}
	var half fyne.CanvasObject
	for _, l := range view.LimitLines() {
		if l.Claude && !f.provider.Claude || l.Login && !slices.Contains(f.provider.Credentials, view.CredentialLogin) {
			continue
		}
		x := entry("", f.draft.Limits[l.Key])
		f.limits[l.Key] = x
		box := f.line(l.Field, l.Label, l.Hint, x)
		switch {
		case l.Half:
			half = box
		case half != nil:
			out = append(out, container.New(halves{gap: gapGroup}, half, box))
			half = nil
		default:
			out = append(out, box)
		}
	}
	f.perModel = newChoice(nil, nil)
	f.perModel.offer(view.PerModelOptions(), f.draft.PerModel)
	return append(out, f.line("passthroughModels", view.T("When a quota is used up"), view.T("Some providers count each model for itself."), f.perModel.boxed()))
}

// lineOf finds the line of a refused field, which may be a part of it.
func (f *connectionForm) lineOf(name string) *formLine {
	for name != "" {
		if l := f.lines[name]; l != nil {
			return l
		}
		at := strings.LastIndexByte(name, '.')
		if at < 0 {
			return nil
		}
		name = name[:at]
	}
	return nil
}
