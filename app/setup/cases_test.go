package setup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vault is a secret store in memory.
type vault map[string]string

func (v vault) Secret(name string) (string, bool, error) { s, ok := v[name]; return s, ok, nil }
func (v vault) SetSecret(name, value string) error       { v[name] = value; return nil }
func (v vault) DeleteSecret(name string) error           { delete(v, name); return nil }

const (
	codexFile    = ".codex/config.toml"
	claudeFile   = ".claude/settings.json"
	aiderFile    = ".aider.conf.yml"
	openCodeFile = ".config/opencode/opencode.json"
	tuiTable     = "[tui]\nx = 1\n"
)

// put writes a file of the user's.
func (s Setup) put(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.Home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// trip sets a client up and undoes it; the file must mean the intended document
// in between and be the former one afterwards.
func trip(t *testing.T, id, name, before string) {
	t.Helper()
	s := rig(t, map[string]string{name: before})
	s.Secrets = vault{}
	if err := s.Write(id, here); err != nil {
		t.Fatalf("%q: %v", before, err)
	}
	if p := s.state(t, id); p.State != StateSet || p.Problem != "" {
		t.Errorf("%q is %s: %s\n%s", before, p.State, p.Problem, s.text(t, name))
	}
	if strings.Contains(before, "\r\n") && strings.Count(s.text(t, name), "\n") != strings.Count(s.text(t, name), "\r\n") {
		t.Errorf("%q got bare line breaks: %q", before, s.text(t, name))
	}
	if _, err := s.Undo(id); err != nil || s.text(t, name) != before {
		t.Errorf("%q became %q, %v", before, s.text(t, name), err)
	}
}

// TestQ22 holds Codex's and aider's files against the inputs that were written
// broken or undone into a file that does not start.
func TestQ22(t *testing.T) {
	for name, before := range map[string]string{
		"a comment behind an opened array": "notify = [ # note\n  \"a\", # ]\n  \"]\"\n]\nmodel = \"x\"\n",
		"nested array rows":                "rows = [\n  [1, 2],\n  [3, 4]\n]\nmodel_provider = \"openai\"\n",
		"a byte order mark":                "\ufeffmodel = \"x\"\n",
		"a byte order mark alone":          "\ufeff",
		"CRLF":                             "model = \"x\"\r\n[tui]\r\nx = 1\r\n",
		"no last line break":               tuiTable + "y = 2",
		"a quote that looks like an end":   "s = \"\"\"\n[model_providers.breakwater]\nx = \"\"\"\"\"\n[tui]\nx = '''\n# no'''\n",
		"a key in quotes":                  "'model_provider' = 'openai' # mine\n",
		"dotted keys":                      "model_providers.mine.name = \"m\"\nmodel_providers.mine.base_url = \"https://m.example/v1\"\n[tui]\n",
		"a hand-made provider":             "[model_providers]\nbreakwater.name = \"b\" # by hand\nbreakwater.base_url = \"https://b.example\"\n[x]\n",
		"arrays of tables":                 "[[a]]\nmodel_provider = 1\n[[a.b]]\nx = 2\n[c]\n",
		"a profile that bypasses us":       "profile = \"work\"\n[profiles.work]\nmodel_provider = \"openai\"\n[profiles.\"a.b\"]\nmodel_provider = \"x\"\n",
		"comments alone":                   "# one\n\n# two",
		"blank lines":                      "\n\n\n",
	} {
		t.Run("Q22 "+name, func(t *testing.T) { trip(t, Codex, codexFile, before) })
	}
	for name, before := range map[string]string{
		"a flow mapping":        "{model: x, read: [a, b]} # mine\n",
		"an empty flow mapping": "{}",
		"markers":               "%YAML 1.1\n---\nmodel: x\n...\n",
		"an indented root":      "  model: x\n  read:\n    - a\n",
		"a last block text":     "model: x\nlast: |+\n  a\n\n",
		"a block text cut off":  "model: x\nlast: |\n  a",
		"anchors":               "a: &k value\nb: *k\nopenai-api-key: 'sk-0123456789abcdef' # mine\n",
		"an anchored key":       "openai-api-key: &k sk-0123456789abcdef\n",
		"a folded key":          "openai-api-key: >-\n  sk-0123456789\n# after\nmodel: x\n",
		"an empty value":        "openai-api-base:\nmodel: x\n",
		"a marker and comments": "# one\n---\n# two\n",
		"CRLF and BOM":          "\ufeffmodel: x\r\nread:\r\n- a\r\n",
		"JSON":                  "{\n  \"model\": \"x\",\n  \"openai-api-base\": \"https://g.example\"\n}\n",
	} {
		t.Run("Q22 aider "+name, func(t *testing.T) { trip(t, Aider, aiderFile, before) })
	}
}

// TestQ22UndoTakesTheWholeBranch edits the file between writing and undoing.
func TestQ22UndoTakesTheWholeBranch(t *testing.T) {
	const before = "# mine\nmodel_provider = \"openai\" # keep\n"
	for name, tc := range map[string]struct {
		edit func(string) string
		want string
	}{
		"Q22 single quotes": {func(s string) string {
			return strings.Replace(s, `model_provider = "breakwater"`, `model_provider = 'breakwater'`, 1)
		}, before},
		"Q22 a key of the user's below our table": {func(s string) string { return s + "query_params = { a = \"b\" }\n" }, before},
		"Q22 a table below our table":             {func(s string) string { return s + "[model_providers.breakwater.http_headers]\nx = \"y\"\n" }, before},
		"Q22 our table as an inline one": {func(s string) string {
			i := strings.Index(s, "\n[model_providers")
			return s[:i] + "\n[model_providers]\nbreakwater = { name = \"B\", base_url = \"" + here.Endpoint + "/v1\" }\nmine = { name = \"m\" }\n"
		}, before + "\n[model_providers]\nmine = { name = \"m\" }\n"},
		"Q22 a comment of the user's behind our value": {func(s string) string {
			return strings.Replace(s, "wire_api = \"responses\"", "wire_api = \"responses\" # why?", 1)
		}, before + "# why?\n"},
		"Q22 tables around ours": {func(s string) string { return "a = 1\n" + s + "[z]\nb = 2\n" }, "a = 1\n" + before + "[z]\nb = 2\n"},
		"Q22 another provider chosen since": {func(s string) string {
			return strings.Replace(s, `model_provider = "breakwater"`, `model_provider = "mine"`, 1)
		}, strings.Replace(before, "openai", "mine", 1)},
		"Q22 saved with CRLF": {func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, strings.ReplaceAll(before, "\n", "\r\n")},
	} {
		t.Run(name, func(t *testing.T) {
			s := rig(t, map[string]string{codexFile: before})
			if err := s.Write(Codex, here); err != nil {
				t.Fatal(err)
			}
			s.put(t, codexFile, tc.edit(s.text(t, codexFile)))
			done, err := s.Undo(Codex)
			if got := s.text(t, codexFile); err != nil || got != tc.want {
				t.Errorf("%s, %v:\n%q, want\n%q", done, err, got, tc.want)
			}
			if p := s.state(t, Codex); p.State != StateNone {
				t.Error("after undo the page says ", p.State)
			}
		})
	}
}

// TestQ22ThatCannotBeUndoneStays leaves the file, says why, and keeps the
// record and the copy for another try.
func TestQ22ThatCannotBeUndoneStays(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(string) string
		why  string
	}{
		"Q22 broken since":             {func(s string) string { return s + "x = [\n" }, "not whole TOML"},
		"Q22 pointed elsewhere":        {func(s string) string { return strings.Replace(s, ":7411", ":4000", 1) }, "http://127.0.0.1:4000/v1"},
		"Q22 a profile that uses ours": {func(s string) string { return s + "[profiles.p]\nmodel_provider = \"breakwater\"\n" }, `profile "p"`},
		"Q22 providers rewritten inline": {func(s string) string {
			return "model_provider = \"breakwater\"\nmodel_providers = { breakwater = { base_url = \"" + here.Endpoint + "/v1\" } }\n"
		}, "cannot be taken out"},
	} {
		t.Run(name, func(t *testing.T) {
			const before = "model = \"x\"\n"
			s := rig(t, map[string]string{codexFile: before})
			if err := s.Write(Codex, here); err != nil {
				t.Fatal(err)
			}
			mine := tc.edit(s.text(t, codexFile))
			s.put(t, codexFile, mine)
			_, err := s.Undo(Codex)
			q, ok := errors.AsType[*AskError](err)
			if !ok || q.Question != AskCopy || !strings.Contains(q.Reason, tc.why) || s.text(t, codexFile) != mine {
				t.Fatalf("%v\n%s", err, s.text(t, codexFile))
			}
			copies, _ := filepath.Glob(filepath.Join(s.Dir, "*.copy"))
			saved, _ := os.ReadFile(copies[0])
			for _, spoilt := range []string{"", "model = \"y\"\n"} {
				if err := os.WriteFile(copies[0], []byte(spoilt), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Undo(Codex, AskCopy); err == nil || s.text(t, codexFile) != mine {
					t.Fatalf("a damaged copy was put back: %v", err)
				}
			}
			if err := os.WriteFile(copies[0], saved, 0o600); err != nil {
				t.Fatal(err)
			}
			if done, err := s.Undo(Codex, AskCopy); err != nil || s.text(t, codexFile) != before {
				t.Errorf("%s, %v: %q", done, err, s.text(t, codexFile))
			}
			kept, _ := filepath.Glob(filepath.Join(s.Dir, "*.replaced"))
			if len(kept) != 1 {
				t.Fatal("what the copy replaced is gone")
			}
			if b, _ := os.ReadFile(kept[0]); string(b) != mine {
				t.Errorf("%q", b)
			}
		})
	}
}

// TestQ23 edits JSON with comments in place, in the file that wins.
func TestQ23(t *testing.T) {
	for name, before := range map[string]string{
		"comments and trailing commas": "{\n  // mine\n  \"model\": \"x\", // why\n  \"list\": [1, 2,], /* b */\n}\n",
		"a trailing comment":           "{\n  \"model\": \"x\" // why\n}\n",
		"a comment alone":              "{ // nothing yet\n}",
		"one line":                     `{"a": 1, /* c */ "provider": {"openai": {}, }}`,
		"our keys with values":         "{\"provider\":{\"openai\":{\"options\":{\"baseURL\":\"https://g.example/v1\", // mine\n\"apiKey\":\"{env:KEY}\"}}}}",
		"CRLF":                         "{\r\n\t\"a\": 1,\r\n}\r\n",
		"a byte order mark":            "\ufeff{ \"a\": 1 }\n",
		"a comment before and behind":  "// head\n{\"a\":1}\n// tail",
		"large numbers":                `{"n": 12345678901234567890, "f": 1e400}`,
		"empty":                        "",
		"keys with dots":               `{"provider.openai": {"options": 1}, "a.b": {}}`,
	} {
		t.Run("Q23 "+name, func(t *testing.T) {
			trip(t, OpenCode, openCodeFile, before)
			trip(t, OpenCode, openCodeFile+"c", before)
		})
	}
	for name, before := range map[string]string{
		"a byte order mark":   "\ufeff{\"model\":\"opus\"}",
		"a mark and CRLF":     "\ufeff{\r\n  \"env\": {\r\n  }\r\n}\r\n",
		"an empty env":        `{"env":{}}`,
		"a token of the user": `{"env":{"ANTHROPIC_AUTH_TOKEN":"sk-ant-0123456789","ANTHROPIC_BASE_URL":"https://u:p@g.example"}}`,
	} {
		t.Run("Q23 Claude "+name, func(t *testing.T) { trip(t, ClaudeCode, claudeFile, before) })
	}
}

// TestQ23TheFileThatWins is the one that is written, and one that comes later
// is no longer "set".
func TestQ23TheFileThatWins(t *testing.T) {
	const mine = "{\"provider\":{\"openai\":{\"options\":{\"baseURL\":\"https://mine.example/v1\"}}}}"
	t.Run("Q23 the winning file is written", func(t *testing.T) {
		s := rig(t, map[string]string{openCodeFile: "{}", openCodeFile + "c": mine})
		if err := s.Write(OpenCode, here); err != nil {
			t.Fatal(err)
		}
		if s.text(t, openCodeFile) != "{}" || !strings.Contains(s.text(t, openCodeFile+"c"), here.Endpoint) {
			t.Error(s.text(t, openCodeFile), s.text(t, openCodeFile+"c"))
		}
	})
	t.Run("Q23 one that comes later counts as a change", func(t *testing.T) {
		s := rig(t, map[string]string{openCodeFile: "{}"})
		if err := s.Write(OpenCode, here); err != nil {
			t.Fatal(err)
		}
		s.put(t, openCodeFile+"c", mine)
		if p := s.state(t, OpenCode); p.State != StateChanged {
			t.Error(p.State)
		}
		if err := s.Write(OpenCode, here); err != nil {
			t.Fatal(err)
		}
		if s.text(t, openCodeFile) != "{}" || s.state(t, OpenCode).State != StateSet {
			t.Error(s.text(t, openCodeFile), s.state(t, OpenCode).State)
		}
		if _, err := s.Undo(OpenCode); err != nil || s.text(t, openCodeFile+"c") != mine {
			t.Error(err, s.text(t, openCodeFile+"c"))
		}
	})
}
