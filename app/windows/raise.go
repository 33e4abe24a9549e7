//go:build (cgo || ci) && !nogui

package windows

import "fyne.io/fyne/v2/driver"

// raise brings the window to front, wherever it is. Fyne's Show leaves a
// minimised window in Windows' task bar.
func (u *ui) raise() {
	u.win.Show()
	if w, ok := u.win.(driver.NativeWindow); ok {
		w.RunNative(restore)
	}
	u.win.RequestFocus()
}
