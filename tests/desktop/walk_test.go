//go:build linux

package desktop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// walkVar names a folder; with it the walk below is made, on a real panel with
// a real notification server, and its pictures are kept there.
const walkVar = "BREAKWATER_WALK"

// walker goes through the window with the keyboard, as a person does.
type walker struct {
	t      *testing.T
	d      *Desktop
	p      *program
	window string
	folder string
	nth    int
}

// keys presses keys, one after the other.
func (w *walker) keys(keys ...string) {
	w.t.Helper()
	for _, k := range keys {
		if out, err := w.d.Tool("xdotool", "key", "--window", w.window, "--clearmodifiers", k); err != nil {
			w.t.Fatal(out, err)
		}
		<-time.After(120 * time.Millisecond) // the window draws between two keys
	}
}

// write types a text.
func (w *walker) write(s string) {
	w.t.Helper()
	if out, err := w.d.Tool("xdotool", "type", "--window", w.window, "--delay", "25", s); err != nil {
		w.t.Fatal(out, err)
	}
	w.rest()
}

// rest lets the window answer.
func (w *walker) rest() { <-time.After(600 * time.Millisecond) }

// until waits for an effect of the job.
func (w *walker) until(what string, ok func() bool) {
	w.t.Helper()
	if !poll(10*time.Second, ok) {
		w.t.Fatalf("waited in vain for %s", what)
	}
}

// page opens a page by its deep link and gives the window the focus.
func (w *walker) page(link string) {
	w.t.Helper()
	if err := w.p.api.ShowWindow(w.t.Context(), link); err != nil {
		w.t.Fatal(err)
	}
	w.rest()
	if out, err := w.d.Tool("xdotool", "windowactivate", "--sync", w.window); err != nil {
		w.t.Fatal(out, err)
	}
	w.rest()
}

// click presses the first button at a place of the window.
func (w *walker) click(x, y int) {
	w.t.Helper()
	if out, err := w.d.Tool("xdotool", "mousemove", "--window", w.window, fmt.Sprint(x), fmt.Sprint(y), "sleep", "0.2", "click", "1"); err != nil {
		w.t.Fatal(out, err)
	}
	w.rest()
}

// picture keeps how the window looks now.
func (w *walker) picture(name string) {
	w.t.Helper()
	w.rest()
	w.nth++
	w.d.Picture(w.window, filepath.Join(w.folder, fmt.Sprintf("walk-%02d-%s.png", w.nth, name)))
}

// job is one thing that a user wants done.
func (w *walker) job(name string, do func(t *testing.T)) {
	w.t.Run(name, func(t *testing.T) {
		outer := w.t
		w.t = t
		defer func() {
			if t.Failed() {
				w.picture("failed-" + strings.ReplaceAll(name, " ", "-"))
			}
			w.t = outer
			w.keys("Escape")
		}()
		do(t)
	})
}

func TestWalk(t *testing.T) {
	folder := os.Getenv(walkVar)
	if folder == "" {
		t.Skip(walkVar + " names no folder")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	d := realDesktop(t, false, 22)
	p := startProgram(t, d)
	w := &walker{t: t, d: d, p: p, folder: folder, window: d.Window("Breakwater")}
	w.page("overview")
	w.picture("overview")
	w.job("add a connection", w.addsAConnection)
	w.job("toggle it from the tray", w.togglesFromTheTray)
	w.job("clear a cooldown", w.clearsACooldown)
	w.job("edit a rule", w.editsARule)
	w.job("build a combo", w.buildsACombo)
	w.job("read why a request went where it went", w.readsWhy)
	w.job("run a drill", w.runsADrill)
	w.job("set a client up and take it back", w.setsAClientUp)
}

func (w *walker) addsAConnection(t *testing.T) {
	w.page("connections")
	w.keys("ctrl+n")
	w.rest()
	w.write("LM Studio")
	w.keys("Return")
	w.rest()
	w.keys("ctrl+a")
	w.write("Harbour C")
	w.picture("add")
	w.keys("Return")
	w.until("the new connection", func() bool { return w.find("Harbour C") != nil })
	w.picture("added")
	c := w.find("Harbour C")
	if c.Provider != "lmstudio" && c.Provider != "lm-studio" || !c.Active {
		t.Errorf("it is %+v", c)
	}
	if err := w.p.api.DeleteConnection(t.Context(), c.ID); err != nil { // nobody listens there
		t.Error(err)
	}
}

// find returns a connection by its name, nil when there is none.
func (w *walker) find(name string) *control.Connection {
	s, err := w.p.api.Snapshot(context.WithoutCancel(w.t.Context()))
	if err != nil {
		w.t.Fatal(err)
	}
	i := slices.IndexFunc(s.Connections, func(c control.Connection) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Connections[i]
}

// togglesFromTheTray goes through the panel's menu with the arrows.
func (w *walker) togglesFromTheTray(t *testing.T) {
	press := func(keys ...string) {
		for _, k := range keys {
			if out, err := w.d.Tool("xdotool", "key", k); err != nil {
				t.Fatal(out, err)
			}
			<-time.After(200 * time.Millisecond)
		}
	}
	for _, on := range []bool{false, true} {
		w.d.clickTray(t, "3")
		w.rest()
		press("Down", "Right")
		if !on {
			w.d.Picture("root", filepath.Join(w.folder, "walk-tray.png"))
		}
		press("Return")
		if !poll(5*time.Second, func() bool { return w.p.connection(t, first).Active == on }) {
			w.d.Picture("root", filepath.Join(w.folder, "walk-tray-failed.png"))
			t.Fatalf("after a click in the tray %s is active: %v", first, !on)
		}
	}
}

func (w *walker) clearsACooldown(t *testing.T) {
	c := w.p.connection(t, first)
	w.p.demo(t, control.DemoPatch{Faults: []control.Fault{{ConnectionID: c.ID, Kind: "rate_limit", RetryAfterSeconds: 600}}})
	if got := w.p.ask(t); got != second {
		t.Errorf("%q answered", got)
	}
	w.p.demo(t, control.DemoPatch{Faults: []control.Fault{{ConnectionID: c.ID, Kind: "none"}}})
	if s := w.p.connection(t, first).State; s != control.StateCooling {
		t.Fatalf("%s is %s", first, s)
	}
	w.page("cooldowns")
	w.click(500, 178)
	w.picture("cooldowns")
	w.keys("Delete")
	w.until("the cooldown to be cleared", func() bool { return w.p.connection(t, first).State == control.StateServing })
	w.picture("cleared")
}

func (w *walker) editsARule(t *testing.T) {
	w.page("settings/rules")
	w.click(906, 105)
	w.picture("rule")
	w.click(694, 562)
	var rules int
	w.until("the rule to be stored", func() bool {
		g, err := w.p.api.Guide(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rules = len(g.ProviderErrorRules)
		return rules > 0
	})
	w.picture("rule-stored")
}

func (w *walker) buildsACombo(t *testing.T) {
	w.page("combos/add")
	w.write("walk")
	w.keys("Tab", "Tab", "space")
	w.rest()
	w.keys("Down", "Return")
	w.rest()
	w.keys("Tab")
	w.write("claude-sonnet-4-5")
	w.keys("Return")
	w.rest()
	w.picture("combo")
	w.click(776, 608)
	w.until("the combo to be stored", func() bool { return len(w.combos()) == 1 })
	c := w.combos()[0]
	if c.Name != "walk" || len(c.Steps) != 1 || c.Steps[0].Connection == "" {
		t.Errorf("stored %+v", c)
	}
	w.picture("combo-stored")
}

func (w *walker) combos() []control.Combo {
	list, err := w.p.api.Combos(context.WithoutCancel(w.t.Context()))
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *walker) readsWhy(t *testing.T) {
	c := w.p.connection(t, first)
	w.p.demo(t, control.DemoPatch{Faults: []control.Fault{{ConnectionID: c.ID, Kind: "overloaded", Count: 1}}})
	if got := w.p.ask(t); got != second {
		t.Errorf("%q answered", got)
	}
	row := w.p.newest(t)
	var story []string
	for _, s := range row.Trace {
		story = append(story, fmt.Sprintf("%s %s %d", s.ConnectionName, s.Kind, s.Status))
	}
	t.Logf("the story: %s", strings.Join(story, ", "))
	if len(row.Trace) < 2 || row.Trace[0].Kind != control.StepFailed || row.Trace[0].Status != 529 {
		t.Errorf("the trace is %+v", row.Trace)
	}
	w.page(fmt.Sprintf("activity/%d", row.ID))
	w.picture("activity")
	if err := w.p.api.ClearCooldown(t.Context(), c.ID); err != nil && !errors.Is(err, control.ErrNotFound) {
		t.Error(err)
	}
}

func (w *walker) runsADrill(t *testing.T) {
	before, row := w.p.connection(t, first), w.p.newest(t).ID
	w.page("combos/" + w.combos()[0].ID)
	w.click(400, 130)
	w.keys("d")
	w.rest()
	w.click(800, 142)
	w.keys("Down", "Down", "Return")
	w.rest()
	w.picture("drill")
	w.click(850, 624)
	<-time.After(3 * time.Second) // it runs in real time
	w.picture("drill-done")
	after := w.p.connection(t, first)
	if after.State != before.State || after.Served != before.Served || after.Failed != before.Failed || w.p.newest(t).ID != row {
		t.Errorf("the drill touched the real state: %+v, was %+v", after, before)
	}
}

func (w *walker) setsAClientUp(t *testing.T) {
	file := filepath.Join(w.d.Home, ".claude", "settings.json")
	const own = "{\n  \"model\": \"opus\"\n}\n"
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	w.page("settings/clients")
	w.picture("clients")
	w.click(925, 140)
	w.picture("client-asked")
	w.keys("Return")
	written := func() string { b, _ := os.ReadFile(file); return string(b) }
	w.until("the client's settings to be written", func() bool { return strings.Contains(written(), "ANTHROPIC_BASE_URL") })
	w.picture("client-set")
	w.click(925, 140)
	w.until("the client's settings to be as before", func() bool { return written() == own })
	w.picture("client-taken-back")
}
