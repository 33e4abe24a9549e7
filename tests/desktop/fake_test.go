//go:build linux

package desktop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"breakwater/app"
	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
)

// The test binary plays three roles, told apart by this variable: the tests,
// the tray over a facade in memory, and its window process.
const (
	roleVar    = "BREAKWATER_TEST_ROLE"
	roleTray   = "tray"
	roleWindow = "window"
	windowVar  = "BREAKWATER_TEST_WINDOW" // what the window process does
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case roleTray:
		os.Exit(trayRole())
	case roleWindow:
		os.Exit(windowRole())
	}
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// order is one line of the tray role's input.
type order struct {
	Snapshot *control.Snapshot
	Settings *control.SettingsPatch
	Alert    *control.Alert
	Show     *string
	Combos   []string // names of combos to be added
}

// product is a facade in memory that ends its program on Quit.
type product struct {
	*facadetest.Fake
	quit func()
}

func (p product) Quit(context.Context) error {
	p.quit()
	return nil
}

// restingCombo is the id of the combo that has no target to try.
const restingCombo = "resting"

// PreviewCombo knows one combo whose targets all rest.
func (p product) PreviewCombo(ctx context.Context, in control.PreviewRequest) (control.ComboPreview, error) {
	if in.ID == restingCombo {
		return control.ComboPreview{Refusal: "no_targets"}, nil
	}
	return p.Fake.PreviewCombo(ctx, in)
}

func trayRole() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fake := facadetest.New()
	fake.Desktop = true
	p := product{Fake: fake, quit: stop}
	go obey(ctx, fake)
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	err = app.Run(ctx, app.Options{
		Facade: p, URL: "http://127.0.0.1:1", Token: "the-token",
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Window: func(page string) *exec.Cmd {
			cmd := exec.Command(self, "window", page)
			cmd.Env = append(os.Environ(), roleVar+"="+roleWindow)
			cmd.Stdout = os.Stderr // past the log, for the tests to read
			return cmd
		},
	})
	fmt.Println("tray ended:", err)
	return 0
}

func obey(ctx context.Context, fake *facadetest.Fake) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			panic(err)
		}
		switch {
		case o.Snapshot != nil:
			fake.Change(func(s *control.Snapshot) { *s = *o.Snapshot })
		case o.Settings != nil:
			_, _ = fake.EditSettings(ctx, *o.Settings)
		case o.Alert != nil:
			fake.Publish(control.Event{Type: control.EventAlert, Alert: o.Alert})
		case o.Combos != nil:
			for _, name := range o.Combos {
				_, _ = fake.AddCombo(ctx, control.ComboInput{Name: name, Steps: []control.ComboStep{{Model: "openai/gpt-5"}}})
			}
		case o.Show != nil:
			_ = fake.ShowWindow(ctx, *o.Show)
		}
	}
}

// windowRole stands for the window process. It says what it was given and then
// does what the test asked for.
func windowRole() int {
	fmt.Printf("window pid=%d args=%q url=%s token=%s\n",
		os.Getpid(), os.Args[1:], os.Getenv(app.EnvURL), os.Getenv(app.EnvToken))
	switch os.Getenv(windowVar) {
	case "no display":
		fmt.Fprintln(os.Stderr, "upstream said: secret words")
		return app.NoDisplayCode
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // waits without counting as a deadlock
	defer stop()
	<-ctx.Done()
	return 0
}

// rig is the tray role on a private desktop.
type rig struct {
	*Program
	t testing.TB
}

// staged is a tray on a private desktop with a panel.
type staged struct {
	d     *Desktop
	panel *Panel
	notes *Notifications // nil on a desktop that shows none
	r     rig
	icon  *Icon
}

// shown starts a tray, which shows a snapshot unless that is nil.
func shown(t *testing.T, s *control.Snapshot, env ...string) staged {
	t.Helper()
	return stage(staged{d: New(t, false)}, s, env)
}

// heard is the same where notifications are shown, too.
func heard(t *testing.T, s *control.Snapshot, env ...string) staged {
	t.Helper()
	d := New(t, false)
	return stage(staged{d: d, notes: d.Notifications()}, s, env)
}

func stage(st staged, s *control.Snapshot, env []string) staged {
	st.d.t.Helper()
	st.panel = st.d.Panel()
	st.r = startTray(st.d, env...)
	st.icon = st.panel.Icon()
	if s != nil {
		st.r.tell(order{Snapshot: s})
	}
	return st
}

func startTray(d *Desktop, env ...string) rig {
	d.t.Helper()
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	p := d.Start(Command{Path: self, Env: append(env, roleVar+"="+roleTray), Stdin: true})
	return rig{Program: p, t: d.t}
}

func (r rig) tell(o order) {
	r.t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.In.Write(append(b, '\n')); err != nil {
		r.t.Fatal(err)
	}
}
