package setup

import (
	"os"
	"path/filepath"
	"testing"
)

func TestKeysAreFoundInEnvironmentAndFiles(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{
		".claude/settings.json":              `{"env":{"ANTHROPIC_API_KEY":"sk-ant-from-claude","N":1}}`,
		".codex/auth.json":                   `{"OPENAI_API_KEY":"sk-from-codex-1","tokens":{"id":"x"}}`,
		".local/share/opencode/auth.json":    `{"groq":{"type":"api","key":"gsk-from-opencode"},"anthropic":{"type":"oauth","key":"never-an-api-key"}}`,
		".aider.conf.yml":                    "# mine\nopenai-api-key: sk-from-aider-1 # work\nmodel: x\napi-key:\n  - deepseek=sk-from-aider-2\n",
		".continue/config.json":              `{"models":[{"provider":"mistral","apiKey":"key-from-continue"},{"provider":"mistral","apiKey":"second-of-mistral"}]}`,
		".config/io.datasette.llm/keys.json": `{"openai":"sk-from-codex-1","xai":"xai-from-llm-keys"}`,
		".env":                               "export OPENROUTER_API_KEY=\"sk-or-from-dotenv\"\nGEMINI_API_KEY=${SECRET_STORE}\nTOGETHER_API_KEY=<your key here>\n",
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"OPENAI_API_KEY": "sk-from-environment", "GROQ_API_KEY": "short"}
	s := Setup{Home: home, Getenv: func(n string) string { return env[n] }}
	names := []string{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY", "DEEPSEEK_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY",
		"GEMINI_API_KEY", "TOGETHER_API_KEY", "KIMI_API_KEY",
	}
	want := [][3]string{
		{"OPENAI_API_KEY", "sk-from-environment", "$OPENAI_API_KEY"},
		{"ANTHROPIC_API_KEY", "sk-ant-from-claude", "settings.json"},
		{"OPENAI_API_KEY", "sk-from-codex-1", "auth.json"},
		{"GROQ_API_KEY", "gsk-from-opencode", "auth.json"},
		{"OPENAI_API_KEY", "sk-from-aider-1", ".aider.conf.yml"},
		{"DEEPSEEK_API_KEY", "sk-from-aider-2", ".aider.conf.yml"},
		{"MISTRAL_API_KEY", "key-from-continue", "config.json"},
		{"XAI_API_KEY", "xai-from-llm-keys", "keys.json"},
		{"OPENROUTER_API_KEY", "sk-or-from-dotenv", ".env"},
	}
	got := s.Keys(names)
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, k := range got {
		if w := want[i]; k.Env != w[0] || k.Value != w[1] || filepath.Base(k.Source) != w[2] {
			t.Errorf("%+v, want %v", k, w)
		}
	}
	if got := (Setup{}).Keys(names); got != nil {
		t.Error("keys out of nowhere:", got)
	}
	if got := (Setup{Home: t.TempDir()}).Keys(names); got != nil {
		t.Error("keys in an empty folder:", got)
	}
}

func FuzzKeyFiles(f *testing.F) {
	f.Add([]byte(`{"env":{"A":"b"},"models":[{"provider":"openai","apiKey":"k"}],"openai":{"type":"api","key":"k"}}`))
	f.Add([]byte("openai-api-key: x\n- groq=y\nexport A=b # c"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, file := range keyFiles {
			for name, key := range file.read(text) {
				if isKey(key) && len(key) > len(text) {
					t.Errorf("%s is %q, more than there is", name, key)
				}
			}
		}
	})
}
