//go:build linux

package desktop

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"breakwater/proxy/client"
	"breakwater/proxy/control"
)

// binaryVar names a program that is built already.
const binaryVar = "BREAKWATER_BIN"

// binary returns the program, built once for all tests unless one is named.
var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(binaryVar); path != "" {
		return filepath.Abs(path)
	}
	dir, err := os.MkdirTemp("", "breakwater-desktop-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	path := filepath.Join(dir, "breakwater")
	cmd := exec.Command("go", "build", "-o", path, "breakwater")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

var builtIn string // what TestMain must remove

// program is a running Breakwater with the demo's two simulated connections.
type program struct {
	*Program
	d    *Desktop
	data string
	url  string
	api  *client.Client
}

var servesAt = regexp.MustCompile(`Breakwater serves at (http://\S+)`)

func needBinary(t *testing.T) string {
	t.Helper()
	if os.Getenv(binaryVar) == "" {
		if _, err := exec.LookPath("gcc"); err != nil {
			t.Skip("gcc is not installed and " + binaryVar + " names no program")
		}
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startProgram starts the demo and waits until it serves.
func startProgram(t *testing.T, d *Desktop) *program {
	t.Helper()
	return startProgramIn(t, d, "data")
}

func startProgramIn(t *testing.T, d *Desktop, folder string, flags ...string) *program {
	t.Helper()
	bin := needBinary(t)
	p := &program{d: d, data: filepath.Join(d.Home, folder)}
	p.Program = d.Start(Command{Path: bin, Args: append([]string{"--demo", "--port", "0", "--data-dir", p.data}, flags...)})
	d.Eventually("the proxy to serve", func() bool {
		if m := servesAt.FindStringSubmatch(p.Output()); m != nil {
			p.url = m[1]
		}
		return p.url != ""
	})
	token, err := d.Tool(bin, "token", "--demo", "--data-dir", p.data)
	if err != nil {
		t.Fatalf("token: %v %s", err, token)
	}
	p.api = client.New(p.url, token, client.Options{})
	return p
}

// ask sends one request as a client would and returns the connection that
// answered, empty when none did.
func (p *program) ask(t *testing.T) string {
	t.Helper()
	before := p.newest(t).ID
	body := `{"model":"claude-sonnet-4-5","max_tokens":16,"messages":[{"role":"user","content":"hello"}]}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	var row control.Activity
	p.d.Eventually("the request's row of activity", func() bool {
		row = p.newest(t)
		return row.ID > before
	})
	return row.ConnectionName
}

// newest returns the newest row of activity, empty when there is none.
func (p *program) newest(t *testing.T) control.Activity {
	t.Helper()
	rows, err := p.api.Activity(t.Context(), control.ActivityQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		return control.Activity{}
	}
	return rows[0]
}

func (p *program) connection(t *testing.T, name string) control.Connection {
	t.Helper()
	s, err := p.api.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Connections {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no connection %q", name)
	return control.Connection{}
}

func (p *program) demo(t *testing.T, patch control.DemoPatch) {
	t.Helper()
	if _, err := p.api.EditDemo(t.Context(), patch); err != nil {
		t.Fatal(err)
	}
}

const first, second = "Harbour A", "Harbour B"

func TestProgramToggleTakesAConnectionOutOfRouting(t *testing.T) {
	d := New(t, true)
	panel := d.Panel()
	p := startProgram(t, d)
	icon := panel.Icon()
	icon.UntilText("2 of 2 connections serving")
	if got := p.ask(t); got != first {
		t.Errorf("%q answered, want %q", got, first)
	}
	icon.Click(first, "Use this connection")
	icon.UntilText("○")
	if got := p.ask(t); got != second {
		t.Errorf("with %s off %q answered", first, got)
	}
	icon.Click("Quit")
	if code, err := p.Ended(); err != nil || code != 0 {
		t.Fatal("quit:", code, err)
	}

	again := New(t, true)
	again.Home = d.Home
	panel = again.Panel()
	p = startProgram(t, again)
	panel.Icon().UntilText("1 of 1 connections serving · 1 off")
	if got := p.ask(t); got != second {
		t.Errorf("after a restart %q answered", got)
	}
}

func TestProgramOpenBreakerIsSeenAndTold(t *testing.T) {
	d := New(t, true)
	panel, notes := d.Panel(), d.Notifications()
	p := startProgram(t, d)
	icon := panel.Icon()
	icon.UntilText("2 of 2 connections serving")
	d.Settle(panel.Redrawn)
	well := icon.Picture()

	c := p.connection(t, first)
	if _, err := p.api.EditConnection(t.Context(), c.ID, control.ConnectionPatch{DisableCooling: new(true)}); err != nil {
		t.Fatal(err)
	}
	p.demo(t, control.DemoPatch{Faults: []control.Fault{{ConnectionID: c.ID, Kind: "server_error"}}})
	failures := 0
	for ; failures < 30 && p.connection(t, first).State != control.StateOpen; failures++ {
		p.ask(t)
		p.demo(t, control.DemoPatch{AdvanceMs: 6000})
	}
	t.Logf("the breaker opened after %d failures", failures)
	icon.UntilText("open, probe in ")
	n := notes.Wait(1)
	t.Logf("notification: %s | %s", n.Title, n.Body)
	if !strings.Contains(n.Title, "breaker open") {
		t.Errorf("%+v", n)
	}
	d.Settle(panel.Redrawn)
	if sameInk(well, icon.Picture()) {
		t.Error("the icon kept its shape")
	}
	t.Logf("menu:\n%s", Text(icon.Menu()))

	p.demo(t, control.DemoPatch{Faults: []control.Fault{{ConnectionID: c.ID, Kind: "none"}}, AdvanceMs: 10 * 60_000})
	icon.UntilText("probing")
	p.ask(t)
	icon.UntilText("2 of 2 connections serving")
	icon.Until("a whole arc", func([]Entry) bool { return sameInk(well, icon.Picture()) })
	if all := notes.All(); len(all) != 1 {
		t.Errorf("%d notifications in the first minute: %+v", len(all), all)
	}
}

func TestProgramSecondStartRaisesTheWindow(t *testing.T) {
	d := New(t, true)
	d.Need("xdotool")
	panel, notes := d.Panel(), d.Notifications()
	p := startProgram(t, d)
	icon := panel.Icon()
	icon.UntilText("connections serving")
	start := func() {
		t.Helper()
		s := d.Start(Command{Path: needBinary(t), Args: []string{"--demo", "--port", "0", "--data-dir", p.data}})
		if code, err := s.Ended(); err != nil || code != 0 {
			t.Fatalf("second start: %d %v\n%s", code, err, s.Output())
		}
	}
	start()
	window := d.Window("Breakwater")
	start()
	pid, err := d.Tool("xdotool", "getwindowpid", window)
	if err != nil {
		t.Skipf("the window does not tell its process: %v", err)
	}
	var n int
	if _, err := fmt.Sscan(pid, &n); err != nil || n == p.Pid() {
		t.Fatalf("the window belongs to process %s, the proxy is %d", pid, p.Pid())
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if note := notes.Wait(1); note.Title != "No window" {
		t.Errorf("%+v", note)
	}
	if got := p.ask(t); got != first {
		t.Errorf("after the window was killed %q answered", got)
	}
	icon.Click("Open Breakwater")
	d.Window("Breakwater")
	icon.Click("Quit")
	if code, err := p.Ended(); err != nil || code != 0 {
		t.Fatal("quit:", code, err)
	}
}

// A window that gets no OpenGL ends, every time, and says so; tray and proxy
// stay.
func TestProgramOutlivesAWindowWithoutOpenGL(t *testing.T) {
	d := NewWithoutOpenGL(t)
	panel, notes := d.Panel(), d.Notifications()
	p := startProgram(t, d)
	icon := panel.Icon()
	icon.UntilText("connections serving")
	// The demo shows its window at once.
	for nth := 1; nth <= 2; nth++ {
		if note := notes.Wait(nth); note.Title != "No window" || !strings.Contains(note.Body, "OpenGL") {
			t.Fatalf("%+v", note)
		}
		if got := p.ask(t); got != first {
			t.Errorf("%q answered", got)
		}
		icon.Click("Open Breakwater")
	}
	if note := notes.Wait(3); note.Title != "No window" {
		t.Errorf("%+v", note)
	}
	icon.Click("Quit")
	if code, err := p.Ended(); err != nil || code != 0 {
		t.Fatal("quit:", code, err)
	}
}

func TestProgramWithoutDisplaySaysSo(t *testing.T) {
	d := New(t, false)
	p := d.Start(Command{Path: needBinary(t), Args: []string{"--port", "0", "--data-dir", filepath.Join(d.Home, "data")}})
	if code, err := p.Ended(); err != nil || code != 2 || !strings.Contains(p.Output(), "--headless") {
		t.Errorf("exit %d, %v: %s", code, err, p.Output())
	}
}

func TestProgramEndsOnSigtermAndFindsALatePanel(t *testing.T) {
	d := New(t, true)
	p := startProgram(t, d)
	d.Panel().Icon().UntilText("2 of 2 connections serving")
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code, err := p.Ended(); err != nil || code != 0 {
		t.Fatal(code, err)
	}
}

// idleVar makes the test below measure for a minute.
const idleVar = "BREAKWATER_IDLE"

func TestProgramIsIdleWhenNothingHappens(t *testing.T) {
	if os.Getenv(idleVar) == "" {
		t.Skip(idleVar + " is not set; this takes two minutes")
	}
	d := New(t, true)
	d.Need("xdotool")
	d.Background("openbox") // closes windows as a person does
	panel := d.Panel()
	p := startProgram(t, d)
	icon := panel.Icon()
	icon.UntilText("2 of 2 connections serving")
	p.measure(t, "before any window")

	icon.Click("Open Breakwater")
	window := d.Window("Breakwater")
	pid, err := d.Tool("xdotool", "getwindowpid", window)
	if err != nil {
		t.Fatal(pid, err)
	}
	if out, err := d.Tool("xdotool", "windowactivate", "--sync", window, "key", "alt+F4"); err != nil {
		t.Fatal(out, err)
	}
	d.Eventually("the end of the window process", func() bool {
		_, err := os.Stat("/proc/" + pid)
		return err != nil
	})
	p.measure(t, "after the last window closed")
}

// measure compares a minute in which nothing happens with the limits.
func (p *program) measure(t *testing.T, when string) {
	t.Helper()
	const (
		warmup     = 5 * time.Second
		span       = time.Minute
		maxPercent = 0.1
		maxKiB     = 45 * 1024
	)
	<-time.After(warmup)
	before := usage(t, p.Pid())
	<-time.After(span)
	after := usage(t, p.Pid())
	percent := 100 * (after.cpu - before.cpu).Seconds() / span.Seconds()
	t.Logf("%s: %.3f %% CPU, %d KiB resident", when, percent, after.resident)
	if percent > maxPercent || after.resident > maxKiB {
		t.Errorf("the limits are %.1f %% and %d KiB", maxPercent, maxKiB)
	}
}

type cost struct {
	cpu      time.Duration
	resident int // KiB
}

// usage reads what a process has used so far.
func usage(t *testing.T, pid int) cost {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	const tick = 10 * time.Millisecond // the kernel's USER_HZ is 100 everywhere
	c := cost{cpu: time.Duration(user+system) * tick}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			if _, err := fmt.Sscan(rest, &c.resident); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}
