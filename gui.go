//go:build (cgo || ci) && !nogui

package main

import (
	"context"
	"log/slog"

	"breakwater/app"
	"breakwater/app/windows"
	"breakwater/proxy/control"
)

func init() { desktop = screen{} }

// screen is the desktop part of the program.
type screen struct{}

// Tray shows the tray icon beside the proxy.
func (screen) Tray(ctx context.Context, f control.Facade, url, token string, show bool, log *slog.Logger) error {
	return app.Run(ctx, app.Options{Facade: f, URL: url, Token: token, Log: log, Show: show})
}

// Window shows the main window.
func (screen) Window(ctx context.Context, f control.Facade, page, dataDir string) error {
	return windows.Run(ctx, windows.Options{Facade: f, Page: page, DataDir: dataDir})
}
