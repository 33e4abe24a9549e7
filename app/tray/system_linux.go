package tray

import (
	"fyne.io/systray"
	"github.com/godbus/dbus/v5"

	"breakwater/assets"
)

// leftClickOpens says whether a click on the icon opens the window; the menu
// is then on the other button.
const leftClickOpens = true

func setIcon(state string) { systray.SetIcon(assets.TrayIcon(state, true)) }

// missing says, in words for the log, why no icon is to be seen, and nothing
// when there is no reason. A panel that starts later is found by systray.
func missing() string {
	conn, err := dbus.SessionBus() // shared with systray, which closes it
	if err != nil {
		return "no tray icon: there is no D-Bus session bus; " +
			"open the window with `breakwater` in a second terminal"
	}
	var owned bool
	err = conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.kde.StatusNotifierWatcher").Store(&owned)
	if err != nil || owned {
		return ""
	}
	return "no tray icon: this desktop shows no StatusNotifier icons. " +
		"On GNOME install the extension AppIndicator and KStatusNotifierItem Support, " +
		"on sway, i3 and other panels snixembed or a panel with a tray. " +
		"Breakwater keeps running; start it once more to open its window"
}
