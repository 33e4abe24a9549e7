package tray

import (
	"fyne.io/systray"
	"golang.org/x/sys/windows/registry"

	"breakwater/assets"
)

// leftClickOpens says whether a click on the icon opens the window; the menu
// is then on the other button.
const leftClickOpens = true

func setIcon(state string) { systray.SetIcon(assets.TrayIcon(state, darkTaskbar())) }

// darkTaskbar reports the user's choice for the taskbar, which differs from
// that for windows; it is dark where nothing is stored.
func darkTaskbar() bool {
	k, err := registry.OpenKey(registry.CURRENT_USER,
		`Software\Microsoft\Windows\CurrentVersion\Themes\Personalize`, registry.QUERY_VALUE)
	if err != nil {
		return true
	}
	defer func() { _ = k.Close() }()
	light, _, err := k.GetIntegerValue("SystemUsesLightTheme")
	return err != nil || light == 0
}

// missing is empty: Windows always has a notification area.
func missing() (why, advice string) { return "", "" }
