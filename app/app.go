//go:build cgo || !darwin

package app

import (
	"context"
	"fmt"
	stdlog "log"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"breakwater/app/i18n"
	"breakwater/app/notify"
	"breakwater/app/tray"
	"breakwater/app/tray/menu"
	"breakwater/proxy/control"
)

// Run shows the tray until ctx ends and then ends the window process. It must
// be called on the main goroutine, once per process.
func Run(ctx context.Context, o Options) error {
	if o.Window == nil {
		lasting := context.WithoutCancel(ctx) // the window is asked to end, not killed with ctx
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the program for the window process: %w", err)
		}
		o.Window = func(page string) *exec.Cmd {
			args := []string{"window", page}
			if page == "" {
				args = args[:1]
			}
			return exec.CommandContext(lasting, self, args...)
		}
	}
	// systray and the D-Bus library write to the standard logger; what the user
	// should know of it we say ourselves.
	stdlog.SetFlags(0)
	stdlog.SetOutput(slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug).Writer())
	ctx, stop := context.WithCancel(ctx)
	d := &desk{facade: o.Facade, log: o.Log, updates: make(chan control.Snapshot, 1)}
	d.center = notify.NewCenter(notify.New(name, id, func(page string) { d.open(ctx, page) }), d.wanted(ctx), d.present(ctx), time.Local, o.Log)
	d.window = newWindow(o, d.center.Say)
	d.window.trayless = tray.Missing
	d.window.again = func(page string) { d.show(ctx, page) }
	d.speak(ctx)

	d.work.Go(func() { d.center.Run(ctx) })
	d.work.Go(func() { d.follow(ctx) })
	if o.Show {
		d.window.open(o.Page)
	}
	tray.Run(ctx, tray.Options{
		Title: name, Updates: d.updates, Location: time.Local, Log: o.Log,
		Do:      func(a menu.Action) { d.do(ctx, a) },
		Missing: func() { d.window.open("") }, // one that is there already stays as it is
	})
	stop()
	d.window.close()
	d.work.Wait()
	return nil
}

// desk joins the facade to the tray, the notifications and the window.
type desk struct {
	facade  control.Facade
	log     *slog.Logger
	updates chan control.Snapshot // holds the newest that the tray has not taken
	center  *notify.Center
	window  *window
	work    sync.WaitGroup // what runs beside the tray

	serving  bool   // something could serve at the last snapshot
	language string // as the settings last had it
}

// retry is the pause before a broken event stream is opened again.
const retry = 2 * time.Second

// follow passes events on until ctx ends.
func (d *desk) follow(ctx context.Context) {
	for ctx.Err() == nil {
		events, err := d.facade.Subscribe(ctx)
		if err != nil {
			d.log.Warn("the event stream did not open", "error", err)
		} else {
			for e := range events {
				d.event(ctx, e)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

func (d *desk) event(ctx context.Context, e control.Event) {
	switch e.Type {
	case control.EventSnapshot:
		if e.Snapshot == nil {
			return
		}
		d.speak(ctx)
		serving := anyServing(*e.Snapshot)
		if serving && !d.serving {
			d.center.Recovered()
		}
		d.serving = serving
		offer(d.updates, *e.Snapshot)
	case control.EventAlert:
		if e.Alert != nil {
			d.center.Alert(*e.Alert)
		}
	case control.EventShow:
		d.window.ensure(e.Page, e.Show)
	case control.EventActivity:
	}
}

// anyServing reports whether at least one connection takes requests.
func anyServing(s control.Snapshot) bool {
	for _, c := range s.Connections {
		if c.Active && c.State.Available() {
			return !s.Paused
		}
	}
	return false
}

// offer leaves s as the one value in ch. It has one caller at a time.
func offer(ch chan control.Snapshot, s control.Snapshot) {
	select {
	case <-ch:
	default:
	}
	ch <- s
}

// wanted returns the question which notifications the user wants.
func (d *desk) wanted(ctx context.Context) func() (control.NotificationSettings, bool) {
	return func() (control.NotificationSettings, bool) {
		s, err := d.facade.Settings(ctx)
		return s.Notify, err == nil && s.Notifications
	}
}

// present returns the question how things stand.
func (d *desk) present(ctx context.Context) func() notify.Present {
	return func() notify.Present {
		s, err := d.facade.Snapshot(ctx)
		if err != nil {
			d.log.Warn("the present state is not known, so nothing is reported", "error", err)
		}
		return notify.Present{Snapshot: s, Rests: func(name string) bool {
			for _, c := range s.Combos {
				if c.Name == name {
					return d.rests(ctx, c.ID)
				}
			}
			return false
		}}
	}
}

// rests reports whether the next request for a combo would find no target.
func (d *desk) rests(ctx context.Context, combo string) bool {
	p, err := d.facade.PreviewCombo(ctx, control.PreviewRequest{ID: combo})
	return err == nil && !slices.ContainsFunc(p.Targets, func(t control.PreviewTarget) bool { return t.Usable })
}

// speak follows the language setting.
func (d *desk) speak(ctx context.Context) {
	s, err := d.facade.Settings(ctx)
	if err != nil {
		return
	}
	lang := s.Language
	if lang == "" {
		lang = i18n.Preferred()
	}
	if lang == d.language {
		return
	}
	d.language = lang
	if err := i18n.Use(lang); err != nil {
		d.log.Warn("a translation is damaged", "error", err)
	}
}
