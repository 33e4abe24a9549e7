//go:build !linux && !windows && !darwin

package tray

import (
	"fyne.io/systray"

	"breakwater/assets"
)

// leftClickOpens says whether a click on the icon opens the window.
const leftClickOpens = true

func setIcon(state string) { systray.SetIcon(assets.TrayIcon(state, true)) }

func missing() string { return "" }
