//go:build linux

package desktop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"breakwater/app/autostart"
	"breakwater/app/setup"
	"breakwater/proxy/client"
)

// installedVar says which part of an installed program's life is looked at;
// build/check/deb sets it, and installs, updates and removes in between.
const installedVar = "BREAKWATER_INSTALLED"

// startInstalled starts the demo as a user does, with the data where they are
// without any flag.
func startInstalled(t *testing.T, d *Desktop) *program {
	t.Helper()
	bin := needBinary(t)
	p := &program{d: d, data: filepath.Join(d.Home, ".local", "share", "breakwater")}
	p.Program = d.Start(Command{Path: bin, Args: []string{"--demo", "--port", "0"}})
	d.Eventually("the proxy to serve", func() bool {
		if m := servesAt.FindStringSubmatch(p.Output()); m != nil {
			p.url = m[1]
		}
		return p.url != ""
	})
	token, err := d.Tool(bin, "token", "--demo")
	if err != nil {
		t.Fatalf("token: %v %s", err, token)
	}
	p.api = client.New(p.url, token, client.Options{})
	return p
}

func TestInstalled(t *testing.T) {
	phase := os.Getenv(installedVar)
	if phase == "" {
		t.Skip(installedVar + " is not set: build/check/deb runs this on an installed package")
	}
	d := New(t, true)
	d.Home = os.Getenv("HOME")
	panel := d.Panel()
	p := startInstalled(t, d)
	icon := panel.Icon()
	switch phase {
	case "first":
		icon.UntilText("2 of 2 connections serving")
		if got := p.ask(t); got != first {
			t.Errorf("%q answered, want %q", got, first)
		}
		icon.Click(first, "Use this connection")
		icon.UntilText("1 of 1 connections serving · 1 off")
		if got := p.ask(t); got != second {
			t.Errorf("with %s off %q answered", first, got)
		}
		t.Logf("menu:\n%s", Text(icon.Menu()))
	case "again":
		icon.UntilText("1 of 1 connections serving · 1 off")
		if got := p.ask(t); got != second {
			t.Errorf("after the update %q answered", got)
		}
		setUpAgents(t, d, p)
		startAtSignIn(t)
	default:
		t.Fatalf("%s=%s: want first or again", installedVar, phase)
	}
	icon.Click("Quit")
	if code, err := p.Ended(); err != nil || code != 0 {
		t.Error("quit:", code, err)
	}
}

// setUpAgents points two agents at the program as its window does: one that has
// settings of its own, and one that has none. Removing the package must undo it.
func setUpAgents(t *testing.T, d *Desktop, p *program) {
	t.Helper()
	own := filepath.Join(d.Home, ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("{\n  \"model\": \"mine\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := setup.Setup{Dir: p.data, Home: d.Home, Getenv: func(string) string { return "" }}
	for _, id := range []string{setup.ClaudeCode, setup.Codex} {
		if err := s.Write(id, setup.Target{Endpoint: p.url}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(own)
	if err != nil || !strings.Contains(string(text), p.url) {
		t.Fatalf("the agent was not set up: %s %v", text, err)
	}
}

// startAtSignIn switches the start at sign-in on as the window does. Removing
// the package must undo it, too.
func startAtSignIn(t *testing.T) {
	t.Helper()
	e := autostart.New(needBinary(t))
	if e.Enabled() {
		t.Error("it starts at sign-in without having been told to")
	}
	if err := e.Set(true); err != nil || !e.Enabled() {
		t.Fatal("the start at sign-in cannot be switched on:", err)
	}
}
