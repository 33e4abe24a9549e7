//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"breakwater/app/setup"
)

// noon is when the tests happen: a Wednesday.
var noon = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

// bench is a window over a fake facade, with everything on one goroutine and
// time standing still.
type bench struct {
	*ui
	t     *testing.T
	fake  *fake
	clock time.Time
	later []func() // what was asked to run later
	env   map[string]string
	stop  context.CancelFunc
}

func newBench(t *testing.T, state, page string) *bench {
	t.Helper()
	local := time.Local
	time.Local = time.UTC
	a, home := test.NewTempApp(t), t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	b := &bench{t: t, fake: newFake(state, noon), clock: noon, env: map[string]string{}, stop: stop}
	b.fake.settings.Theme, b.fake.settings.Language = "light", "en"
	b.ui = newUI(ctx, a, Options{Facade: b.fake, Theme: "light", Language: "en", DataDir: "/home/you/.local/share/breakwater", Clients: setup.Setup{Dir: home + "/data", Home: home, Getenv: func(string) string { return "" }}})
	b.now = func() time.Time { return b.clock }
	b.do = func(f func()) { f() }
	b.spawn = func(f func()) { f() }
	b.after = func(_ time.Duration, f func()) { b.later = append(b.later, f) }
	b.getenv = func(name string) string { return b.env[name] }
	b.loadSettings()
	b.loadProviders()
	b.take(b.fake.snap)
	b.loadActivity()
	if page != "" {
		b.goTo(page)
	}
	t.Cleanup(func() {
		stop()
		modals = nil
		tips.hide()
		time.Local = local
	})
	b.win.Show()
	return b
}

// sync takes the fake's present state over, as an event would.
func (b *bench) sync() {
	b.clock = b.clock.Add(time.Second)
	b.drawn, b.acted = time.Time{}, b.clock
	b.take(b.fake.snap)
}

// top is what is in front: the topmost dialog, or the window's content.
func (b *bench) top() fyne.CanvasObject {
	if n := len(modals); n > 0 {
		return modals[n-1].box
	}
	return b.win.Content()
}

// walk visits every visible object below o.
func walk(o fyne.CanvasObject, visit func(fyne.CanvasObject) bool) bool {
	if !o.Visible() {
		return false
	}
	if visit(o) {
		return true
	}
	var children []fyne.CanvasObject
	switch c := o.(type) {
	case *fyne.Container:
		children = c.Objects
	case fyne.Widget:
		children = test.WidgetRenderer(c).Objects()
	}
	for _, c := range children {
		if walk(c, visit) {
			return true
		}
	}
	return false
}

// shows reports whether the words are on the screen.
func (b *bench) shows(words string) bool {
	return walk(b.top(), func(o fyne.CanvasObject) bool {
		t, ok := o.(*text)
		return ok && strings.Contains(t.content, words)
	})
}

func (b *bench) wantShown(words ...string) {
	b.t.Helper()
	for _, w := range words {
		if !b.shows(w) {
			b.t.Errorf("%q is not shown; there is:\n%s", w, b.words())
		}
	}
}

func (b *bench) wantHidden(words ...string) {
	b.t.Helper()
	for _, w := range words {
		if b.shows(w) {
			b.t.Errorf("%q is shown", w)
		}
	}
}

// words lists every text on the screen.
func (b *bench) words() string {
	var out []string
	walk(b.top(), func(o fyne.CanvasObject) bool {
		if t, ok := o.(*text); ok && t.content != "" {
			out = append(out, t.content)
		}
		return false
	})
	return strings.Join(out, "\n")
}

// push taps the button with a word.
func (b *bench) push(word string) {
	b.t.Helper()
	found := walk(b.top(), func(o fyne.CanvasObject) bool {
		if x, ok := o.(*button); ok && x.word == word {
			test.Tap(x)
			return true
		}
		return false
	})
	if !found {
		b.t.Fatalf("there is no button %q; there is:\n%s", word, b.words())
	}
}

// pageOf returns the page of a kind.
func pageOf[P page](b *bench) P {
	b.t.Helper()
	for _, p := range b.pages {
		if p, ok := p.(P); ok {
			return p
		}
	}
	b.t.Fatal("no such page")
	panic("unreachable")
}

// connectionsPage returns the page of connections.
func (b *bench) connectionsPage() *connections { return pageOf[*connections](b) }

// line renders the row of one connection as the list would.
func (b *bench) line(id string) *row {
	b.t.Helper()
	p := b.connectionsPage()
	for i, r := range p.rows {
		if r.ID == id {
			o := p.newLine().(*row)
			o.Resize(fyne.NewSize(760, 44))
			p.fill(i, o)
			return o
		}
	}
	b.t.Fatal("no row ", id)
	return nil
}
