package setup

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestReplacedKeysAreKeptInTheSecretStore finds no plain copy of a key.
func TestReplacedKeysAreKeptInTheSecretStore(t *testing.T) {
	const secret = "sk-live-0123456789abcdef"
	for id, f := range map[string][2]string{
		ClaudeCode: {claudeFile, `{"env":{"ANTHROPIC_AUTH_TOKEN":"` + secret + `"}}`},
		Aider:      {aiderFile, "openai-api-key: " + secret + "\n"},
		OpenCode:   {openCodeFile, `{"provider":{"openai":{"options":{"apiKey":"` + secret + `"}}}}`},
	} {
		store := vault{}
		s := rig(t, map[string]string{f[0]: f[1]})
		if err := s.Write(id, here); err == nil || s.text(t, f[0]) != f[1] {
			t.Error(id, "was written without a store: ", err)
		}
		s.Secrets = store
		if err := s.Write(id, here); err != nil {
			t.Fatal(err)
		}
		if len(store) != 1 {
			t.Errorf("%s: %d secrets", id, len(store))
		}
		err := filepath.WalkDir(s.Home, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), secret) {
				t.Errorf("%s holds the key", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Secrets = nil
		if _, err := s.Undo(id); err == nil {
			t.Errorf("%s undone without its key", id)
		}
		s.Secrets = store
		if _, err := s.Undo(id); err != nil || s.text(t, f[0]) != f[1] || len(store) != 0 {
			t.Errorf("%s: %v %q, %d secrets", id, err, s.text(t, f[0]), len(store))
		}
	}
}

// TestTwoDataFoldersDoNotTouchEachOther stacks a demo on a product and undoes
// them in both orders.
func TestTwoDataFoldersDoNotTouchEachOther(t *testing.T) {
	for _, c := range clients {
		for _, order := range [][]int{{0, 1, 0}, {1, 0}} {
			s := rig(t, nil)
			s.Secrets = vault{}
			before := map[string]string{ClaudeCode: "{\n  \"model\": \"m\"\n}\n", Codex: "model = \"m\"\n", Aider: "model: m\n", OpenCode: "{}"}[c.id]
			name, _ := filepath.Rel(s.Home, c.path(s.Home, s.Getenv))
			s.put(t, name, before)
			both := []Setup{s, s}
			both[1].Dir = filepath.Join(s.Dir, "demo")
			for i, x := range both {
				if err := x.Write(c.id, Target{Endpoint: []string{"http://127.0.0.1:7411", "http://127.0.0.1:7499"}[i]}); err != nil {
					t.Fatal(err)
				}
			}
			for _, i := range order {
				stacked := s.text(t, name)
				if done, err := both[i].Undo(c.id); err != nil && s.text(t, name) != stacked {
					t.Errorf("%s: %s, %v, and yet it wrote", c.id, done, err)
				}
			}
			if got := s.text(t, name); got != before {
				t.Errorf("%s in order %v: %q", c.id, order, got)
			}
		}
	}
}

// TestWithoutRecordNothingIsWritten damages the record in every way.
func TestWithoutRecordNothingIsWritten(t *testing.T) {
	for name, spoil := range map[string]func(string) string{
		"empty": func(string) string { return "" }, "cut": func(s string) string { return s[:len(s)/2] },
		"a value":     func(s string) string { return strings.Replace(s, "openai", "evil", 1) },
		"other JSON":  func(string) string { return "[]" },
		"no notes":    func(string) string { return `{"codex":{}}` },
		"a later one": func(s string) string { return strings.Replace(s, `"version": 2`, `"version": 3`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := rig(t, map[string]string{codexFile: "model_provider = \"openai\"\n"})
			if err := s.Write(Codex, here); err != nil {
				t.Fatal(err)
			}
			set := s.text(t, codexFile)
			b, _ := os.ReadFile(s.file())
			if err := os.WriteFile(s.file(), []byte(spoil(string(b))), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.UndoAll(nil); !errors.Is(err, errDamaged) {
				t.Error(err)
			}
			if err := s.Write(Codex, Target{Endpoint: "http://127.0.0.1:1"}); !errors.Is(err, errDamaged) {
				t.Error(err)
			}
			if s.text(t, codexFile) != set || s.state(t, Codex).Problem == "" {
				t.Error(s.text(t, codexFile))
			}
			if err := os.Remove(s.file()); err != nil {
				t.Fatal(err)
			}
			if done, err := s.UndoAll(nil); len(done) > 0 || err != nil || s.text(t, codexFile) != set {
				t.Error(done, err)
			}
		})
	}
}

// TestUndoNeedsNoCopy deletes all copies, and leaves files of their name alone.
func TestUndoNeedsNoCopy(t *testing.T) {
	for _, f := range files {
		s := rig(t, map[string]string{f.name: f.before, f.name + ".before-breakwater": "foreign"})
		s.Secrets = vault{}
		if err := s.Write(f.id, here); err != nil {
			t.Fatal(err)
		}
		copies, _ := filepath.Glob(filepath.Join(s.Dir, "*.copy"))
		for _, c := range copies {
			if err := os.Remove(c); err != nil {
				t.Fatal(err)
			}
		}
		if done, err := s.Undo(f.id); err != nil || s.text(t, f.name) != f.before || !strings.HasPrefix(done, "Restored: ") {
			t.Errorf("%s: %s, %v", f.id, done, err)
		}
		if s.text(t, f.name+".before-breakwater") != "foreign" {
			t.Error("a foreign file was touched")
		}
	}
}

// TestReadOnlyFilesAreAskedAbout keeps the mode.
func TestReadOnlyFilesAreAskedAbout(t *testing.T) {
	s := rig(t, map[string]string{codexFile: "model = \"x\"\n"})
	path := filepath.Join(s.Home, codexFile)
	if err := os.Chmod(path, 0o440); err != nil {
		t.Fatal(err)
	}
	if !s.state(t, Codex).ReadOnly {
		t.Error("not shown as read-only")
	}
	for _, do := range []func(...Question) error{
		func(q ...Question) error { return s.Write(Codex, here, q...) },
		func(q ...Question) error { _, err := s.Undo(Codex, q...); return err },
	} {
		before := s.text(t, codexFile)
		q, ok := errors.AsType[*AskError](do())
		if !ok || q.Question != AskReadOnly || s.text(t, codexFile) != before {
			t.Fatal("not asked")
		}
		if err := do(AskReadOnly); err != nil || s.text(t, codexFile) == before {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o440 {
			t.Error(info.Mode(), err)
		}
	}
}

// TestLinksLeadToTheFileThatIsWritten also when nothing is there yet.
func TestLinksLeadToTheFileThatIsWritten(t *testing.T) {
	s := rig(t, map[string]string{"dotfiles/other": "x"})
	link := filepath.Join(s.Home, codexFile)
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../dotfiles/config.toml", link); err != nil {
		t.Skip("no links here: ", err)
	}
	if err := s.Write(Codex, here); err != nil {
		t.Fatal(err)
	}
	if !isLink(link) || !strings.Contains(s.text(t, "dotfiles/config.toml"), "7411") {
		t.Error("the link was replaced")
	}
	if done, err := s.Undo(Codex); err != nil || !strings.HasPrefix(done, "Removed: ") || !isLink(link) {
		t.Error(done, err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(filepath.Join(s.Home, "unmounted/config.toml"), link)); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(Codex, here); err == nil || !isLink(link) {
		t.Error("a link into a missing folder: ", err)
	}
	if p := s.state(t, Codex); p.Problem == "" {
		t.Error("no problem shown")
	}
}

// TestLeftAsItWasOnlyByDigest says so for the former bytes alone.
func TestLeftAsItWasOnlyByDigest(t *testing.T) {
	for text, want := range map[string]string{"model = \"x\"\n": "Left as it was: ", "model = \"y\"\n": "Nothing of Breakwater's is left in ", "": "Nothing of"} {
		s := rig(t, map[string]string{codexFile: "model = \"x\"\n"})
		if err := s.Write(Codex, here); err != nil {
			t.Fatal(err)
		}
		s.put(t, codexFile, text)
		if done, err := s.Undo(Codex); err != nil || !strings.HasPrefix(done, want) || s.text(t, codexFile) != text {
			t.Errorf("%q: %s, %v", text, done, err)
		}
	}
}

// TestFilesThatChangeMeanwhileAreNotOverwritten compares before it swaps.
func TestFilesThatChangeMeanwhileAreNotOverwritten(t *testing.T) {
	s := rig(t, map[string]string{codexFile: "model = \"x\"\n"})
	f, err := load(filepath.Join(s.Home, codexFile))
	if err != nil {
		t.Fatal(err)
	}
	s.put(t, codexFile, "model = \"y\"\n")
	if err := f.replace([]byte("z = 1\n")); !errors.Is(err, errRaced) {
		t.Error(err)
	}
	if err := f.remove(); !errors.Is(err, errRaced) || s.text(t, codexFile) != "model = \"y\"\n" {
		t.Error(err)
	}
	none, err := load(filepath.Join(s.Home, "new.toml"))
	if err != nil {
		t.Fatal(err)
	}
	s.put(t, "new.toml", "")
	if err := none.replace([]byte("z = 1\n")); !errors.Is(err, errRaced) || s.text(t, "new.toml") != "" {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Home, ".codex", ".*")); len(left) > 0 {
		t.Error("left over: ", left)
	}
}

// TestRecordsOfVersionOneAreUndone reads the notes of the first version, whose
// copies lie beside the files.
func TestRecordsOfVersionOneAreUndone(t *testing.T) {
	for id, tc := range map[string]struct{ name, before, now, edits string }{
		Codex: {codexFile, "model_provider = 'openai' # mine\n",
			"model_provider = \"breakwater\"\n\n[model_providers.breakwater]\nname = \"Breakwater\"\nbase_url = \"http://127.0.0.1:7411/v1\"\nwire_api = \"responses\"\n",
			`{"key":"model_provider","had":true,"before":"model_provider = 'openai' # mine","after":"model_provider = \"breakwater\""},{"key":"model_providers.breakwater.name","after":"name = \"Breakwater\""},{"key":"model_providers.breakwater.base_url","after":"base_url = \"http://127.0.0.1:7411/v1\""},{"key":"model_providers.breakwater.wire_api","after":"wire_api = \"responses\""}`},
		ClaudeCode: {claudeFile, `{"env": {"ANTHROPIC_BASE_URL": "https://g.example"}}`, `{"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:7411"}}`,
			`{"key":"env.ANTHROPIC_BASE_URL","had":true,"before":"\"https://g.example\"","after":"\"http://127.0.0.1:7411\""}`},
		Aider: {aiderFile, "model: x\n", "model: x\nopenai-api-base: \"http://127.0.0.1:7411/v1\"\n", `{"key":"openai-api-base","after":"openai-api-base: \"http://127.0.0.1:7411/v1\""}`},
	} {
		for _, copied := range []bool{true, false} {
			s := rig(t, map[string]string{tc.name: tc.now})
			path := filepath.Join(s.Home, tc.name)
			if copied {
				s.put(t, tc.name+".before-breakwater", tc.before)
			}
			s.put(t, "data/clients.json", `{"`+id+`":{"path":`+jsonFormat{}.quote(path)+`,"backup":`+jsonFormat{}.quote(path+".before-breakwater")+`,"sum":"`+sum([]byte(tc.now))+`","edits":[`+tc.edits+`]}}`)
			if p := s.state(t, id); p.State != StateSet {
				t.Error(id, p.State, p.Problem)
			}
			if done, err := s.Undo(id); err != nil || s.text(t, tc.name) != tc.before {
				t.Errorf("%s: %s, %v: %q", id, done, err, s.text(t, tc.name))
			}
			if _, err := os.Stat(path + ".before-breakwater"); err == nil {
				t.Error("the copy that says the same stays")
			}
		}
	}
}

// TestWhatWasSetUpWithoutARecordStays gives back what stood there, even if that
// is this Breakwater's address, and says so.
func TestWhatWasSetUpWithoutARecordStays(t *testing.T) {
	for _, c := range clients {
		s := rig(t, nil)
		name, _ := filepath.Rel(s.Home, c.path(s.Home, s.Getenv))
		if err := s.Write(c.id, here); err != nil {
			t.Fatal(err)
		}
		set := s.text(t, name)
		if err := os.RemoveAll(s.Dir); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(c.id, here); err != nil || s.text(t, name) != set {
			t.Fatal(err)
		}
		if done, err := s.Undo(c.id); err != nil || s.text(t, name) != set || !strings.HasPrefix(done, "Left as it was: ") || !strings.Contains(done, here.Endpoint) {
			t.Errorf("%s: %s, %v\n%s", c.id, done, err, s.text(t, name))
		}
	}
}

// TestCodexProfilesThatBypassAreShown lists profile files with a provider.
func TestCodexProfilesThatBypassAreShown(t *testing.T) {
	s := rig(t, map[string]string{".codex/work.config.toml": "model_provider = \"openai\"\n", ".codex/ok.config.toml": "model = \"x\"\n", ".codex/bad.config.toml": "["})
	if p := s.state(t, Codex); len(p.Bypass) != 1 || p.Bypass[0] != "work" {
		t.Error(p.Bypass)
	}
}

// TestAFileOfOursThatTheUserFilledIsNotRemoved makes the file, lets the user
// write into it, and sets the client up once more before undoing.
func TestAFileOfOursThatTheUserFilledIsNotRemoved(t *testing.T) {
	for _, c := range clients {
		for _, again := range []int{0, 1, 2} {
			s := rig(t, nil)
			name, _ := filepath.Rel(s.Home, c.path(s.Home, s.Getenv))
			if err := s.Write(c.id, here); err != nil {
				t.Fatal(err)
			}
			mine, ok := addUserKey(c, s.text(t, name), "mine")
			if !ok {
				t.Fatal(s.text(t, name))
			}
			s.put(t, name, mine)
			for i := range again {
				if err := s.Write(c.id, Target{Endpoint: []string{"http://127.0.0.1:7412", here.Endpoint}[i]}); err != nil {
					t.Fatal(err)
				}
			}
			done, err := s.Undo(c.id)
			if err != nil || !strings.HasPrefix(done, map[bool]string{true: "Restored: ", false: "Undone: "}[again > 0]) {
				t.Error(done, err)
			}
			e, err := edit(c.format, []byte(s.text(t, name)))
			if err != nil || len(e.tree) != 1 || !e.has(path{"mine"}) {
				t.Errorf("%s, %d: %v %q", c.id, again, err, s.text(t, name))
			}
		}
	}
}
