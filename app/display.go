package app

import (
	"errors"
	"runtime"
)

// ErrNoDisplay is returned by CheckDisplay where no window could be opened.
var ErrNoDisplay = errors.New("there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set; start with --headless to run without tray and windows")

// CheckDisplay reports whether this process has a desktop to show a tray on.
func CheckDisplay(getenv func(string) string) error {
	return checkDisplay(runtime.GOOS, getenv)
}

func checkDisplay(goos string, getenv func(string) string) error {
	if goos == "windows" || goos == "darwin" || getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "" {
		return nil
	}
	return ErrNoDisplay
}
