//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2/lang"

	"breakwater/app/windows/view"
)

// speakFyne gives Fyne's own words, those of the menu of an entry, the language
// of the window: Fyne knows that of the system only, and no Marathi.
func speakFyne() {
	lang.L = func(s string, data ...any) string {
		switch s {
		case "Cut":
			return view.T("Cut")
		case "Copy":
			return view.T("Copy")
		case "Paste":
			return view.T("Paste")
		case "Select all":
			return view.T("Select all")
		case "Undo":
			return view.T("Undo")
		case "Redo":
			return view.T("Redo")
		}
		return lang.Localize(s, data...)
	}
}
