//go:build linux

package desktop

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// patience is how long the kit waits for something that should happen soon.
const patience = 20 * time.Second

// Desktop is a session of its own: nothing in it reaches the desktop, the home
// directory or the bus of whoever runs the tests. It ends with its test.
type Desktop struct {
	// Bus is the address of the session bus.
	Bus string
	// Display is the X display, empty where there is none.
	Display string
	// Home is the home directory of the programs that run here.
	Home string
	// extra is added to the environment of every program.
	extra []string
	t     testing.TB
}

// New starts a desktop with a bus and, when display is set, an X server. It
// skips the test where a tool is missing.
func New(t testing.TB, display bool) *Desktop {
	t.Helper()
	d := &Desktop{t: t, Home: t.TempDir()}
	d.Need("dbus-daemon")
	d.Bus = d.serve("dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address=1")
	if display {
		d.startX()
	}
	return d
}

// NewWithoutOpenGL starts a desktop whose X server knows no OpenGL.
func NewWithoutOpenGL(t testing.TB) *Desktop {
	t.Helper()
	d := New(t, false)
	d.startX("-extension", "GLX")
	return d
}

// NewLarge starts a desktop whose screen has room for the largest window at
// twice its size.
func NewLarge(t testing.TB) *Desktop {
	t.Helper()
	d := New(t, false)
	d.startX("-screen", "0", "3300x2150x24")
	return d
}

// startX starts an X server. It looks for a free display number and says which
// one it took.
func (d *Desktop) startX(more ...string) {
	d.t.Helper()
	d.Need("Xvfb")
	args := append([]string{"-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"}, more...)
	d.Display = ":" + d.serve("Xvfb", args...)
}

// Need skips the test unless all the tools are installed.
func (d *Desktop) Need(tools ...string) {
	d.t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			d.t.Skipf("%s is not installed", tool)
		}
	}
}

// serve starts a server that tells its address in its first line.
func (d *Desktop) serve(name string, args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), name, args...)
	cmd.Env = d.Env()
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	d.t.Cleanup(func() { end(cmd) })
	first := make(chan string, 1)
	go func() {
		r := bufio.NewReader(out)
		line, _ := r.ReadString('\n')
		first <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, r)
	}()
	select {
	case line := <-first:
		if line == "" {
			d.t.Fatalf("%s ended without telling its address", name)
		}
		return line
	case <-time.After(patience):
		d.t.Fatalf("%s did not start", name)
		return ""
	}
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Env returns the whole environment of a program on this desktop.
func (d *Desktop) Env(more ...string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + d.Home,
		"TMPDIR=" + os.TempDir(),
		"LANG=C.UTF-8",
		"TZ=UTC",
		"XDG_RUNTIME_DIR=" + d.Home,
		"DBUS_SESSION_BUS_ADDRESS=" + d.Bus,
		"LIBGL_ALWAYS_SOFTWARE=1",
		"NO_AT_BRIDGE=1",
		"GORACE=exitcode=0", // races are judged by ourRaces
	}
	if d.Display != "" {
		env = append(env, "DISPLAY="+d.Display)
	}
	return append(append(env, d.extra...), more...)
}

// Connect opens a connection to the session bus.
func (d *Desktop) Connect() *dbus.Conn {
	d.t.Helper()
	conn, err := dbus.Connect(d.Bus)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Tool runs a program of the desktop to its end and returns what it printed.
func (d *Desktop) Tool(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(d.t.Context(), name, args...)
	cmd.Env = d.Env()
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Background starts a program of the desktop, such as a window manager, that
// runs until the test ends.
func (d *Desktop) Background(name string, args ...string) {
	d.t.Helper()
	d.Need(name)
	d.Start(Command{Path: name, Args: args})
}

// Window waits for a visible window by its title and returns its id.
func (d *Desktop) Window(title string) string {
	d.t.Helper()
	d.Need("xdotool")
	var id string
	d.Eventually("a window called "+title, func() bool {
		out, err := d.Tool("xdotool", "search", "--onlyvisible", "--name", "^"+title)
		if fields := strings.Fields(out); err == nil && len(fields) > 0 {
			id = fields[0]
		}
		return id != ""
	})
	return id
}

// Picture saves a PNG of a window, or of the whole screen for "root".
func (d *Desktop) Picture(window, file string) {
	d.t.Helper()
	d.Need("import")
	if out, err := d.Tool("import", "-window", window, file); err != nil {
		d.t.Fatalf("picture of %s: %v %s", window, err, out)
	}
}

// Eventually waits until ok holds.
func (d *Desktop) Eventually(what string, ok func() bool) {
	d.t.Helper()
	if !poll(patience, ok) {
		d.t.Fatalf("waited in vain for %s", what)
	}
}

// Settle waits until value has stayed the same for a while and returns it.
func (d *Desktop) Settle(value func() int) int {
	last, since := value(), time.Now()
	poll(patience, func() bool {
		if v := value(); v != last {
			last, since = v, time.Now()
		}
		return time.Since(since) > 700*time.Millisecond
	})
	return last
}

func poll(limit time.Duration, ok func() bool) bool {
	deadline := time.After(limit)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok() {
			return true
		}
		select {
		case <-deadline:
			return false
		case <-tick.C:
		}
	}
}

// Command is a program to start.
type Command struct {
	Path  string
	Args  []string
	Env   []string // added to the desktop's
	Stdin bool     // keep a pipe to its input open
}

// Program is a program that was started.
type Program struct {
	// In is the program's input, when it was asked for.
	In   io.WriteCloser
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	err  error
}

// Start starts a program on the desktop; it is killed when the test ends. Its
// output is printed when the test fails.
func (d *Desktop) Start(c Command) *Program {
	d.t.Helper()
	p := &Program{log: filepath.Join(d.t.TempDir(), "output.txt"), done: make(chan struct{})}
	file, err := os.Create(p.log)
	if err != nil {
		d.t.Fatal(err)
	}
	p.cmd = exec.CommandContext(d.t.Context(), c.Path, c.Args...)
	p.cmd.Env, p.cmd.Dir = d.Env(c.Env...), d.Home
	p.cmd.Stdout, p.cmd.Stderr = file, file
	if c.Stdin {
		if p.In, err = p.cmd.StdinPipe(); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := p.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	d.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		_ = file.Close()
		for _, report := range ourRaces(p.Output()) {
			d.t.Errorf("a data race:\n%s", report)
		}
		if d.t.Failed() {
			d.t.Logf("output of %s:\n%s", filepath.Base(c.Path), p.Output())
		}
	})
	return p
}

// ourRaces returns the race detector's reports in which code of this module
// takes part. The tray library has races of its own. One of ours is meant: the
// tray takes the click channel from entries that it is about to remove, because
// the library would close it under a click that is just being sent.
func ourRaces(output string) []string {
	var out []string
	for report := range strings.SplitSeq(output, "==================") {
		if strings.Contains(report, "DATA RACE") && strings.Contains(report, "breakwater/") &&
			!strings.Contains(report, "systray.systrayMenuItemSelected") {
			out = append(out, report)
		}
	}
	return out
}

// Pid returns the program's process id.
func (p *Program) Pid() int { return p.cmd.Process.Pid }

// Signal sends a signal to the program.
func (p *Program) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Output returns what the program has printed so far.
func (p *Program) Output() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Ended returns the exit code of the program, waiting for its end.
func (p *Program) Ended() (int, error) {
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		return 0, fmt.Errorf("pid %d still runs", p.Pid())
	}
}
