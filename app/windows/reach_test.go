//go:build (cgo || ci) && !nogui

package windows

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"breakwater/proxy/client"
)

func TestRefusedTokenIsExplainedForAsLongAsItLasts(t *testing.T) {
	b := newBench(t, "busy", "")
	b.options.Address = "http://127.0.0.1:9999"
	b.known = false
	call(b.ui, func(context.Context) (int, error) { return 0, &client.StatusError{Status: 401, Message: "no"} },
		func(int) { t.Error("it went through") }, nil)
	b.wantShown("The token is refused", "The Breakwater at http://127.0.0.1:9999 refuses this window's token.", "BREAKWATER_TOKEN")
	if b.frame.notice.Visible() {
		t.Error("the cause is also told in passing")
	}
	b.take(b.fake.snap)
	b.wantHidden("refuses this window's token", "The token is refused")
}

func TestMissingTrayIsExplainedUntilDismissed(t *testing.T) {
	b := newBench(t, "busy", "")
	b.wantHidden("This desktop shows no tray icon")
	b.options.NoTray = true
	b.redraw()
	b.wantShown("This desktop shows no tray icon")
	walk(b.frame.hint, func(o fyne.CanvasObject) bool {
		if k, ok := o.(*keyIcon); ok {
			test.Tap(k)
			return true
		}
		return false
	})
	b.redraw()
	b.wantHidden("This desktop shows no tray icon")
}

func TestDemoIsStartedFromTheWelcome(t *testing.T) {
	b := newBench(t, "empty", "")
	b.wantShown("Copies the command.")
	started := 0
	var fail error
	b.options.StartDemo = func(context.Context) error { started++; return fail }
	page := pageOf[*overview](b)
	page.welcome.built = -1
	b.redraw()
	b.wantShown("Opens a window of its own.")
	offers := page.welcome.offers.Objects
	test.Tap(offers[len(offers)-1].(*offer))
	if started != 1 {
		t.Fatal(started, "starts")
	}
	b.wantShown("The demo opens a window of its own.")
	fail = errors.New("the port is taken")
	test.Tap(offers[len(offers)-1].(*offer))
	b.wantShown("The demo did not start: the port is taken")
}

func TestRemarksOfTheToolkitAreKeptBack(t *testing.T) {
	var out bytes.Buffer
	w := Remarks(&out)
	for _, line := range []string{
		"Fyne error:  Preferences load error:\n", "  Cause: EOF\n", "  At: preferences.go:105\n",
		"Fyne error:  window creation error\n", "  Cause: no OpenGL\n", "  At: loop.go:1\n",
		"something else\n",
	} {
		if n, err := w.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := out.String(); strings.Contains(got, "Preferences") || strings.Contains(got, "EOF") ||
		!strings.Contains(got, "window creation error") || !strings.Contains(got, "no OpenGL") || !strings.Contains(got, "something else") {
		t.Errorf("%q", got)
	}
}
