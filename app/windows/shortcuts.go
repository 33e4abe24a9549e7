//go:build (cgo || ci) && !nogui

package windows

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
)

// keyActions are what Ctrl with a key does: 1… shows a page, N adds a
// connection. Below an open dialog they do nothing.
func (u *ui) keyActions() map[fyne.KeyName]func() {
	out := map[fyne.KeyName]func(){
		fyne.KeyN: func() {
			u.goTo(pageConnections)
			u.addDialog("", nil)
		},
	}
	digits := []fyne.KeyName{fyne.Key1, fyne.Key2, fyne.Key3, fyne.Key4, fyne.Key5, fyne.Key6, fyne.Key7, fyne.Key8, fyne.Key9}
	for i, k := range digits {
		out[k] = func() {
			if i < len(u.pages) {
				u.goTo(u.pages[i].key())
			}
		}
	}
	for k, f := range out {
		out[k] = func() {
			if len(modals) == 0 {
				f()
			}
		}
	}
	return out
}

// shortcuts gives the window its keys; Esc closes the topmost dialog.
func (u *ui) shortcuts() {
	c := u.win.Canvas()
	pageKeys = u.keyActions()
	for k, f := range pageKeys {
		c.AddShortcut(&desktop.CustomShortcut{KeyName: k, Modifier: fyne.KeyModifierShortcutDefault}, func(fyne.Shortcut) { f() })
	}
	c.SetOnTypedKey(func(e *fyne.KeyEvent) {
		if e.Name == fyne.KeyEscape {
			escape()
		}
	})
}
