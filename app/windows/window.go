//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/app"

	"breakwater/app/i18n"
	"breakwater/app/setup"
	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

// Options says what the window shows first.
type Options struct {
	Facade control.Facade
	// Page is a page's key, "connections", with an id behind a slash where one
	// thing is meant: "connections/ID", "connections/add", "activity/12".
	Page string
	// Theme is system, light or dark; Language is empty for the system's. Both
	// are replaced by the stored settings once these are known.
	Theme, Language string
	// Title is the window's; empty takes the product's name.
	Title string
	// DataDir is shown in the settings, so that people find their files.
	DataDir string
	// Address is where the Breakwater of this window is expected; it is named
	// when that refuses the token.
	Address string
	// NoTray says that the desktop shows no tray icon, which the window must
	// then explain.
	NoTray bool
	// Shown is called when the window has come to front as the show event of
	// this number asked, and with 0 when it begins to read events; it may be nil.
	Shown func(number uint64)
	// Clients edits the settings of the user's coding agents; without a home
	// folder it is not offered.
	Clients setup.Setup
	// Parts names the libraries that the settings show, with their versions.
	Parts []string
	// Autostart is the start at sign-in; nil where it cannot be set from here.
	Autostart Autostart
	// StartDemo starts a demo beside this Breakwater, with its own data and
	// window; nil where that cannot be done.
	StartDemo func(context.Context) error
	// Ask sends a small request in a dialect, for a model, through the proxy;
	// nil where that cannot be done.
	Ask func(ctx context.Context, dialect, model string) error
}

// Autostart is whether the user's session starts Breakwater.
type Autostart interface {
	Enabled() bool
	Set(on bool) error
}

// ErrNoDisplay tells that there is no screen to open a window on.
var ErrNoDisplay = errors.New("no display: the window needs a graphical session (DISPLAY or WAYLAND_DISPLAY)")

// Run opens the main window and returns when it is closed or ctx ends. It must
// be called on the main goroutine. Without a display it returns ErrNoDisplay;
// without OpenGL Fyne itself ends the process with code 1.
func Run(ctx context.Context, o Options) (err error) {
	if !hasDisplay(os.Getenv, runtime.GOOS) {
		return ErrNoDisplay
	}
	if dir, err := os.UserCacheDir(); err == nil {
		_ = os.MkdirAll(dir, 0o700) // Fyne makes only the last element of its own cache folder
	}
	defer func() {
		if p := recover(); p != nil {
			if strings.Contains(fmt.Sprint(p), "GLFW") || strings.Contains(fmt.Sprint(p), "NotInitialized") {
				err = fmt.Errorf("%w: %v", ErrNoDisplay, p)
				return
			}
			panic(p)
		}
	}()
	life, stop := context.WithCancel(ctx)
	defer stop()
	a := app.NewWithID("io.breakwater.app")
	u := newUI(life, a, o)
	// Once Fyne's loop has ended, what is still under way must not touch it; and
	// a window that is being closed answers no request to show it.
	u.win.SetCloseIntercept(func() { stop(); u.win.Close() })
	u.win.SetOnClosed(stop)
	a.Lifecycle().SetOnStopped(stop)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-ctx.Done():
			fyne.Do(u.win.Close)
		case <-ended:
		}
	}()
	u.begin() //nolint:contextcheck // the window has one life, u.ctx, made from ctx
	// From within the loop: there, a window that gets no OpenGL ends the
	// process; before it, Fyne would go on for ever without a window.
	a.Lifecycle().SetOnStarted(u.win.Show)
	a.Run()
	return nil
}

// hasDisplay reports whether there may be a screen.
func hasDisplay(getenv func(string) string, system string) bool {
	switch system {
	case "windows", "darwin", "ios", "android", "js":
		return true
	}
	return getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != ""
}

// ui is the one main window and what it knows. Its fields are used on the main
// goroutine alone.
type ui struct {
	ctx     context.Context // the life of the window
	app     fyne.App
	win     fyne.Window
	facade  control.Facade
	options Options

	now    func() time.Time
	do     func(func())                // runs a function on the main goroutine
	spawn  func(func())                // runs a function beside it
	after  func(time.Duration, func()) // runs a function on the main goroutine later
	getenv func(string) string

	snap      control.Snapshot
	known     bool // snap is one that came
	lost      time.Time
	refused   bool // the token was not accepted
	settings  control.Settings
	providers []control.Provider
	prices    view.Prices // of the catalogue's models
	activity  []control.Activity
	fresh     []control.Activity // came since the last redraw, which takes them in
	past      bool               // the activity from before is loaded
	hour      view.Hour
	history   view.History // of the breakers
	steps     stepsSeen

	frame   *frame
	pages   []page
	side    []page // those that the rail does not list
	current page
	heads   []*tableHead // that remember their columns
	ticking bool
	stale   bool      // what is shown is older than what is known
	drawn   time.Time // when it was shown last
	due     time.Time // when a redraw that is put off comes
	acted   time.Time // when a person last did something
}

// page is one page of the window.
type page interface {
	key() string
	title() string
	icon() string
	// build makes the content once.
	build() fyne.CanvasObject
	// action is the header's control at the right; it may be nil.
	action() fyne.CanvasObject
	// head is the header's state, title and line.
	head() heading
	// apply shows what the ui knows now.
	apply()
	// open shows one thing of the page.
	open(id string)
}

func newUI(ctx context.Context, a fyne.App, o Options) *ui {
	u := &ui{
		ctx: ctx, app: a, facade: o.Facade, options: o, now: time.Now,
		spawn: func(f func()) { go f() }, getenv: os.Getenv, settings: control.DefaultSettings(),
	}
	u.do = func(f func()) {
		if ctx.Err() == nil {
			fyne.Do(f)
		}
	}
	u.after = func(d time.Duration, f func()) { time.AfterFunc(d, func() { u.do(f) }) }
	if o.Theme != "" {
		u.settings.Theme = o.Theme
	}
	u.settings.Language = o.Language
	if u.options.Shown == nil {
		u.options.Shown = func(uint64) {}
	}
	view.UseHome(o.Clients.Home)
	speakFyne()
	u.useLanguage(o.Language)
	a.Settings().SetTheme(newLook(u.settings.Theme))
	title := o.Title
	if title == "" {
		title = "Breakwater"
	}
	u.win = a.NewWindow(title)
	u.win.SetIcon(appIcon(256))
	u.win.SetPadded(false)
	u.build(o.Page)
	u.win.Resize(fyne.NewSize(1000, 680))
	u.shortcuts() //nolint:contextcheck // see Run
	return u
}

func (u *ui) useLanguage(language string) {
	if language == "" {
		language = i18n.System(os.Getenv)
	}
	_ = i18n.Use(language) // an unknown one gives English
}

// build makes frame and pages, at first and after a change of language.
func (u *ui) build(at string) {
	u.pages = []page{newOverview(u), newConnections(u), newCooldowns(u), newCombos(u), newActivity(u), newSettings(u)}
	if u.snap.Demo {
		u.pages = append(u.pages, newDemo(u))
	}
	u.side = []page{newProvider(u)}
	u.heads = nil
	u.current = nil
	u.frame = newFrame(u)
	u.win.SetContent(u.frame.root)
	u.goTo(at)
}

// goTo switches to the page of a path, "connections/ID"; an unknown page is
// the first.
func (u *ui) goTo(path string) {
	key, id, _ := strings.Cut(strings.Trim(path, "/"), "/")
	next := u.pages[0]
	for _, p := range slices.Concat(u.pages, u.side) {
		if p.key() == key {
			next = p
		}
	}
	tips.hide()
	u.acted = u.now()
	if next != u.current {
		u.current = next
		u.frame.show(next)
	}
	u.redraw()
	if id != "" {
		next.open(id)
	}
}

// goToProvider shows the page of a provider; a breaker's name may have a host
// behind it.
func (u *ui) goToProvider(breaker string) {
	id, _, _ := strings.Cut(breaker, ":")
	u.goTo(pageProviders + "/" + id)
}

// begin loads what the pages need and follows the stream of events.
func (u *ui) begin() {
	u.loadSettings()
	u.loadProviders()
	u.loadActivity()
	u.spawn(func() { u.follow() })
}

func (u *ui) loadSettings() {
	fetch(u, u.facade.Settings, func(s control.Settings) { u.useSettings(s) }, nil)
}

func (u *ui) loadProviders() { u.withProviders(func() {}) }

// withProviders goes on once the catalogue is known.
func (u *ui) withProviders(then func()) {
	if len(u.providers) > 0 {
		then()
		return
	}
	fetch(u, u.facade.Providers, func(p []control.Provider) {
		u.providers, u.prices = p, view.NewPrices(p)
		u.redraw()
		then()
	}, nil)
}

func (u *ui) loadActivity() {
	fetch(u, func(ctx context.Context) ([]control.Activity, error) {
		return u.facade.Activity(ctx, control.ActivityQuery{Limit: 200})
	}, func(list []control.Activity) { u.activity, u.past = list, true; u.redraw() }, nil)
	u.loadHour()
}

// loadHour counts the requests of the last hour; from then on the events do.
func (u *ui) loadHour() {
	now := u.now()
	fetch(u, func(ctx context.Context) (out [view.ChartBars][]control.UsageRow, err error) {
		for i := range out {
			from, to := u.hour.Span(now, i)
			if out[i], err = u.facade.Usage(ctx, control.UsageQuery{Since: from, Until: to}); err != nil {
				return out, err
			}
		}
		return out, nil
	}, func(steps [view.ChartBars][]control.UsageRow) {
		for i, rows := range steps {
			from, _ := u.hour.Span(now, i)
			u.hour.Set(from, rows)
		}
		u.redraw()
	}, func(error) {}) // the page is whole without it, and the next one tells
}

// useSettings takes over stored settings: appearance and language at once.
func (u *ui) useSettings(s control.Settings) {
	old := u.settings
	u.settings = s
	if s.ReducedMotion != old.ReducedMotion {
		useMotion(u.app, s.ReducedMotion)
	}
	if s.Language != old.Language {
		u.useLanguage(s.Language)
	}
	if s.Theme != old.Theme || s.Language != old.Language || s.TextScale != old.TextScale {
		useScale(s.TextScale)
		u.app.Settings().SetTheme(newLook(s.Theme)) // colours, faces and sizes
	}
	if s.Language != old.Language {
		u.build(u.path())
	}
	for _, h := range u.heads {
		h.load()
	}
	u.redraw()
}

// redraw shows the present state on the visible page and starts the countdown
// where something counts down.
func (u *ui) redraw() {
	if u.current == nil {
		return
	}
	u.stale, u.drawn = false, u.now()
	u.activity = view.Merge(u.activity, activityKept, u.fresh...)
	clear(u.fresh)
	u.fresh = u.fresh[:0]
	u.frame.apply()
	u.current.apply()
	u.tick()
}

// tick arranges the next redraw of a countdown, on the next full second.
func (u *ui) tick() {
	now := u.now()
	if u.ticking || !counting(u, now) {
		return
	}
	u.ticking = true
	pace := time.Second
	if u.settings.ReducedMotion {
		pace = 10 * time.Second
	}
	u.after(pace-time.Duration(now.Nanosecond())+5*time.Millisecond, func() {
		u.ticking = false
		if u.ctx.Err() == nil {
			u.redraw()
		}
	})
}
