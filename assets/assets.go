// Package assets embeds the icons and the translations as bytes.
package assets

import "embed"

// Translations holds i18n/LANG.json: flat objects whose keys are the English
// texts.
//
//go:embed i18n/*.json
var Translations embed.FS

//go:embed icons/app.png icons/app-256.png icons/app-128.png icons/app-64.png
var app embed.FS

// AppIcon returns the program's icon as a PNG of 64, 128, 256 or 512 pixels; nil
// for other sizes.
func AppIcon(size int) []byte {
	name, ok := map[int]string{64: "app-64", 128: "app-128", 256: "app-256", 512: "app"}[size]
	if !ok {
		return nil
	}
	return read(app, "icons/"+name+".png")
}

// TrayStates are the names under which TrayIcon knows the states, the same as
// control.Health has.
var TrayStates = []string{"idle", "well", "degraded", "trouble", "unavailable", "down"}

func read(fs embed.FS, name string) []byte {
	b, err := fs.ReadFile(name)
	if err != nil {
		panic(err) // the file is not embedded: a mistake in the build
	}
	return b
}
