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

// missing says, in words for the log, why no icon is to be seen and what the
// user can do; both are empty when there is no reason. A panel that starts
// later is found by systray.
func missing() (why, advice string) {
	conn, err := dbus.SessionBus() // shared with systray, which closes it
	if err != nil {
		return "there is no D-Bus session bus",
			"start Breakwater once more to open its window"
	}
	var owned bool
	err = conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, "org.kde.StatusNotifierWatcher").Store(&owned)
	if err != nil || owned {
		return "", ""
	}
	return "this desktop shows no StatusNotifier icons",
		"on GNOME install the extension AppIndicator and KStatusNotifierItem Support, " +
			"on sway, i3 and bare window managers snixembed or a panel with a tray; " +
			"or start Breakwater once more to open its window"
}
