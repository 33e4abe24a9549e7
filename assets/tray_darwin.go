package assets

import "embed"

//go:embed icons/tray/any/*-44.png icons/tray/template/*-44.png
var tray embed.FS

// TrayIcon returns the tray icon of a state as a PNG of 44 pixels, in colours
// that suit light and dark menu bars alike.
func TrayIcon(state string, _ bool) []byte {
	return read(tray, "icons/tray/any/"+state+"-44.png")
}

// TrayTemplate returns the tray icon of a state in black on transparent, which
// macOS tints as the menu bar needs it.
func TrayTemplate(state string) []byte {
	return read(tray, "icons/tray/template/"+state+"-44.png")
}
