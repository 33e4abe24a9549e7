//go:build (cgo || ci) && !nogui

package windows

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"breakwater/app/windows/view"
	"breakwater/build"
)

// aboutLines tell of the program itself what a report about it should name, and
// whose work is in it.
func (u *ui) aboutLines() fyne.CanvasObject {
	commit := build.Short()
	if commit == "" {
		commit = view.T("unknown")
	}
	return container.New(stack{12},
		settingLine(view.T("Built from"), "", rightAligned(newMono(commit))),
		settingLine(view.T("Made with"), "", rightAligned(newText(strings.Join(u.options.Parts, ", "), view.RoleText))),
		settingLine(view.T("Licences"), view.T("Of Breakwater and of everything it is made of."),
			rightAligned(newButton(view.T("Read the licences"), u.showLicences))))
}

// showLicences opens the texts in a dialog. A list draws only the lines that are
// seen: there are thousands.
func (u *ui) showLicences() {
	lines := strings.Split(strings.TrimRight(build.Licences(), "\n"), "\n")
	list := widget.NewList(
		func() int { return len(lines) },
		func() fyne.CanvasObject { return newMono("").clipped() },
		func(at widget.ListItemID, o fyne.CanvasObject) {
			if t, ok := o.(*text); ok {
				t.set(lines[at])
			}
		})
	list.HideSeparators = true
	var m *modal
	closing := newButton(view.T("Close"), func() { m.cancel() })
	title := newText(view.T("Licences"), view.RoleText).bold()
	title.size = 15
	m = openModal(u.win.Canvas(), container.New(inset{20, gapEdge, 16, gapEdge},
		bordered(title, container.New(inset{8, 0, 0, 0}, rightAligned(closing)), nil, nil, list)), 720, 560, nil)
	u.win.Canvas().Focus(closing)
}
