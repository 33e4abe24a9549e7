//go:build linux

package desktop

import (
	"fmt"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// three is a snapshot with a plain, a Claude and a local connection.
func three() *control.Snapshot {
	return &control.Snapshot{
		Endpoint: "http://127.0.0.1:7411", Health: control.HealthWell,
		Connections: []control.Connection{
			{ID: "a", Provider: "anthropic", ProviderName: "Anthropic", Name: "work_eu", Active: true, State: control.StateServing},
			{ID: "c", Provider: "claude", ProviderName: "Claude", Name: "home", Active: true, Claude: true, State: control.StateServing},
			{ID: "o", Provider: "ollama", ProviderName: "Ollama", Name: "Ollama", Active: true, State: control.StateServing},
		},
	}
}

func in(d time.Duration) *time.Time { return control.RealTime(time.Now().Add(d)) }

func TestTrayShowsAndTogglesConnections(t *testing.T) {
	t.Parallel()
	st := shown(t, three())
	d, panel, icon := st.d, st.panel, st.icon
	icon.UntilText("3 of 3 connections serving")
	d.Eventually("a tooltip", func() bool { return icon.Tooltip() == "Breakwater · 3 of 3 connections serving" })
	if icon.Title() != "Breakwater" {
		t.Errorf("title %q", icon.Title())
	}
	want := `(3 of 3 connections serving)
---
●  Anthropic · work__eu — serving
    [x] Use this connection
    ---
    (Clear cooldown)
    Test now
    Open details
●  Claude · home — serving
    [x] Use this connection
    [ ] Low-priority lane
    [ ] Automatic limit reset
    ---
    (Clear cooldown)
    Test now
    Open details
●  Ollama — serving
    [x] Use this connection
    ---
    (Clear cooldown)
    Test now
    Open details
---
Open Breakwater
Copy endpoint  127.0.0.1:7411
Pause
    For 15 minutes
    For 1 hour
    Until resumed
---
Quit
`
	if got := Text(icon.Menu()); got != want {
		t.Errorf("menu:\n%s\nwant:\n%s", got, want)
	}

	d.Settle(panel.Layouts)
	before := panel.Layouts()
	icon.Click("Ollama", "Use this connection")
	icon.UntilText("○  Ollama — off")
	if cost := d.Settle(panel.Layouts) - before; cost > 4 {
		t.Errorf("one toggle cost %d layout signals; an open menu would flicker", cost)
	}
	icon.Click("Ollama", "Use this connection")
	icon.UntilText("●  Ollama — serving")

	icon.Click("Claude", "Low-priority lane")
	icon.UntilText("[x] Low-priority lane")
	icon.Click("Claude", "Automatic limit reset")
	icon.UntilText("[x] Automatic limit reset")
	icon.Click("Claude", "Use this connection")
	icon.UntilText("[ ] Use this connection")
}

func TestTrayClearsTestsAndPauses(t *testing.T) {
	t.Parallel()
	st := heard(t, nil)
	d, notes, r, icon := st.d, st.notes, st.r, st.icon
	s := three()
	s.Connections[0].State, s.Connections[0].Until = control.StateCooling, in(10*time.Minute)
	r.tell(order{Snapshot: s})
	icon.UntilText("work__eu — cooling 10 min")
	icon.Click("work__eu", "Clear cooldown")
	icon.UntilText("work__eu — serving")

	icon.Click("Ollama", "Test now")
	if n := notes.Wait(1); n.Title != "Test of Ollama" || n.Body == "" {
		t.Errorf("%v", n)
	}
	icon.Click("Ollama", "Open details")
	r.windowPid(d, 1)
	if !strings.Contains(r.Output(), `args=["window" "connections/o"]`) {
		t.Error("the page was not passed on")
	}

	icon.Click("Pause", "For 15 minutes")
	icon.UntilText("Paused until ")
	icon.UntilText("●  Ollama — paused")
	icon.Click("Resume")
	icon.UntilText("●  Ollama — serving")
	icon.Click("Pause", "Until resumed")
	icon.UntilText("Paused, new requests are refused")
}

func TestTrayTellsCooldownsAndBreakersByShape(t *testing.T) {
	t.Parallel()
	st := shown(t, nil)
	d, panel, r, icon := st.d, st.panel, st.r, st.icon
	pictures := map[string]image.Image{}
	keep := func(health control.Health, text string) {
		icon.UntilText(text)
		d.Settle(panel.Redrawn)
		pictures[string(health)] = icon.Picture()
	}
	s := three()
	r.tell(order{Snapshot: s})
	keep(s.Health, "3 of 3 connections serving")

	s.Connections[0].State, s.Connections[0].Until = control.StateCooling, in(4*time.Minute-2*time.Second)
	s.Health = control.HealthTrouble
	r.tell(order{Snapshot: s})
	keep(s.Health, "◔  Anthropic · work__eu — cooling 4 min")

	s = three()
	s.Connections[0].State, s.Health = control.StateDegraded, control.HealthDegraded
	r.tell(order{Snapshot: s})
	keep(s.Health, "◐  Anthropic · work__eu — degraded")

	s.Connections[1].State, s.Connections[1].Until = control.StateOpen, in(50*time.Second)
	s.Breakers = []control.Breaker{{Provider: "gone", ProviderName: "Gone", State: "OPEN", Until: in(90 * time.Second)}}
	r.tell(order{Snapshot: s})
	icon.UntilText("⊘  Claude · home — open, probe in 1 min")
	icon.UntilText("(⊘  Gone — open, probe in 2 min)")

	s = three()
	s.Paused, s.Health = true, control.HealthDown
	r.tell(order{Snapshot: s})
	keep(s.Health, "Paused, new requests are refused")
	icon.UntilText("Resume")

	for a, one := range pictures {
		for b, two := range pictures {
			if a < b && sameInk(one, two) {
				t.Errorf("%s and %s have the same shape", a, b)
			}
		}
	}
}

// sameInk compares two pictures without their colours.
func sameInk(a, b image.Image) bool {
	differ := 0
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			_, _, _, one := a.At(x, y).RGBA()
			_, _, _, two := b.At(x, y).RGBA()
			if (one > 0x7fff) != (two > 0x7fff) {
				differ++
			}
		}
	}
	return differ*50 < a.Bounds().Dx()*a.Bounds().Dy() // under two per cent
}

func TestOneNotificationForWhatBelongsTogether(t *testing.T) {
	t.Parallel()
	st := heard(t, three())
	d, notes, r, icon := st.d, st.notes, st.r, st.icon
	icon.UntilText("3 of 3 connections serving")
	s := three()
	for i := range s.Connections {
		s.Connections[i].State, s.Connections[i].Until, s.Connections[i].Dialects = control.StateCooling, in(time.Minute), []string{"anthropic"}
	}
	s.Connections[0].ProviderName = "A<b>nthropic"
	s.Breakers = []control.Breaker{{Provider: "anthropic", State: "OPEN", Until: in(time.Minute)}}
	r.tell(order{Snapshot: s})
	open := &control.Alert{Kind: control.AlertBreakerOpen, Provider: "anthropic", Until: in(time.Minute)}
	r.tell(order{Alert: open})
	r.tell(order{Alert: &control.Alert{Kind: control.AlertNothingLeft, Dialect: "anthropic", Until: in(time.Minute)}})
	n := notes.Wait(1)
	if n.Title != "No connection available" || !strings.Contains(n.Body, "A&lt;b&gt;nthropic: breaker open") {
		t.Errorf("notification %q %q", n.Title, n.Body)
	}
	if n.App != "Breakwater" || n.Timeout != -1 || n.Hints["image-data"].Value() == nil {
		t.Errorf("app %q timeout %d hints %d", n.App, n.Timeout, len(n.Hints))
	}
	r.tell(order{Alert: open})
	notes.Click(1, "default")
	r.windowPid(d, 1)
	d.Settle(func() int { return len(notes.All()) })
	if all := notes.All(); len(all) != 1 {
		t.Errorf("%d notifications in the first seconds: %v", len(all), all)
	}
}

// TestNotificationsOfEachKind catches on the bus what each kind of alert says,
// where its button leads, and that nothing an upstream wrote is in it.
func TestNotificationsOfEachKind(t *testing.T) {
	t.Parallel()
	st := heard(t, three())
	d, notes, r, icon := st.d, st.notes, st.r, st.icon
	icon.UntilText("3 of 3 connections serving")
	const secret = "sk-ant-secret words of an upstream"
	// Each of a provider of its own: one provider is told once a minute.
	alert := func(p string, a control.Alert) *control.Alert {
		a.Provider, a.ProviderName = p, strings.ToUpper(p)
		if a.Kind != control.AlertBreakerOpen && a.Kind != control.AlertBreakerClosed {
			a.ConnectionID, a.ConnectionName = "id-"+p, "work"
		}
		a.Until = in(time.Minute)
		return &a
	}
	s := three()
	for _, id := range strings.Split("abcdefgh", "") {
		s.Connections = append(s.Connections, control.Connection{
			ID: "id-" + id, Provider: id, ProviderName: strings.ToUpper(id), Name: "work", Active: true, State: control.StateServing,
		})
	}
	s.Breakers = []control.Breaker{{Provider: "a", State: "OPEN", Until: in(time.Minute)}}
	s.Connections[3+2].State = control.StateBanned
	s.Connections[3+3].Lane = &control.ClaudeLane{State: "active", Until: in(time.Minute)}
	s.Combos = []control.ComboBrief{{ID: restingCombo, Name: "fast", Active: true}}
	r.tell(order{Snapshot: s})
	nth := 0
	for _, tt := range []struct {
		alert       *control.Alert
		title, body string
		page        string
	}{
		{alert("a", control.Alert{Kind: control.AlertBreakerOpen}), "A: breaker open", "Next probe in ", "overview"},
		{alert("b", control.Alert{Kind: control.AlertBreakerClosed}), "B serves again", "closed", "overview"},
		{alert("c", control.Alert{Kind: control.AlertTerminal, State: control.StateBanned}), "C · work: banned", "blocked", "connections/id-c"},
		{alert("d", control.Alert{Kind: control.AlertLaneEntered}), "D · work: low-priority lane", "The limit resets in ", "connections/id-d"},
		{alert("e", control.Alert{Kind: control.AlertLaneEnded, Reason: secret}), "E · work: low-priority lane ended", "limit again", "connections/id-e"},
		{alert("f", control.Alert{Kind: control.AlertResetClaimed, Reason: "reset"}), "F · work: limit reset used", "as usual", "connections/id-f"},
		{alert("g", control.Alert{Kind: control.AlertResetUnavailable, Reason: secret}), "G · work: no limit reset", "could not be asked", "connections/id-g"},
		{alert("h", control.Alert{Kind: control.AlertQuotaLow, Window: "session", PercentLeft: new(18)}), "H · work: 18 % of the quota left", "five-hour window", "connections/id-h"},
		{&control.Alert{Kind: control.AlertNothingLeft, Dialect: "chat", Combo: "fast", Until: in(time.Minute)}, "No connection available", "available: fast. The next one is available in ", "cooldowns"},
	} {
		r.tell(order{Alert: tt.alert})
		nth++
		n := notes.Wait(nth)
		t.Logf("%s | %s | %q", n.Title, n.Body, n.Actions)
		if n.Title != tt.title || !strings.Contains(n.Body, tt.body) {
			t.Errorf("%s says %q, %q", tt.alert.Kind, n.Title, n.Body)
		}
		if strings.Contains(n.Title+n.Body, "secret") {
			t.Errorf("%s repeats an upstream: %q", tt.alert.Kind, n.Body)
		}
		if len(n.Actions) != 4 || n.Actions[2] != "open" || n.Timeout != -1 {
			t.Errorf("%s: actions %q, timeout %d", tt.alert.Kind, n.Actions, n.Timeout)
		}
		if nth == 1 {
			notes.Click(1, "open")
			r.windowPid(d, 1)
		}
	}
	if !strings.Contains(r.Output(), `args=["window" "overview"]`) {
		t.Error("the button did not open the page")
	}
}

// TestNotificationsWaitForTheEndOfQuietHours sets quiet hours around this
// moment, then ends them.
func TestNotificationsWaitForTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	st := heard(t, three())
	d, notes, r, icon := st.d, st.notes, st.r, st.icon
	icon.UntilText("3 of 3 connections serving")
	clock := func(d time.Duration) *string { return new(time.Now().Add(d).Format("15:04")) }
	r.tell(order{Settings: &control.SettingsPatch{Notify: &control.NotificationPatch{QuietFrom: clock(-2 * time.Hour), QuietUntil: clock(2 * time.Hour)}}})
	s := three()
	for _, id := range []string{"x", "y", "z"} {
		s.Connections = append(s.Connections, control.Connection{ID: id, Provider: id, ProviderName: strings.ToUpper(id), Name: "work", Active: true, State: control.StateServing})
		s.Breakers = append(s.Breakers, control.Breaker{Provider: id, State: "OPEN"})
	}
	s.Connections[5].State = control.StateExpired
	r.tell(order{Snapshot: s})
	for _, p := range []string{"x", "y"} {
		r.tell(order{Alert: &control.Alert{Kind: control.AlertBreakerOpen, Provider: p, ProviderName: strings.ToUpper(p)}})
	}
	started := time.Now()
	d.Eventually("the moment to pass", func() bool { return time.Since(started) > 2*time.Second })
	if all := notes.All(); len(all) != 0 {
		t.Fatalf("told in quiet hours: %v", all)
	}
	r.tell(order{Settings: &control.SettingsPatch{Notify: &control.NotificationPatch{QuietFrom: new(""), QuietUntil: new(""), Breakers: new(true)}}})
	r.tell(order{Alert: &control.Alert{Kind: control.AlertTerminal, Provider: "z", ProviderName: "Z", ConnectionID: "z", ConnectionName: "work", State: control.StateExpired}})
	if n := notes.Wait(1); n.Title != "In your quiet hours" || n.Body != "X: breaker open\nY: breaker open\nZ · work: expired" {
		t.Errorf("%v", n)
	}
}

func TestNotificationsCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	st := heard(t, three())
	d, notes, r, icon := st.d, st.notes, st.r, st.icon
	icon.UntilText("3 of 3 connections serving")
	r.tell(order{Settings: &control.SettingsPatch{Notifications: new(false)}})
	r.tell(order{Alert: &control.Alert{Kind: control.AlertBreakerOpen, Provider: "x", ProviderName: "X"}})
	// What is off must stay silent past the moment at which it would speak.
	started := time.Now()
	d.Eventually("the moment to pass", func() bool { return time.Since(started) > 2*time.Second })
	if all := notes.All(); len(all) != 0 {
		t.Errorf("%v", all)
	}
	r.tell(order{Settings: &control.SettingsPatch{Notifications: new(true)}})
	r.tell(order{Alert: &control.Alert{Kind: control.AlertBreakerClosed, Provider: "ollama"}})
	if n := notes.Wait(1); n.Title != "Ollama serves again" {
		t.Errorf("%v", n)
	}
}

func TestTrayAppearsOnAPanelThatStartsLater(t *testing.T) {
	t.Parallel()
	d := New(t, false)
	r := startTray(d)
	r.tell(order{Snapshot: three()})
	d.Eventually("a word about the missing tray", func() bool {
		return strings.Contains(r.Output(), "AppIndicator") && strings.Contains(r.Output(), "keeps running")
	})
	icon := d.Panel().Icon()
	icon.UntilText("3 of 3 connections serving")
	if n := strings.Count(r.Output(), "AppIndicator and"); n != 1 {
		t.Errorf("the missing tray was told %d times", n)
	}
}

func TestTrayRunsWithoutABus(t *testing.T) {
	t.Parallel()
	d := New(t, false)
	d.Bus = "unix:path=" + d.Home + "/nobody"
	r := startTray(d)
	d.Eventually("a word about the missing bus", func() bool { return strings.Contains(r.Output(), "no D-Bus session bus") })
	page := "settings"
	d.Eventually("a window process", func() bool { // the stream of events may not be open yet
		r.tell(order{Show: &page})
		return windowLine.MatchString(r.Output())
	})
	if err := r.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := r.Ended(); err != nil || code != 0 {
		t.Fatal(code, err)
	}
}

func TestQuitAndSignalEndTheTrayAndItsWindow(t *testing.T) {
	for name, end := range map[string]func(rig, *Icon){
		"quit":    func(_ rig, i *Icon) { i.Click("Quit") },
		"sigterm": func(r rig, _ *Icon) { _ = r.Signal(syscall.SIGTERM) },
	} {
		for _, manner := range []string{"obedient", "stubborn"} {
			t.Run(name+" with "+manner+" window", func(t *testing.T) {
				st := shown(t, three(), windowVar+"="+manner)
				d, r, icon := st.d, st.r, st.icon
				icon.UntilText("Open Breakwater")
				icon.Click("Open Breakwater")
				pid := r.windowPid(d, 1)
				end(r, icon)
				if code, err := r.Ended(); err != nil || code != 0 {
					t.Fatal(code, err)
				}
				if syscall.Kill(pid, 0) == nil {
					t.Error("the window process is still there")
				}
			})
		}
	}
}

var windowLine = regexp.MustCompile(`window pid=(\d+) args=(.*) url=(.*) token=(.*)`)

// windowPid waits for the nth window process and checks what it was given.
func (r rig) windowPid(d *Desktop, nth int) int {
	r.t.Helper()
	var line []string
	d.Eventually("a window process", func() bool {
		all := windowLine.FindAllStringSubmatch(r.Output(), -1)
		if len(all) >= nth {
			line = all[nth-1]
		}
		return line != nil
	})
	if strings.Contains(line[2], "token") || line[3] != "http://127.0.0.1:1" || line[4] != "the-token" {
		r.t.Errorf("the window process was given %q", line[0])
	}
	pid, err := strconv.Atoi(line[1])
	if err != nil {
		r.t.Fatal(err)
	}
	return pid
}

func TestWindowProcessIsOneAndMayDie(t *testing.T) {
	t.Parallel()
	st := heard(t, three())
	d, panel, notes, r, icon := st.d, st.panel, st.notes, st.r, st.icon
	icon.UntilText("Open Breakwater")
	icon.Activate()
	pid := r.windowPid(d, 1)
	if cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || strings.Contains(string(cmdline), "the-token") {
		t.Errorf("command line %q, %v", cmdline, err)
	}
	icon.Click("Open Breakwater")
	page := "settings"
	r.tell(order{Show: &page})
	r.tell(order{Snapshot: three()})
	d.Settle(panel.Layouts)
	if n := len(windowLine.FindAllString(r.Output(), -1)); n != 1 {
		t.Fatalf("%d window processes", n)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if n := notes.Wait(1); n.Title != "No window" || !strings.Contains(n.Body, "ended from outside") {
		t.Errorf("%v", n)
	}
	icon.UntilText("3 of 3 connections serving")
	r.tell(order{Show: &page})
	if again := r.windowPid(d, 2); again == pid {
		t.Error("the same process id")
	}
	if !strings.Contains(r.Output(), `args=["window" "settings"]`) {
		t.Error("the page was not passed on")
	}
}

func TestTraySaysWhyNoWindowCame(t *testing.T) {
	t.Parallel()
	st := heard(t, nil, windowVar+"=no display")
	notes, r, icon := st.notes, st.r, st.icon
	icon.Until("an entry", func(m []Entry) bool { return len(m) > 0 })
	r.tell(order{Snapshot: three()})
	icon.UntilText("Open Breakwater")
	icon.Click("Open Breakwater")
	n := notes.Wait(1)
	if n.Title != "No window" || !strings.Contains(n.Body, "no OpenGL") || strings.Contains(n.Body, "secret") {
		t.Errorf("%v", n)
	}
}

func TestEndpointIsShownWhereThereIsNoClipboard(t *testing.T) {
	t.Parallel()
	st := heard(t, three())
	notes, icon := st.notes, st.icon
	icon.UntilText("Copy endpoint")
	icon.Click("Copy endpoint")
	if n := notes.Wait(1); n.Body != "http://127.0.0.1:7411" {
		t.Errorf("%v", n)
	}
}

func TestEndpointGoesToTheClipboard(t *testing.T) {
	t.Parallel()
	d := New(t, false)
	panel, notes := d.Panel(), d.Notifications()
	tools, clipboard := t.TempDir(), filepath.Join(d.Home, "clipboard")
	// Like the real one it stays behind to serve what it holds.
	script := "#!/bin/sh\necho \"$@\" >" + clipboard + ".args\ncat >" + clipboard + "\nsleep 5 &\n"
	if err := os.WriteFile(filepath.Join(tools, "xclip"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r := startTray(d, "PATH="+tools+":"+os.Getenv("PATH"), "DISPLAY=:nowhere")
	icon := panel.Icon()
	r.tell(order{Snapshot: three()})
	icon.UntilText("Copy endpoint")
	icon.Click("Copy endpoint")
	d.Eventually("the endpoint on the clipboard", func() bool {
		b, err := os.ReadFile(clipboard)
		return err == nil && string(b) == "http://127.0.0.1:7411"
	})
	if args, err := os.ReadFile(clipboard + ".args"); err != nil || string(args) != "-selection clipboard -in\n" {
		t.Errorf("%q %v", args, err)
	}
	icon.Click("Pause", "Until resumed") // the next click must not wait for the tool left behind
	icon.UntilText("Resume")
	if all := notes.All(); len(all) != 0 {
		t.Errorf("%v", all)
	}
}

func TestManyConnectionsStayUsable(t *testing.T) {
	t.Parallel()
	st := shown(t, nil)
	r, icon := st.r, st.icon
	s := three()
	for n := range 33 {
		s.Connections = append(s.Connections, control.Connection{
			ID: fmt.Sprint("m", n), Provider: "openai", ProviderName: "OpenAI", Name: fmt.Sprintf("key %02d", n),
			Active: true, State: control.StateServing,
		})
	}
	r.tell(order{Snapshot: s})
	icon.UntilText("OpenAI 31–33 — 3 of 3 serving")
	if top := len(icon.Menu()); top > 20 {
		t.Errorf("%d entries at the top", top)
	}
	icon.Click("OpenAI 16–30", "key 20")
	icon.UntilText("OpenAI 16–30 — 14 of 14 serving")
	r.tell(order{Snapshot: three()})
	icon.UntilText("●  Ollama — serving")
}
