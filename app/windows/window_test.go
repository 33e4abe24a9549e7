//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"breakwater/app/windows/view"
	"breakwater/proxy/control"
)

func TestEveryPageRendersAtEverySize(t *testing.T) {
	for _, state := range []string{"busy", "well", "empty", "nothing", "paused", "demo"} {
		t.Run(state, func(t *testing.T) {
			b := newBench(t, state, "")
			for _, p := range b.pages {
				sizes := []fyne.Size{fyne.NewSize(1000, 680)}
				if state == "busy" {
					sizes = []fyne.Size{fyne.NewSize(760, 520), fyne.NewSize(1600, 1000), fyne.NewSize(1000, 680)}
				}
				for _, size := range sizes {
					b.goTo(p.key())
					b.win.Resize(size)
					if got := b.win.Canvas().Capture().Bounds().Dx(); got < 760 {
						t.Fatalf("%s at %v: %d wide", p.key(), size, got)
					}
				}
				if b.words() == "" {
					t.Errorf("%s is empty", p.key())
				}
			}
		})
	}
}

func TestDemoPageComesWithTheDemoOnly(t *testing.T) {
	if n := len(newBench(t, "busy", "").pages); n != 6 {
		t.Error(n, "pages")
	}
	if n := len(newBench(t, "demo", "").pages); n != 7 {
		t.Error(n, "pages in the demo")
	}
}

func TestShowEventSwitchesThePage(t *testing.T) {
	b := newBench(t, "busy", "")
	b.receive(control.Event{Type: control.EventShow, Page: "activity"})
	if b.current.key() != pageActivity {
		t.Fatal(b.current.key())
	}
	b.receive(control.Event{Type: control.EventShow, Page: "connections/c4"})
	b.wantShown("OpenAI · platform: the breaker of OpenAI is open, probe in 40 s.")
	b.receive(control.Event{Type: control.EventShow, Page: "no such page"})
	if b.current.key() != pageOverview {
		t.Error("an unknown page is the first one, not", b.current.key())
	}
	b.receive(control.Event{Type: control.EventShow, Page: "connections/add"})
	b.wantShown("Add a connection")
}

// TestShowEventsAreAnswered follows what the window tells its parent: that it
// reads, what it has shown, and nothing once it is closing.
func TestShowEventsAreAnswered(t *testing.T) {
	b := newBench(t, "busy", "")
	var shown []uint64
	b.options.Shown = func(n uint64) { shown = append(shown, n) }
	b.known = false
	b.receive(control.Event{Type: control.EventSnapshot, Snapshot: &b.fake.snap})
	b.receive(control.Event{Type: control.EventSnapshot, Snapshot: &b.fake.snap})
	b.receive(control.Event{Type: control.EventShow, Page: "activity", Show: 4})
	b.receive(control.Event{Type: control.EventShow, Show: 5})
	if b.current.key() != pageActivity {
		t.Error("a request without a page moved to", b.current.key())
	}
	b.lose()
	b.receive(control.Event{Type: control.EventSnapshot, Snapshot: &b.fake.snap})
	b.stop()
	b.receive(control.Event{Type: control.EventShow, Page: "settings", Show: 6})
	if !slices.Equal(shown, []uint64{0, 4, 5, 0}) {
		t.Errorf("answered %v", shown)
	}
}

func TestStartPageSurvivesTheRebuildForTheDemo(t *testing.T) {
	b := newBench(t, "busy", "")
	b.options.Page = pageDemo
	b.take(newFake("demo", noon).snap)
	if b.current.key() != pageDemo {
		t.Error(b.current.key())
	}
}

func TestOverviewFollowsTheSnapshot(t *testing.T) {
	b := newBench(t, "busy", "")
	b.wantShown("3 of 6 connections are serving", "Claude · work: rate limited, back in 4 min 05 s (Retry-After). Requests go to Anthropic · home.",
		"cooling, 4 min 05 s", "open, probe in 40 s", "no credit", "8/12", "http://127.0.0.1:7411")
	b.fake.calm("well", noon)
	b.sync()
	b.wantShown("All 6 connections are serving", "All closed.")
	b.wantHidden("cooling, 4 min 05 s")
}

func TestNoticesAreShownOnTheOverview(t *testing.T) {
	b := newBench(t, "well", "")
	b.fake.snap.Notices = []control.Notice{{Code: "keychain", Text: "No keychain was found; keys are in an encrypted file."}}
	b.sync()
	b.wantShown("No keychain was found")
	b.fake.snap.Notices = nil
	b.sync()
	b.wantHidden("No keychain was found")
	b.fake.snap.Notices = []control.Notice{{Code: "disk_full", Text: "The disk is full."}}
	b.sync()
	b.wantShown("Changes cannot be saved: the disk is full. Requests go on, but nothing can be changed or recorded until there is free space.")
	spanish := b.settings
	spanish.Language = "es"
	b.useSettings(spanish)
	b.wantShown("No se pueden guardar los cambios: el disco está lleno.")
}

// A new installation that cannot save anything says so above its welcome.
func TestNoticesAreShownWithTheWelcome(t *testing.T) {
	b := newBench(t, "empty", "")
	for code, words := range map[string]string{
		"read_only":     "Changes cannot be saved: the data folder or a file in it cannot be written.",
		"database_busy": "Changes cannot be saved: another program has locked the database.",
		"database_gone": "Changes cannot be saved: the database was moved, deleted or replaced",
	} {
		b.fake.snap.Notices = []control.Notice{{Code: code, Text: "?"}}
		b.sync()
		b.wantShown(words)
		b.fake.snap.Notices = nil
		b.sync()
		b.wantHidden(words)
	}
}

func TestCountdownTicksOnlyWhileSomethingCounts(t *testing.T) {
	b := newBench(t, "busy", "")
	if len(b.later) == 0 {
		t.Fatal("nothing was arranged for the next second")
	}
	b.clock = b.clock.Add(time.Second)
	run := b.later
	b.later = nil
	for _, f := range run {
		f()
	}
	b.wantShown("cooling, 4 min 04 s")
	if len(b.later) != 1 {
		t.Errorf("%d redraws arranged, want 1", len(b.later))
	}
	b.later[0]()
	b.later = nil
	b.ticking = false
	b.goTo(pageSettings)
	if len(b.later) != 0 {
		t.Error("the settings do not count down")
	}
	b = newBench(t, "well", "")
	b.later = nil
	b.redraw()
	if len(b.later) != 0 {
		t.Error("a calm state needs no timer")
	}
}

func TestSnapshotsInARushAreDrawnOnce(t *testing.T) {
	b := newBench(t, "well", "")
	b.later, b.due = nil, time.Time{}
	for range 50 {
		b.take(b.fake.snap)
	}
	if len(b.later) != 1 {
		t.Errorf("%d redraws arranged, want 1", len(b.later))
	}
}

func TestSteadyTrafficIsDrawnNowAndThenAndAnActionAtOnce(t *testing.T) {
	b := newBench(t, "well", "")
	waits := map[time.Duration]func(){}
	b.due, b.acted = time.Time{}, time.Time{}
	b.after = func(d time.Duration, f func()) { waits[d] = f }
	paused := b.fake.snap
	paused.Paused, paused.Health = true, control.HealthDown
	b.clock = b.clock.Add(200 * time.Millisecond)
	b.take(paused)
	if waits[1800*time.Millisecond] == nil {
		t.Fatalf("arranged: %v; want a redraw two seconds after the last", waits)
	}
	b.wantHidden("New requests are refused")
	b.act(func(context.Context) error { return nil }, nil)
	b.wantShown("New requests are refused") // its event came before its answer
	b.clock = b.clock.Add(50 * time.Millisecond)
	b.take(b.fake.snap)
	if waits[50*time.Millisecond] == nil {
		t.Fatalf("arranged: %v; want one soon after the action", waits)
	}
	b.clock = b.clock.Add(50 * time.Millisecond)
	waits[50*time.Millisecond]()
	b.wantHidden("New requests are refused")
	drawn := b.drawn
	b.clock = b.clock.Add(1700 * time.Millisecond)
	waits[1800*time.Millisecond]()
	if b.drawn != drawn {
		t.Error("a redraw that was overtaken is done again")
	}
}

// A page that looks something up at each redraw is drawn no more often for it.
func TestPagesThatLookThingsUpDoNotHurryTheWindow(t *testing.T) {
	for _, c := range []struct{ state, page string }{
		{"well", pageCombos}, {"demo", pageDemo}, {"busy", pageConnections}, {"busy", pageActivity}, {"busy", pageSettings + "/" + sectionLeases},
	} {
		t.Run(c.page, func(t *testing.T) {
			b := newBench(t, c.state, c.page)
			var waits []time.Duration
			b.after = func(d time.Duration, f func()) {
				if waits = append(waits, d); d == drawGather {
					b.clock = b.clock.Add(d)
					f()
				}
			}
			b.due, b.acted = time.Time{}, time.Time{}
			b.clock = b.clock.Add(drawPause)
			b.fake.snap.Seq++
			b.take(b.fake.snap) // is drawn in a moment, and the page looks again
			if b.drawn != b.clock {
				t.Fatal("a calm window is not drawn in a moment")
			}
			waits = nil
			b.clock = b.clock.Add(200 * time.Millisecond)
			b.fake.snap.Seq++
			b.take(b.fake.snap)
			if len(waits) != 1 || waits[0] != drawPause-200*time.Millisecond {
				t.Errorf("arranged: %v; want one redraw two seconds after the last", waits)
			}
		})
	}
}

func TestLostParentShowsABannerUntilItIsBack(t *testing.T) {
	b := newBench(t, "busy", "")
	b.lose()
	b.wantShown("Breakwater is not answering. What you see is from 12:00:00")
	b.sync()
	b.wantHidden("Breakwater is not answering")
	down := b.fake.snap
	down.Health = control.HealthDown
	b.take(down)
	b.wantShown("Breakwater is not answering. What you see is from 12:00:01", "cooling, 4 min 04 s", "as of 12:00:01")
	b.wantHidden("3 of 6 connections are serving") // the title must not say it as if it were so
	b.goTo(pageConnections)
	b.wantShown("as of 12:00:01")
	b.goTo(pageOverview)
	down.Paused = true
	b.take(down)
	b.wantHidden("Breakwater is not answering")
}

func TestLinesAcrossThePageMoveItAside(t *testing.T) {
	b := newBench(t, "busy", pageCooldowns)
	f := b.frame
	top, bottom := f.body.Position().Y, f.body.Position().Y+f.body.Size().Height
	b.lose()
	f.say("That did not work.")
	if got := f.body.Position().Y; got < top+f.banner.MinSize().Height {
		t.Errorf("the banner covers the page: it begins at %v, before at %v", got, top)
	}
	if got := f.body.Position().Y + f.body.Size().Height; got > bottom-f.notice.MinSize().Height {
		t.Errorf("the message covers the page: it ends at %v, before at %v", got, bottom)
	}
	b.sync()
	f.hide(f.notice)
	if f.body.Position().Y != top || f.body.Position().Y+f.body.Size().Height != bottom {
		t.Error("the room is not given back")
	}
}

func TestFollowComesBackAfterABreak(t *testing.T) {
	b := newBench(t, "busy", "")
	pauses := retryPauses
	retryPauses = []time.Duration{time.Microsecond}
	t.Cleanup(func() { retryPauses = pauses })
	n := 0
	b.facade = subscriber{Facade: b.fake, subscribe: func(ctx context.Context) (<-chan control.Event, error) {
		n++
		switch n {
		case 1:
			return nil, errors.New("refused")
		case 2:
			ch := make(chan control.Event)
			close(ch)
			return ch, nil
		default:
			s := b.fake.snap
			ch := make(chan control.Event, 1)
			ch <- control.Event{Type: control.EventSnapshot, Snapshot: &s}
			close(ch)
			b.stop() // the window is closed after this one
			return ch, nil
		}
	}}
	b.follow()
	if n != 3 || !b.lost.IsZero() {
		t.Errorf("%d subscriptions, lost since %v", n, b.lost)
	}
}

type subscriber struct {
	control.Facade
	subscribe func(context.Context) (<-chan control.Event, error)
}

func (s subscriber) Subscribe(ctx context.Context) (<-chan control.Event, error) {
	return s.subscribe(ctx)
}

func TestFailedCallsAreSaidInWords(t *testing.T) {
	b := newBench(t, "busy", "")
	for err, want := range map[error]string{
		context.DeadlineExceeded:                    "did not answer in time",
		control.ErrNotFound:                         "no longer there",
		control.Invalid("name", "taken by %s", "x"): "Not saved. name: taken by x.",
		errors.New("boom"):                          "That did not work: boom",
	} {
		b.fake.refuse = err
		pageOf[*overview](b).pauses().Items[2].Action()
		b.wantShown(want)
	}
}

func TestPauseAndResume(t *testing.T) {
	b := newBench(t, "busy", "")
	b.push("Pause")
	menu := b.win.Canvas().Overlays().Top()
	if menu == nil {
		t.Fatal("no choice of pauses")
	}
	menu.Hide()
	pauses := pageOf[*overview](b).pauses().Items
	pauses[2].Action()
	b.sync()
	b.wantShown("Paused", "New requests are refused until you resume.", "paused")
	b.wantHidden("serving")
	b.push("Resume")
	b.sync()
	pauses[0].Action()
	b.sync()
	b.wantShown("New requests are refused until 12:15, then Breakwater serves again by itself.")
	if !b.fake.did("paused true") || !b.fake.did("paused false") || !b.fake.did("paused for 15m0s") {
		t.Error(b.fake.calls)
	}
}

func TestThemeFollowsTheSettingAndNotTheSystem(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	pageOf[*settings](b).general.theme.choose(2)
	if b.settings.Theme != "dark" {
		t.Fatal(b.settings.Theme)
	}
	for _, v := range []fyne.ThemeVariant{theme.VariantLight, theme.VariantDark} {
		if got := b.app.Settings().Theme().Color(theme.ColorNameBackground, v); got != view.Dark.Page {
			t.Errorf("variant %d: %v", v, got)
		}
	}
	if got := newLook("system").Color(theme.ColorNameForeground, theme.VariantDark); got != view.Dark.Text {
		t.Error("system follows the variant")
	}
}

func TestNoDisplayIsToldBeforeFyneStarts(t *testing.T) {
	none := func(string) string { return "" }
	if hasDisplay(none, "linux") {
		t.Error("linux without DISPLAY has no display")
	}
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY"} {
		if !hasDisplay(func(n string) string { return map[string]string{name: ":0"}[n] }, "freebsd") {
			t.Error(name)
		}
	}
	if !hasDisplay(none, "windows") || !hasDisplay(none, "darwin") {
		t.Error("windows and darwin name none")
	}
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	if err := Run(t.Context(), Options{}); !errors.Is(err, ErrNoDisplay) {
		t.Skip("this system names no display:", err)
	}
}

func TestShortcutsSwitchPagesAndOpenTheDialog(t *testing.T) {
	b := newBench(t, "busy", "")
	press := func(k fyne.KeyName) { b.keyActions()[k]() }
	press(fyne.Key5)
	if b.current.key() != pageActivity {
		t.Error(b.current.key())
	}
	b.goTo(pageSettings)
	b.fields()[0].TypedShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyN, Modifier: fyne.KeyModifierShortcutDefault})
	b.wantShown("Add a connection")
	press(fyne.Key1)
	if b.current.key() != pageConnections {
		t.Error("a page does not change below a dialog:", b.current.key())
	}
	b.win.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if len(modals) != 0 {
		t.Error("Esc closes the dialog from a focused field")
	}
}

func TestOnlyTheAccentAndTheGridAreUsed(t *testing.T) {
	l := newLook("light")
	if l.Color(theme.ColorNamePrimary, theme.VariantDark) != view.Light.Primary || l.Size(theme.SizeNameCardRadius) != 6 {
		t.Error("accent or radius")
	}
	for _, s := range []float32{gapSmall, gap, gapGroup, gapEdge} {
		if int(s)%4 != 0 {
			t.Errorf("%v is off the grid of 4", s)
		}
	}
	test.AssertAllColorNamesDefined(t, l, "look")
}

func TestTextCutsAndWraps(t *testing.T) {
	test.NewTempApp(t).Settings().SetTheme(newLook("light"))
	x := newText("openrouter/qwen/qwen3-coder-480b", view.RoleText).clipped()
	x.Resize(fyne.NewSize(80, 20))
	if got := x.lines()[0]; !strings.HasSuffix(got, "…") || !x.cut() {
		t.Errorf("%q", got)
	}
	x.Resize(fyne.NewSize(400, 20))
	if x.cut() {
		t.Error("it fits now")
	}
	w := newText("one two three four five six seven", view.RoleText).wrapped()
	w.Resize(fyne.NewSize(80, 20))
	low := w.MinSize().Height
	for _, l := range w.lines() {
		if w.measure(l).Width > 80 {
			t.Errorf("%q is wider than its room", l)
		}
	}
	if strings.Join(w.lines(), " ") != w.content {
		t.Errorf("%q", w.lines())
	}
	w.Resize(fyne.NewSize(600, 20))
	if w.MinSize().Height >= low {
		t.Error("a wider text is lower")
	}
}

func TestLongWordsBreakAtTheirJoints(t *testing.T) {
	test.NewTempApp(t).Settings().SetTheme(newLook("light"))
	w := newText("openrouter/qwen/qwen3-coder-480b", view.RoleText).wrapped()
	w.Resize(fyne.NewSize(120, 20))
	if got := w.lines(); len(got) < 2 || got[0] != "openrouter/qwen/" {
		t.Errorf("%q", got)
	}
}

func TestColumnsAreSizedMovedAndRemembered(t *testing.T) {
	b := newBench(t, "busy", pageCombos)
	p := pageOf[*combos](b)
	var head *tableHead
	walk(b.top(), func(o fyne.CanvasObject) bool {
		h, ok := o.(*tableHead)
		if ok {
			head = h
		}
		return ok
	})
	drag := func(from, to float32) {
		head.Dragged(&fyne.DragEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(to, 10)}, Dragged: fyne.NewDelta(to-from, 0)})
		head.DragEnd()
	}
	x, w := p.cols.place(head.Size().Width)
	drag(x[1]+w[1]+4, x[1]+w[1]-46) // the right edge of Name
	if _, now := p.cols.place(head.Size().Width); now[1] != w[1]-50 {
		t.Errorf("Name is %v wide, was %v", now[1], w[1])
	}
	drag(x[3]+20, x[1]+20) // Targets to the place of Name
	if x, _ := p.cols.place(head.Size().Width); x[3] > x[1] {
		t.Errorf("Targets stands at %v, Name at %v", x[3], x[1])
	}
	stored := b.fake.settings.Tables["combos"]
	if len(stored) != 5 || stored[1].Key != "3" || stored[2].Key != "1" || stored[2].Width != w[1]-50 {
		t.Errorf("stored %+v", stored)
	}
	again := columns{list: p.cols.list, gap: p.cols.gap, edge: p.cols.edge}
	again.use(stored)
	if a, _ := again.place(700); func() bool { c, _ := p.cols.place(700); return a[3] != c[3] || a[1] != c[1] }() {
		t.Error("the next window has other columns")
	}
	again.use([]control.TableColumn{{Key: "0"}, {Key: "0"}, {Key: "9"}})
	if again.order != nil {
		t.Error("the columns of another version were taken over")
	}
	again.own = []float32{500, 500, 500, 500, 500}
	if x, w := again.place(600); x[4]+w[4] > 600 {
		t.Errorf("columns that the user made wide run out of a narrow window: %v", x[4]+w[4])
	}
	drag(x[4]+2, x[4]+60) // a column without a title
	if n := len(b.fake.settings.Tables); n != 1 {
		t.Errorf("%d tables are stored", n)
	}
}

func TestColumnsHideByPriority(t *testing.T) {
	c := columns{gap: 10, edge: 5, list: []column{{width: 100, flex: 1}, {width: 50, priority: 1}, {width: 50, priority: 2}}}
	for width, want := range map[float32][3]bool{300: {true, true, true}, 225: {true, true, false}, 160: {true, false, false}, 40: {true, false, false}} {
		x, w := c.place(width)
		if got := [3]bool{w[0] > 0, w[1] > 0, w[2] > 0}; got != want {
			t.Errorf("%v: %v, want %v", width, got, want)
		}
		if width >= 160 && w[0]+x[0] > width {
			t.Errorf("%v: the first column runs out", width)
		}
	}
}
