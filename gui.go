//go:build (cgo || ci) && !nogui

package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"os"

	"breakwater/app"
	"breakwater/app/autostart"
	"breakwater/app/windows"
	"breakwater/db"
	"breakwater/proxy/control"
)

func init() { desktop = screen{} }

// screen is the desktop part of the program.
type screen struct{}

// Tray shows the tray icon beside the proxy.
func (screen) Tray(ctx context.Context, f control.Facade, url, token, dataDir string, show bool, log *slog.Logger) error {
	// The program may have moved since; a demo or a trial has no say in it.
	if self, err := os.Executable(); err == nil && signInArgs(dataDir) == nil {
		if err := autostart.New(self).Refresh(); err != nil {
			log.Warn("the start at sign-in could not be looked at", "error", err)
		}
	}
	return app.Run(ctx, app.Options{Facade: f, URL: url, Token: token, DataDir: dataDir, Log: log, Show: show})
}

// LetRaise lets the window of another process come to front.
func (screen) LetRaise() { app.LetRaise() }

// Fail tells on the desktop that the program cannot start.
func (screen) Fail(err error) error {
	switch {
	case errors.Is(err, db.ErrNewer):
		return app.Fail(app.ReasonNewer)
	case errors.Is(err, db.ErrDamaged):
		return app.Fail(app.ReasonDamaged)
	}
	return app.Fail(app.ReasonOther)
}

// Window shows the main window.
func (screen) Window(ctx context.Context, f control.Facade, url, page, dataDir string) error {
	sqlite, err := db.SQLiteVersion(ctx)
	if err != nil {
		return err
	}
	o := windows.Options{
		Parts:  parts(sqlite),
		Facade: f, Page: page, DataDir: dataDir, Address: url, NoTray: os.Getenv(app.EnvNoTray) != "",
		Ask:       ask(f),
		StartDemo: func(ctx context.Context) error { return app.StartDemo(ctx, dataDir) },
	}
	if self, err := os.Executable(); err == nil {
		o.Autostart = autostart.New(self, signInArgs(dataDir)...)
	}
	if home, err := os.UserHomeDir(); err == nil {
		o.Clients = agentSetup(dataDir, home)
	}
	if os.Getenv(app.EnvURL) != "" {
		o.Address = "" // the tray handed the token over: a person has nothing to mend
		o.Shown = func(number uint64) { app.TellShown(os.Stdout, number) }
	} else {
		// Started by hand: the toolkit's own remarks would only alarm, except
		// why there is no window, which it says before it ends the process.
		log.SetFlags(0)
		log.SetOutput(windows.Remarks(os.Stderr))
	}
	return windows.Run(ctx, o)
}

// signInArgs are the arguments of a start at sign-in: none with the usual data
// folder.
func signInArgs(dataDir string) []string {
	if usual, err := db.DefaultDir(); err == nil && usual == dataDir {
		return nil
	}
	return []string{"--data-dir", dataDir}
}

// ask sends test requests by the way the window takes anyway.
func ask(f control.Facade) func(context.Context, string, string) error {
	if c, ok := f.(interface {
		Ask(ctx context.Context, dialect, model string) error
	}); ok {
		return c.Ask
	}
	return nil
}
