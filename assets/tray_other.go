//go:build !windows && !darwin

package assets

import "embed"

//go:embed icons/tray/any/*-64.png
var tray embed.FS

// TrayIcon returns the tray icon of a state as a PNG of 64 pixels. A panel's
// colour cannot be asked for here, so there is one variant that suits light
// and dark ones.
func TrayIcon(state string, _ bool) []byte {
	return read(tray, "icons/tray/any/"+state+"-64.png")
}
