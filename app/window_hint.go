package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"breakwater/proxy/folder"
)

// hintFile is an empty file in the data folder: the window has told that the
// desktop shows no tray icon, which is told once.
const hintFile = "tray-hint-shown"

// hintPath is empty without a data folder. The demo has that of the
// installation it belongs to, which its own lies in: it is told once for both.
func (w *window) hintPath() string {
	dir := w.dataDir
	if dir == "" {
		return ""
	}
	if filepath.Base(dir) == demoFolder {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, hintFile)
}

// hinted reports whether the hint was shown before.
func (w *window) hinted() bool {
	path := w.hintPath()
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

// keepHint remembers that it was. Where that cannot be kept it is told again.
func (w *window) keepHint() {
	path := w.hintPath()
	if path == "" {
		return
	}
	if err := folder.Write(path, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Debug("the hint about the tray will be shown again", "error", err)
	}
}
