//go:build !darwin && !windows

package autostart

import (
	"os"
	"path/filepath"
)

func system() place {
	dir, _ := os.UserConfigDir() // without one the path is refused when it is used
	return file{path: filepath.Join(dir, "autostart", id+".desktop"), render: desktopEntry}
}
