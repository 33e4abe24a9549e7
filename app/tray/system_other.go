//go:build !linux && !windows && !darwin

package tray

import (
	"fyne.io/systray"

	"breakwater/assets"
)

// leftClickOpens says whether a click on the icon opens the window.
const leftClickOpens = true

func setIcon(state string) { systray.SetIcon(assets.TrayIcon(state, true)) }

// missing does not know.
func missing() (why, advice string) { return "", "" }
