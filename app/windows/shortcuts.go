//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
)

// shortcuts sets the keys of the window: Ctrl+1… for the pages, Ctrl+N to add
// a connection, Esc to close a dialog.
func (u *ui) shortcuts() {
	c := u.win.Canvas()
	digits := []fyne.KeyName{fyne.Key1, fyne.Key2, fyne.Key3, fyne.Key4, fyne.Key5, fyne.Key6, fyne.Key7, fyne.Key8, fyne.Key9}
	for i, k := range digits {
		c.AddShortcut(&desktop.CustomShortcut{KeyName: k, Modifier: fyne.KeyModifierShortcutDefault}, func(fyne.Shortcut) {
			if i < len(u.pages) && len(modals) == 0 {
				u.goTo(u.pages[i].key())
			}
		})
	}
	c.AddShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyN, Modifier: fyne.KeyModifierShortcutDefault}, func(fyne.Shortcut) {
		if len(modals) == 0 {
			u.goTo(pageConnections)
			u.addDialog("", nil)
		}
	})
	c.SetOnTypedKey(func(e *fyne.KeyEvent) {
		if e.Name == fyne.KeyEscape {
			escape()
		}
	})
}
