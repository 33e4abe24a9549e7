//go:build cgo || !darwin

package tray

import (
	"context"
	"log/slog"
	"os"
	"time"

	"fyne.io/systray"

	"breakwater/app/tray/menu"
	"breakwater/proxy/control"
)

// Options is what Run needs; every field must be set.
type Options struct {
	// Title is the program's name, as the desktop shows it.
	Title string
	// Updates delivers the snapshots to show. Only the newest matters.
	Updates <-chan control.Snapshot
	// Do is called for each click, one at a time, never on the goroutine that
	// draws. It may block.
	Do func(menu.Action)
	// Location is the zone in which clock times are told.
	Location *time.Location
	// Missing is called once when the desktop shows no tray icon, after a panel
	// that starts with the session has had its time.
	Missing func()
	Log     *slog.Logger
}

// patience is how long a panel may take to come up.
const patience = 4 * time.Second

// Missing reports whether the desktop shows no tray icon at present.
func Missing() bool {
	why, _ := missing()
	return why != ""
}

// watch says once that there is no tray.
func watch(ctx context.Context, o Options) {
	if !Missing() {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(patience):
	}
	if why, advice := missing(); why != "" {
		o.Log.Warn("there is no tray icon; Breakwater keeps running and shows its window", "reason", why, "advice", advice)
		o.Missing()
	}
}

// Run shows the tray until ctx ends. It must be called on the main goroutine,
// once per process: on Windows and macOS it is the native event loop. Where
// the desktop has no tray it says so once in the log and waits for one.
func Run(ctx context.Context, o Options) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := newDesktop(o.Title)
	p := painter{surface: s, loc: o.Location}
	systray.SetTitle(o.Title) // before the start: on Linux it is the item's id, too
	if leftClickOpens {
		systray.SetOnTapped(func() { s.send(menu.Action{Kind: menu.OpenWindow}) })
	}
	started := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-started
		watching := make(chan struct{})
		go func() {
			defer close(watching)
			watch(ctx, o)
		}()
		defer func() { <-watching }()
		p.loop(ctx, o.Updates)
		stop()
		systray.Quit()
	}()
	go s.deliver(ctx, o.Do)
	systray.Run(func() {
		// The first menu is made before a desktop can read it, so that it goes
		// out once and whole.
		p.start()
		close(started)
	}, nil)
	stop() // the system may have ended the loop: a session that closes on Windows
	<-stopped
	removeIconFiles(os.TempDir())
}
