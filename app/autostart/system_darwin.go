package autostart

import (
	"os"
	"path/filepath"
)

func system() place {
	home, _ := os.UserHomeDir() // without one the path is refused when it is used
	return file{path: filepath.Join(home, "Library", "LaunchAgents", id+".plist"), render: launchAgent}
}
