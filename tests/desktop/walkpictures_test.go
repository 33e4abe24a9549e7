//go:build linux

package desktop

import (
	"crypto/sha256"
	"fmt"
	"image"
	_ "image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// TestWalkPictures keeps every page in light and dark, at 100 and 200 %, in
// English, Spanish and Marathi, at three sizes, to be looked at.
func TestWalkPictures(t *testing.T) {
	folder := os.Getenv(walkVar)
	if folder == "" {
		t.Skip(walkVar + " names no folder")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	d := furnished(t, NewLarge(t), false, 22)
	p := startProgram(t, d)
	w := &walker{t: t, d: d, p: p, folder: folder, window: d.Window("Breakwater")}
	w.liven()
	last := ""
	pages := []string{"overview", "connections", "cooldowns", "combos", "activity", "settings/general", "settings/resilience", "demo"}
	for _, lang := range []string{"en", "es", "mr"} {
		for _, theme := range []string{"light", "dark"} {
			for _, scale := range []int{100, 200} {
				if _, err := p.api.EditSettings(t.Context(), control.SettingsPatch{Language: &lang, Theme: &theme, TextScale: &scale}); err != nil {
					t.Fatal(err)
				}
				w.page("overview")
				for _, size := range []image.Point{{760, 520}, {1000, 680}, {1600, 1000}} {
					pixels := size.Mul(scale).Div(100)
					w.resize(pixels)
					for _, page := range pages {
						if err := p.api.ShowWindow(t.Context(), page); err != nil {
							t.Fatal(err)
						}
						name := fmt.Sprintf("%s-%s-%d-%dx%d-%s.png", lang, theme, scale, size.X, size.Y, strings.ReplaceAll(page, "/", "-"))
						file := filepath.Join(folder, name)
						last = w.still(file, last)
						if got := sizeOf(t, file); got != pixels {
							t.Errorf("%s is %v, want %v", name, got, pixels)
						}
					}
				}
			}
		}
	}
}

// resize gives the window a size, again while something takes it back: after
// a change of scale the window sets its own once more.
func (w *walker) resize(size image.Point) {
	w.t.Helper()
	want, same := fmt.Sprintf("WIDTH=%d\nHEIGHT=%d\n", size.X, size.Y), 0
	w.until("a window of "+size.String(), func() bool {
		out, err := w.d.Tool("xdotool", "getwindowgeometry", "--shell", w.window)
		if err == nil && strings.Contains(out, want) {
			same++
			return same > 20
		}
		same = 0
		_, err = w.d.Tool("xdotool", "windowsize", w.window, fmt.Sprint(size.X), fmt.Sprint(size.Y))
		return err != nil
	})
}

// still keeps a picture once the window shows something else than before and
// has come to rest, and returns what it shows. A page that looks like the one
// before is kept after a while all the same.
func (w *walker) still(file, before string) (shown string) {
	w.t.Helper()
	began := time.Now()
	for {
		<-time.After(250 * time.Millisecond)
		w.d.Picture(w.window, file)
		b, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(b))
		if sum == shown && (sum != before || time.Since(began) > 6*time.Second) || time.Since(began) > 15*time.Second {
			return sum
		}
		shown = sum
	}
}

// liven gives the pages something to show: a combo, requests, a cooldown.
func (w *walker) liven() {
	w.t.Helper()
	a, b := w.p.connection(w.t, first), w.p.connection(w.t, second)
	if _, err := w.p.api.AddCombo(w.t.Context(), control.ComboInput{Name: "coding", Steps: []control.ComboStep{
		{Model: a.Provider + "/claude-sonnet-4-5", Connection: a.ID}, {Model: b.Provider + "/claude-sonnet-4-5", Connection: b.ID},
	}}); err != nil {
		w.t.Fatal(err)
	}
	for range 5 {
		w.p.ask(w.t)
	}
	w.p.demo(w.t, control.DemoPatch{Faults: []control.Fault{{ConnectionID: a.ID, Kind: "rate_limit", RetryAfterSeconds: 3000}}})
	w.p.ask(w.t)
}

func sizeOf(t *testing.T, file string) image.Point {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	config, _, err := image.DecodeConfig(f)
	if err != nil {
		t.Fatal(err)
	}
	return image.Pt(config.Width, config.Height)
}
