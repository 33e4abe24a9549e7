package assets

import "embed"

//go:embed icons/tray/light/*.ico icons/tray/dark/*.ico
var tray embed.FS

// TrayIcon returns the tray icon of a state as Windows wants it, an ICO of five
// sizes, for a dark or a light taskbar.
func TrayIcon(state string, darkPanel bool) []byte {
	if darkPanel {
		return read(tray, "icons/tray/dark/"+state+".ico")
	}
	return read(tray, "icons/tray/light/"+state+".ico")
}
