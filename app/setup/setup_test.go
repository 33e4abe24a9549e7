package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var here = Target{Endpoint: "http://127.0.0.1:7411"}

// rig is a user's home with files in it.
func rig(t *testing.T, files map[string]string) Setup {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return Setup{Dir: filepath.Join(home, "data"), Home: home, Getenv: func(string) string { return "" }}
}

func (s Setup) text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Home, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (s Setup) state(t *testing.T, id string) Plan {
	t.Helper()
	for _, p := range s.Plans(here) {
		if p.ID == id {
			return p
		}
	}
	t.Fatal("no plan for ", id)
	return Plan{}
}

// files are settings as people have them, and what becomes of them.
var files = []struct {
	id, name, before, after string
}{
	{
		ClaudeCode, ".claude/settings.json",
		"{\n    \"model\": \"opus\",\n    \"env\": {\n        \"NO_PROXY\": \"intranet\",\n        \"FOO\": \"1\"\n    }\n}\n",
		"{\n    \"model\": \"opus\",\n    \"env\": {\n        \"NO_PROXY\": \"intranet,127.0.0.1,localhost,::1\",\n        \"FOO\": \"1\",\n        \"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:7411\",\n        \"ANTHROPIC_AUTH_TOKEN\": \"local\"\n    }\n}\n",
	},
	{
		ClaudeCode, ".claude/settings.json", `{"a": [1, {"b": 2}]}`,
		`{"a": [1, {"b": 2}], "env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:7411", "ANTHROPIC_AUTH_TOKEN": "local", "NO_PROXY": "127.0.0.1,localhost,::1"}}`,
	},
	{
		ClaudeCode, ".claude/settings.json", "{}",
		"{\n  \"env\": {\n    \"ANTHROPIC_BASE_URL\": \"http://127.0.0.1:7411\",\n    \"ANTHROPIC_AUTH_TOKEN\": \"local\",\n    \"NO_PROXY\": \"127.0.0.1,localhost,::1\"\n  }\n}",
	},
	{
		Codex, ".codex/config.toml",
		"# my own\nmodel = \"gpt-5.1\" # the large one\nmodel_provider = 'openai'\nnotify = [\n  \"a\",\n]\n\n[tui] # looks\ntheme = \"x\"\nnote = \"\"\"\nmodel_provider = \"no\"\n\"\"\"\n",
		"# my own\nmodel = \"gpt-5.1\" # the large one\nmodel_provider = \"breakwater\"\nnotify = [\n  \"a\",\n]\n\n[tui] # looks\ntheme = \"x\"\nnote = \"\"\"\nmodel_provider = \"no\"\n\"\"\"\n\n[model_providers.breakwater]\nname = \"Breakwater\"\nbase_url = \"http://127.0.0.1:7411/v1\"\nwire_api = \"responses\"\n",
	},
	{
		Codex, ".codex/config.toml",
		"[tui]\nx = 1\n\n[ model_providers . \"breakwater\" ] # by hand\nbase_url = \"http://127.0.0.1:1/v1\"\n\n[[list]]\ny = 2",
		"model_provider = \"breakwater\"\n[tui]\nx = 1\n\n[ model_providers . \"breakwater\" ] # by hand\nbase_url = \"http://127.0.0.1:7411/v1\"\nname = \"Breakwater\"\nwire_api = \"responses\"\n\n[[list]]\ny = 2",
	},
	{
		Aider, ".aider.conf.yml", "## mine\nmodel: gpt-5.1\nread:\n  - openai-api-base: no\n#openai-api-key: x\n",
		"## mine\nmodel: gpt-5.1\nread:\n  - openai-api-base: no\n#openai-api-key: x\nopenai-api-base: \"http://127.0.0.1:7411/v1\"\nopenai-api-key: \"local\"\n",
	},
	{
		OpenCode, ".config/opencode/opencode.json", "{\n\t\"$schema\": \"https://opencode.ai/config.json\"\n}\n",
		"{\n\t\"$schema\": \"https://opencode.ai/config.json\",\n\t\"provider\": {\n\t\t\"anthropic\": {\n\t\t\t\"options\": {\n\t\t\t\t\"baseURL\": \"http://127.0.0.1:7411/v1\",\n\t\t\t\t\"apiKey\": \"local\"\n\t\t\t}\n\t\t},\n\t\t\"openai\": {\n\t\t\t\"options\": {\n\t\t\t\t\"baseURL\": \"http://127.0.0.1:7411/v1\",\n\t\t\t\t\"apiKey\": \"local\"\n\t\t\t}\n\t\t}\n\t}\n}\n",
	},
}

func TestFilesKeepTheirCommentsAndLayout(t *testing.T) {
	for _, f := range files {
		s := rig(t, map[string]string{f.name: f.before})
		if err := s.Write(f.id, here); err != nil {
			t.Fatal(f.id, err)
		}
		if got := s.text(t, f.name); got != f.after {
			t.Errorf("%s became\n%s\nwant\n%s", f.id, got, f.after)
		}
		if p := s.state(t, f.id); p.State != StateSet {
			t.Errorf("%s is %s", f.id, p.State)
		}
		info, err := os.Stat(filepath.Join(s.Home, f.name))
		if err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: mode %v, %v", f.id, info.Mode(), err)
		}
		if copies, _ := filepath.Glob(filepath.Join(s.Dir, "clients."+f.id+".*.copy")); len(copies) != 1 {
			t.Errorf("%s: copies %v", f.id, copies)
		}
		if done, err := s.Undo(f.id); err != nil || !strings.HasPrefix(done, "Restored: ") || s.text(t, f.name) != f.before {
			t.Errorf("%s undone: %q, %v\n%s", f.id, done, err, s.text(t, f.name))
		}
		left, _ := filepath.Glob(filepath.Join(s.Home, filepath.Dir(f.name), "*reakwater*"))
		if len(left) > 0 || s.state(t, f.id).State != StateNone {
			t.Errorf("%s leaves %v", f.id, left)
		}
	}
}

func TestFilesThatAreMissingAreMadeAndRemoved(t *testing.T) {
	s := rig(t, nil)
	for _, c := range clients {
		if p := s.state(t, c.id); p.Exists || p.Problem != "" || len(p.Lines) == 0 {
			t.Errorf("%+v", p)
		}
		if err := s.Write(c.id, here); err != nil {
			t.Fatal(err)
		}
		if p := s.state(t, c.id); p.State != StateSet || !strings.HasPrefix(p.Path, s.Home) {
			t.Errorf("%+v", p)
		}
	}
	done, err := s.UndoAll(nil)
	if err != nil || len(done) != len(clients) {
		t.Fatal(done, err)
	}
	for _, c := range clients {
		if p := s.state(t, c.id); p.Exists || p.State != StateNone {
			t.Errorf("%+v", p)
		}
	}
	if done, err := s.UndoAll(nil); len(done) > 0 || err != nil {
		t.Error("twice: ", done, err)
	}
}

func TestWhatOthersChangedSinceStays(t *testing.T) {
	s := rig(t, map[string]string{".codex/config.toml": "model_provider = \"openai\"\n"})
	if err := s.Write(Codex, here); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Home, ".codex/config.toml")
	mine := strings.Replace(s.text(t, ".codex/config.toml"), `name = "Breakwater"`, `name = "mine"`, 1) + "[tui]\nx = 1\n"
	if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := s.state(t, Codex); p.State != StateChanged {
		t.Error(p.State)
	}
	if done, err := s.Undo(Codex); err != nil || !strings.HasPrefix(done, "Undone: ") {
		t.Error(done, err)
	}
	if got := s.text(t, ".codex/config.toml"); got != "model_provider = \"openai\"\n[tui]\nx = 1\n" {
		t.Errorf("%q", got)
	}
}

func TestOwnValuesGoWithTheirEmptyObjects(t *testing.T) {
	s := rig(t, nil)
	if err := s.Write(OpenCode, here); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Home, ".config/opencode/opencode.json")
	text := strings.Replace(s.text(t, ".config/opencode/opencode.json"), "{\n", "{\n  \"model\": \"x\",\n", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Undo(OpenCode); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(s.text(t, ".config/opencode/opencode.json")), " "); got != `{ "model": "x" }` {
		t.Errorf("%q", got)
	}
}

func TestSettingUpTwiceKeepsTheFirstBackup(t *testing.T) {
	const before = `{"env": {"ANTHROPIC_BASE_URL": "https://gateway.example"}}`
	s := rig(t, map[string]string{".claude/settings.json": before})
	for _, port := range []string{"1", "2"} {
		if err := s.Write(ClaudeCode, Target{Endpoint: "http://127.0.0.1:" + port, Passthrough: true}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.text(t, ".claude/settings.json"); !strings.Contains(got, "127.0.0.1:2") || strings.Contains(got, "AUTH_TOKEN") {
		t.Error("a sign-in of its own needs no token: ", got)
	}
	if _, err := s.Undo(ClaudeCode); err != nil || s.text(t, ".claude/settings.json") != before {
		t.Error(s.text(t, ".claude/settings.json"), err)
	}
}

func TestFilesThatAreNotUnderstoodAreLeftAlone(t *testing.T) {
	for id, f := range map[string][2]string{
		ClaudeCode: {".claude/settings.json", "{ // a comment\n}"},
		OpenCode:   {".config/opencode/opencode.json", `{"provider": "none"}`},
		Codex:      {".codex/config.toml", "model_providers = { x = {} }\n"},
	} {
		s := rig(t, map[string]string{f[0]: f[1]})
		if err := s.Write(id, here); err == nil {
			t.Error(id, "was written")
		}
		if got := s.text(t, f[0]); got != f[1] {
			t.Errorf("%s became %q", id, got)
		}
		if done, err := s.UndoAll(nil); len(done) > 0 || err != nil {
			t.Error(done, err)
		}
	}
}

func TestLinkedFilesStayLinks(t *testing.T) {
	s := rig(t, map[string]string{"dotfiles/settings.json": "{}"})
	if err := os.Mkdir(filepath.Join(s.Home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(s.Home, ".claude/settings.json")
	if err := os.Symlink(filepath.Join(s.Home, "dotfiles/settings.json"), link); err != nil {
		t.Skip("no links here: ", err)
	}
	if err := s.Write(ClaudeCode, here); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || !strings.Contains(s.text(t, "dotfiles/settings.json"), "7411") {
		t.Error("the link was replaced by a file: ", err)
	}
}

// TestCrashBetweenNoteAndWrite takes back what was noted and never done.
func TestCrashBetweenNoteAndWrite(t *testing.T) {
	const before = "# mine\nmodel = \"x\"\n"
	s := rig(t, map[string]string{".codex/config.toml": before})
	if err := s.Write(Codex, here); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Home, ".codex/config.toml"), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if done, err := s.Undo(Codex); err != nil || !strings.HasPrefix(done, "Left as it was: ") || s.text(t, ".codex/config.toml") != before {
		t.Error(done, err)
	}
}

func TestLoopbackIsAddedOnce(t *testing.T) {
	for list, want := range map[string]string{
		"": "127.0.0.1,localhost,::1", "localhost, a": "localhost,a,127.0.0.1,::1", "*": "*", "127.0.0.1,localhost,::1": "127.0.0.1,localhost,::1",
	} {
		if got := withLoopback(list); got != want {
			t.Errorf("%q gives %q", list, got)
		}
	}
}

func TestVariablesMoveTheFiles(t *testing.T) {
	env := map[string]string{"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "OPENCODE_CONFIG": "/o/c.json"}
	s := Setup{Dir: t.TempDir(), Home: "/h", Getenv: func(k string) string { return env[k] }}
	want := map[string]string{ClaudeCode: "/c/settings.json", Codex: "/x/config.toml", Aider: "/h/.aider.conf.yml", OpenCode: "/o/c.json"}
	for _, p := range s.Plans(here) {
		if filepath.ToSlash(p.Path) != want[p.ID] {
			t.Errorf("%s is at %s", p.ID, p.Path)
		}
	}
}
