package app

import (
	"log/slog"
	"os/exec"

	"breakwater/proxy/control"
)

const (
	name = "Breakwater"
	// id is the name of the desktop entry and of the packages.
	id = "io.breakwater.app"
)

// Options is what the desktop needs.
type Options struct {
	// Facade is the product. The desktop is the subscriber that answers its
	// show events.
	Facade control.Facade
	// URL and Token let the window process reach the management API. They are
	// handed over in its environment, never on its command line.
	URL, Token string
	// DataDir is the data folder, which the window process shows.
	DataDir string
	Log     *slog.Logger
	// Window makes the command of the window process. Nil starts this program
	// again as `window PAGE`.
	Window func(page string) *exec.Cmd
	// Show opens the window at Page as soon as the tray stands.
	Show bool
	Page string
}
