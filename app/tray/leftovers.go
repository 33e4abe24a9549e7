//go:build cgo || !darwin

package tray

import (
	"crypto/md5" //nolint:gosec // systray names its files by these
	"encoding/hex"
	"os"
	"path/filepath"
	"runtime"

	"breakwater/assets"
)

// removeIconFiles deletes the files by which systray hands our icons to Windows.
// It leaves them in the folder for temporary files; whoever needs one again
// writes it anew.
func removeIconFiles(dir string) {
	if runtime.GOOS != "windows" {
		return
	}
	for _, state := range assets.TrayStates {
		for _, dark := range []bool{true, false} {
			_ = os.Remove(filepath.Join(dir, iconFile(assets.TrayIcon(state, dark)))) // most were never shown
		}
	}
}

// iconFile is the name that systray gives to the file of an icon.
func iconFile(icon []byte) string {
	sum := md5.Sum(icon) //nolint:gosec // see above
	return "systray_temp_icon_" + hex.EncodeToString(sum[:])
}
