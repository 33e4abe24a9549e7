//go:build linux

package desktop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/client"
	"breakwater/proxy/control"
)

// startEmpty starts the program on a data folder that holds nothing, as its
// first start does.
func startEmpty(t *testing.T, d *Desktop) *program {
	t.Helper()
	bin := needBinary(t)
	p := &program{d: d, data: filepath.Join(d.Home, "data")}
	p.Program = d.Start(Command{Path: bin, Args: []string{"--port", "0", "--data-dir", p.data}})
	d.Eventually("the proxy to serve", func() bool {
		if m := servesAt.FindStringSubmatch(p.Output()); m != nil {
			p.url = m[1]
		}
		return p.url != ""
	})
	token, err := d.Tool(bin, "token", "--data-dir", p.data)
	if err != nil {
		t.Fatalf("token: %v %s", err, token)
	}
	p.api = client.New(p.url, token, client.Options{})
	return p
}

// windowProcess waits for a visible window of a process that differs from the
// one before, and returns the window and its process.
func windowProcess(d *Desktop, before string) (window, pid string) {
	d.t.Helper()
	d.Need("xdotool")
	d.Eventually("a window after that of process "+before, func() bool {
		out, err := d.Tool("xdotool", "search", "--onlyvisible", "--name", "^Breakwater$")
		if err != nil {
			return false
		}
		for id := range strings.FieldsSeq(out) {
			if of, err := d.Tool("xdotool", "getwindowpid", id); err == nil && of != before {
				window, pid = id, of
				return true
			}
		}
		return false
	})
	return window, pid
}

// closeWindow closes a window as its user does, by the window manager.
func closeWindow(d *Desktop, window string) {
	d.t.Helper()
	if out, err := d.Tool("xdotool", "windowactivate", "--sync", window, "key", "alt+F4"); err != nil {
		d.t.Fatal(out, err)
	}
}

// picturesOf keeps a picture of the screen where BREAKWATER_PICTURES asks for it.
func picturesOf(d *Desktop, name string) {
	if dir := os.Getenv("BREAKWATER_PICTURES"); dir != "" {
		d.Picture("root", filepath.Join(dir, name+".png"))
	}
}

func TestFirstStartOpensTheWindow(t *testing.T) {
	for _, tt := range []struct {
		name string
		tray bool
		prep func(*testing.T, *program) // between a first start and the one looked at
		want bool
	}{
		{"with a tray", true, nil, true},
		{"without a tray", false, nil, true},
		{"again while nothing is set up", true, func(*testing.T, *program) {}, true},
		{"a connection is set up", true, func(t *testing.T, p *program) {
			_, err := p.api.AddConnection(t.Context(), control.ConnectionInput{Provider: "ollama"})
			if err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a connection that is switched off", true, func(t *testing.T, p *program) {
			_, err := p.api.AddConnection(t.Context(), control.ConnectionInput{Provider: "ollama", Inactive: true})
			if err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := New(t, true)
			d.Need("xdotool")
			if tt.prep != nil {
				p := startEmpty(t, d)
				icon := d.Panel().Icon()
				icon.UntilText("No connections yet")
				tt.prep(t, p)
				icon.Click("Quit")
				if code, err := p.Ended(); err != nil || code != 0 {
					t.Fatal(code, err)
				}
				home := d.Home
				d = New(t, true)
				d.Home = home
			}
			var panel *Panel
			if tt.tray {
				panel = d.Panel()
			}
			p := startEmpty(t, d)
			if tt.tray {
				panel.Icon().UntilText("Open Breakwater")
			}
			if !tt.want {
				started := time.Now()
				d.Eventually("the moment to pass", func() bool { return time.Since(started) > 3*time.Second })
				if out, err := d.Tool("xdotool", "search", "--onlyvisible", "--name", "^Breakwater"); err == nil && out != "" {
					t.Error("a window opened over an installation that is set up")
				}
				return
			}
			_, pid := windowProcess(d, "")
			if !tt.tray { // nothing opens a second one, or moves the first, once the panel has had its time
				d.Eventually("a word about the missing tray", func() bool { return strings.Contains(logText(p), "there is no tray icon") })
			}
			if out, _ := d.Tool("xdotool", "search", "--onlyvisible", "--name", "^Breakwater$"); len(strings.Fields(out)) != 1 {
				t.Errorf("windows %q, want the one of %s", out, pid)
			}
			picturesOf(d, "first-start-"+strings.ReplaceAll(tt.name, " ", "-"))
		})
	}
}

// logText is what the program printed and wrote into its log.
func logText(p *program) string {
	text := p.Output()
	files, _ := filepath.Glob(filepath.Join(p.data, "*.log"))
	more, _ := filepath.Glob(filepath.Join(p.data, "logs", "*"))
	for _, f := range append(files, more...) {
		if b, err := os.ReadFile(f); err == nil {
			text += string(b)
		}
	}
	return text
}

// The icon of an installation that nobody has touched is neutral: nothing is
// wrong with it.
func TestIconTellsOneRestingFromNothingLeft(t *testing.T) {
	t.Parallel()
	st := shown(t, nil)
	type look struct {
		snap *control.Snapshot
		text string
	}
	bare := &control.Snapshot{Endpoint: "http://127.0.0.1:7411", Health: control.HealthIdle}
	resting := three()
	resting.Health = control.HealthTrouble
	resting.Connections[0].State, resting.Connections[0].Until = control.StateCooling, in(10*time.Minute)
	nothing := three()
	nothing.Health = control.HealthUnavailable
	for i := range nothing.Connections {
		nothing.Connections[i].State, nothing.Connections[i].Until = control.StateCooling, in(10*time.Minute)
	}
	reds := map[string]int{}
	for name, l := range map[string]look{
		"untouched": {bare, "No connections yet"},
		"resting":   {resting, "2 of 3 connections serving"},
		"nothing":   {nothing, "0 of 3 connections serving"},
	} {
		st.r.tell(order{Snapshot: l.snap})
		st.icon.UntilText(l.text)
		st.d.Settle(st.panel.Redrawn)
		img := st.icon.Picture()
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				if r, g, b, a := img.At(x, y).RGBA(); a == 0xffff && r > b+0x2000 {
					reds[name]++
					if name == "untouched" {
						t.Fatalf("a warm colour %x %x %x in the icon of an untouched installation", r, g, b)
					}
				}
			}
		}
	}
	if reds["resting"] == 0 || reds["nothing"] == 0 {
		t.Errorf("warm pixels %v", reds)
	}
}

// rounds is how often the window is closed and opened below.
const rounds = 20

// TestOpenRightAfterClosing asks for the window while that of before is still
// closing, in each way in which one asks.
func TestOpenRightAfterClosing(t *testing.T) {
	d := New(t, true)
	d.Need("xdotool")
	d.Background("openbox") // closes windows as a person does
	panel := d.Panel()
	p := startEmpty(t, d)
	icon := panel.Icon()
	icon.UntilText("No connections yet")
	window, pid := windowProcess(d, "")
	for n := range rounds {
		closeWindow(d, window)
		d.Eventually("the window to close", func() bool {
			out, err := d.Tool("xdotool", "search", "--onlyvisible", "--name", "^Breakwater$")
			return err != nil || out == ""
		})
		wait := time.Duration(n/3) * 20 * time.Millisecond // to meet the end of the process at each stage
		closed := time.Now()
		d.Eventually("the moment", func() bool { return time.Since(closed) >= wait })
		switch n % 3 {
		case 0:
			icon.Activate()
		case 1:
			icon.Click("Open Breakwater")
		case 2:
			if err := p.api.ShowWindow(t.Context(), "settings"); err != nil {
				t.Fatal(err)
			}
		}
		window, pid = windowProcess(d, pid)
	}
	// One that was shown and then closed stays closed.
	if err := p.api.ShowWindow(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	d.Eventually("the window to come to front", func() bool { return time.Since(asked) > 2*time.Second })
	closeWindow(d, window)
	d.Eventually("the end of the window process", func() bool {
		_, err := os.Stat("/proc/" + pid)
		return err != nil
	})
	closed := time.Now()
	d.Eventually("the moment to pass", func() bool { return time.Since(closed) > 3*time.Second })
	if out, err := d.Tool("xdotool", "search", "--onlyvisible", "--name", "^Breakwater$"); err == nil && out != "" {
		t.Error("the window came back although it was closed last")
	}
}
