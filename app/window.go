package app

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"breakwater/app/i18n"
	"breakwater/app/notify"
)

const (
	// NoDisplayCode is the exit code by which the window process says that it
	// cannot open a window here: no display, or no OpenGL.
	NoDisplayCode = 3
	// grace is how long the window process may take to end at quit.
	grace = 2 * time.Second
)

// Environment variables by which the window process is told where the
// management API is. A command line could be read by other users.
const (
	EnvURL   = "BREAKWATER_URL"
	EnvToken = "BREAKWATER_TOKEN"
	// EnvNoTray is set where the desktop shows no tray icon.
	EnvNoTray = "BREAKWATER_NO_TRAY"
)

// window is the window process: at most one at a time.
type window struct {
	command    func(page string) *exec.Cmd
	url, token string
	dataDir    string
	trayless   func() bool       // the desktop shows no tray icon
	again      func(page string) // asks for the window once more
	say        func(notify.Message)
	log        *slog.Logger

	mu      sync.Mutex
	running *exec.Cmd
	ended   chan struct{} // closed when running has ended
	closing bool
	asked   showRequest // the newest
	shown   uint64      // the newest that a window answered
}

func newWindow(o Options, say func(notify.Message)) *window {
	return &window{command: o.Window, url: o.URL, token: o.Token, dataDir: o.DataDir, trayless: func() bool { return false }, again: func(string) {}, say: say, log: o.Log}
}

// open starts the window process at a page. It is false when one is there
// already, which must then be raised.
func (w *window) open(page string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	LetRaise()
	if w.running != nil || w.closing {
		return false
	}
	cmd := w.command(page)
	cmd.Env = append(cmd.Environ(), EnvURL+"="+w.url, EnvToken+"="+w.token)
	if w.dataDir != "" {
		cmd.Env = append(cmd.Env, EnvDataDir+"="+w.dataDir)
	}
	hint := w.trayless() && !w.hinted()
	if hint {
		cmd.Env = append(cmd.Env, EnvNoTray+"=1")
	}
	last := &tail{log: w.log}
	if cmd.Stdout == nil {
		cmd.Stdout = last
	}
	cmd.Stdout = &answers{next: cmd.Stdout, shown: w.answered}
	if cmd.Stderr == nil {
		cmd.Stderr = last
	}
	cmd.WaitDelay = grace // what it left behind may hold its outputs open
	if err := cmd.Start(); err != nil {
		w.log.Warn("the window process did not start", "error", err)
		w.say(failure(i18n.T("The window process could not be started.")))
		return true
	}
	w.running, w.ended, w.shown = cmd, make(chan struct{}), w.asked.number
	go w.wait(cmd, w.ended, last, hint)
	return true
}

// wait notices the end of the window process and says why when it failed.
func (w *window) wait(cmd *exec.Cmd, ended chan<- struct{}, last *tail, hint bool) {
	defer close(ended)
	err := cmd.Wait()
	if hint && err == nil {
		w.keepHint() // the user had it before the eyes
	}
	w.mu.Lock()
	w.running = nil
	closing := w.closing
	missed := w.asked.number > w.shown && time.Since(w.asked.at) < showPatience
	page := w.asked.page
	w.mu.Unlock()
	switch {
	case closing:
		return
	case err == nil && missed:
		w.open(page)
		return
	case err == nil:
		return
	}
	w.log.Warn("the window process failed", "error", err, "output", last.String())
	w.say(failure(reason(err, last.String())))
}

// noWindow is what the window toolkit writes before it ends the process with
// code 1 because it cannot make a window.
const noWindow = "window creation error"

// reason puts the end of the window process into words.
func reason(err error, output string) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case ok && (exit.ExitCode() == NoDisplayCode || exit.ExitCode() == 1 && strings.Contains(output, noWindow)):
		return i18n.T("This display offers no OpenGL, which the window needs. The proxy and the tray keep running.")
	case ok && exit.ExitCode() < 0:
		return i18n.T("The window was ended from outside. The proxy keeps running; open the window again from the tray.")
	case ok:
		return i18n.T("The window ended with code %d. The proxy keeps running; open the window again from the tray.", exit.ExitCode())
	default:
		return i18n.T("The window ended unexpectedly. The proxy keeps running; open the window again from the tray.")
	}
}

func failure(body string) notify.Message {
	return notify.Message{Key: "window", Title: i18n.T("No window"), Body: body}
}

// close ends the window process and lets none begin any more.
func (w *window) close() {
	w.mu.Lock()
	w.closing = true
	cmd, ended := w.running, w.ended
	w.mu.Unlock()
	if cmd == nil {
		return
	}
	if err := terminate(cmd.Process); err != nil {
		w.log.Debug("the window process could not be asked to end", "error", err)
	}
	select {
	case <-ended:
	case <-time.After(grace):
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			w.log.Warn("the window process could not be ended", "error", err)
		}
		<-ended
	}
}

// tail keeps the end of what is written to it. All of it goes to the log at
// its lowest level: it is the window toolkit speaking, seldom to the user.
type tail struct {
	log *slog.Logger
	mu  sync.Mutex
	end []byte
}

const tailSize = 2048

// Write never fails: the window process must not end over its log.
func (t *tail) Write(p []byte) (int, error) {
	if text := strings.TrimSpace(string(p)); text != "" {
		t.log.Debug("the window process says", "text", text)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if n := len(t.end) - tailSize; n > 0 {
		t.end = append(t.end[:0], t.end[n:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}
