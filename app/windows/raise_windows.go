//go:build (cgo || ci) && !nogui

package windows

import (
	"syscall"

	"fyne.io/fyne/v2/driver"
)

// showRestored is SW_RESTORE of the Windows API.
const showRestored = 9

var (
	user32     = syscall.NewLazyDLL("user32.dll")
	isIconic   = user32.NewProc("IsIconic")
	showWindow = user32.NewProc("ShowWindow")
)

// restore takes a minimised window out of the task bar.
func restore(context any) {
	c, ok := context.(driver.WindowsWindowContext)
	if !ok || c.HWND == 0 {
		return
	}
	if minimised, _, _ := isIconic.Call(c.HWND); minimised != 0 {
		_, _, _ = showWindow.Call(c.HWND, showRestored) // tells whether it was visible before
	}
}
