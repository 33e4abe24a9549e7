//go:build cgo

package tray

import (
	"fyne.io/systray"

	"breakwater/assets"
)

// leftClickOpens is false: on macOS a click on a menu bar icon opens its menu.
const leftClickOpens = false

// setIcon lets the system tint the calm states; trouble keeps its colour.
func setIcon(state string) {
	switch state {
	case "degraded", "trouble", "unavailable":
		systray.SetIcon(assets.TrayIcon(state, false))
		return
	}
	systray.SetTemplateIcon(assets.TrayTemplate(state), assets.TrayTemplate(state))
}

// missing is empty: macOS always has a menu bar.
func missing() (why, advice string) { return "", "" }
