//go:build (cgo || ci) && !nogui

package windows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"breakwater/app/setup"
)

func TestAgentsAreSetUpAfterAskingAndTakenBack(t *testing.T) {
	b := newBench(t, "empty", "settings/clients")
	b.wantShown("Claude Code", "Codex", "aider", "opencode", "not set up", "env.ANTHROPIC_BASE_URL = http://127.0.0.1:7411",
		"Makes ~/.codex/config.toml, which is not there yet.")
	p := pageOf[*settings](b).clients
	file := filepath.Join(b.options.Clients.Home, ".codex", "config.toml")
	test.Tap(p.cards[1].write)
	b.wantShown("Set Codex up?", "model_provider = breakwater")
	b.push("Cancel")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("written without asking")
	}
	test.Tap(p.cards[1].write)
	b.push("Set up")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `base_url = "http://127.0.0.1:7411/v1"`) {
		t.Fatal(string(text), err)
	}
	b.wantShown("set up, waiting for its first request", "Start Codex again.")

	row := newFake("busy", b.clock).rows[0]
	row.Client, row.At = setup.Codex, b.clock
	b.activity = append(b.activity, row)
	b.redraw()
	b.wantShown("connected")

	test.Tap(p.cards[1].back)
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there")
	}
	b.wantShown("Codex is no longer set up.")
}

func TestAgentsAreShownOnceTheAddressIsKnown(t *testing.T) {
	b := newBench(t, "busy", "")
	end := b.snap.Endpoint
	b.snap.Endpoint = ""
	b.goTo("settings/clients")
	b.wantHidden("ANTHROPIC_BASE_URL = ")
	b.snap.Endpoint = end
	b.redraw()
	b.wantShown("env.ANTHROPIC_BASE_URL = http://127.0.0.1:7411")
}

func TestAgentsThatCannotBeSetUpSayWhy(t *testing.T) {
	b := newBench(t, "empty", "")
	dir := filepath.Join(b.options.Clients.Home, ".claude")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), []byte("{ // mine\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.goTo("settings/clients")
	b.wantShown("~/.claude/settings.json: the file is not plain JSON, so it is left alone.", "cannot be set up from here")
}

func TestSetUpLinesAreOfferedForEachShell(t *testing.T) {
	b := newBench(t, "busy", "settings/clients")
	c := pageOf[*settings](b).clients.lines
	pick := func(word string) {
		walk(c.shells, func(o fyne.CanvasObject) bool {
			x, ok := o.(*choice)
			if ok {
				x.SetSelected(word)
			}
			return ok
		})
	}
	pick("PowerShell")
	if !strings.HasPrefix(c.line.label.content, "$env:NO_PROXY = ") {
		t.Error(c.line.label.content)
	}
	pick("fish")
	if !strings.HasPrefix(c.line.label.content, "env NO_PROXY=") {
		t.Error(c.line.label.content)
	}
	c.at = 4 // Continue has a file
	c.apply()
	if c.shells.Visible() {
		t.Error("a file needs no shell")
	}
}

func TestWordsSayWhereTheKeysAre(t *testing.T) {
	for in, words := range map[string][4]string{
		"keychain": {"Kept in the system's keychain and never shown again.", "Keys are in the system's keychain.", "encrypted file", "It is kept in the system's keychain."},
		"file":     {"Kept in an encrypted file in the data folder and never shown again.", "Keys are there, too, in an encrypted file.", "keychain", "It is kept in an encrypted file."},
	} {
		t.Run(in, func(t *testing.T) {
			b := newBench(t, "empty", "")
			b.fake.snap.SecretsIn = in
			b.sync()
			b.wantShown("Paste a key from Anthropic. " + words[3])
			b.wantHidden(words[2])
			b.goTo("settings/general")
			b.wantShown(words[1])
			b.wantHidden(words[2])
			b.addDialog("anthropic", nil)
			b.wantShown(words[0])
			b.wantHidden(words[2])
		})
	}
}

// TestFilesThatNeedConsentAreAskedAbout writes to a read-only file, and puts a
// copy back, only after the user agreed.
func TestFilesThatNeedConsentAreAskedAbout(t *testing.T) {
	b := newBench(t, "empty", "")
	file := filepath.Join(b.options.Clients.Home, ".codex", "config.toml")
	put := func(text string, mode os.FileMode) {
		t.Helper()
		_ = os.Remove(file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%q, %v; want %q", text, err, want)
		}
	}
	put("model = \"mine\"\n", 0o400)
	b.goTo("settings/clients")
	p := pageOf[*settings](b).clients
	test.Tap(p.cards[1].write)
	b.push("Set up")
	b.wantShown("~/.codex/config.toml is read-only")
	b.push("Cancel")
	holds("model = \"mine\"\n")
	test.Tap(p.cards[1].write)
	b.push("Set up")
	b.push("Change it")
	holds("base_url")

	put("broken = [", 0o600)
	test.Tap(p.cards[1].back)
	b.wantShown("~/.codex/config.toml cannot be undone", "A copy from before it was set up is kept.")
	b.push("Cancel")
	holds("broken = [")
	test.Tap(p.cards[1].back)
	b.push("Restore the copy")
	holds("model = \"mine\"\n")
	b.wantShown("Codex is no longer set up.", "not set up")
}

// TestAfterUndoThePageSaysNotSetUp also when requests of the agent came before.
func TestAfterUndoThePageSaysNotSetUp(t *testing.T) {
	b := newBench(t, "empty", "settings/clients")
	p := pageOf[*settings](b).clients
	row := newFake("busy", b.clock).rows[0]
	for i, id := range []string{setup.ClaudeCode, setup.Codex, setup.Aider, setup.OpenCode} {
		test.Tap(p.cards[i].write)
		b.push("Set up")
		row.Client, row.At = id, b.clock
		b.activity = append(b.activity, row)
		b.redraw()
		b.wantShown("connected")
		test.Tap(p.cards[i].back)
		b.wantHidden("connected")
	}
}
