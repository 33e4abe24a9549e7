//go:build (cgo || ci) && !nogui

package windows

import (
	"os"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"breakwater/proxy/control"
)

func TestSizeAndMotionFollowTheSettings(t *testing.T) {
	t.Setenv(envScale, "") // put back at the end
	b := newBench(t, "busy", pageSettings)
	t.Cleanup(func() { fyne.SetCurrentApp(b.app) })
	p := pageOf[*settings](b).general
	p.scale.SetSelected("150 %")
	if b.fake.settings.TextScale != 150 || os.Getenv(envScale) != "1.50" {
		t.Errorf("150 %%: stored %d, asked for %q", b.fake.settings.TextScale, os.Getenv(envScale))
	}
	test.Tap(p.motion)
	if !b.fake.settings.ReducedMotion || fyne.CurrentApp().Settings().ShowAnimations() {
		t.Error("the widgets still move")
	}
	test.Tap(p.motion)
	if fyne.CurrentApp() != b.app {
		t.Error("the motion did not come back")
	}
	b.wantShown("Keyboard", "Show a page", "Close a dialog")
}

// What the command line or another window changes shows here, too.
func TestSettingsThatOthersChangeAreTakenOver(t *testing.T) {
	b := newBench(t, "busy", pageSettings)
	b.fake.settings.Notifications = false
	b.receive(control.Event{Type: control.EventSettings, Change: &control.Change{To: "settings"}})
	b.wantShown("Breakwater shows no notifications.")
}

// With reduced motion, what counts down does so by ten seconds.
func TestReducedMotionCountsSlowly(t *testing.T) {
	b := newBench(t, "busy", pageConnections)
	var asked time.Duration
	b.after = func(d time.Duration, _ func()) { asked = d }
	b.ticking = false
	b.tick()
	fast := asked
	b.settings.ReducedMotion, b.ticking = true, false
	b.tick()
	if fast > 2*time.Second || asked < 9*time.Second {
		t.Errorf("the window waits %v, with reduced motion %v", fast, asked)
	}
}
