package setup

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Key is a provider's key that lies about on this machine.
type Key struct {
	Env    string // the variable that usually holds the key of this provider
	Value  string // the secret
	Source string // where it was found: "$NAME", or a file's path
}

// maxKeyFile bounds what is read of a file, in bytes.
const maxKeyFile = 1 << 20

// namedKeys are the variables behind the names that agents give providers.
var namedKeys = map[string]string{
	"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "openrouter": "OPENROUTER_API_KEY", "groq": "GROQ_API_KEY",
	"deepseek": "DEEPSEEK_API_KEY", "gemini": "GEMINI_API_KEY", "google": "GEMINI_API_KEY", "mistral": "MISTRAL_API_KEY", "xai": "XAI_API_KEY",
	"zai": "ZAI_API_KEY", "zai-coding-plan": "ZAI_API_KEY", "moonshot": "MOONSHOT_API_KEY", "moonshotai": "MOONSHOT_API_KEY",
	"minimax": "MINIMAX_API_KEY", "nvidia": "NVIDIA_API_KEY", "cerebras": "CEREBRAS_API_KEY", "together": "TOGETHER_API_KEY",
	"togetherai": "TOGETHER_API_KEY", "fireworks": "FIREWORKS_API_KEY", "opencode": "OPENCODE_API_KEY",
}

// keyFile is a well known file with keys: where it lies, and how it is read
// into keys by variable.
type keyFile struct {
	path func(home string, getenv func(string) string) string
	read func(text []byte) map[string]string
}

var keyFiles = []keyFile{
	{func(home string, getenv func(string) string) string {
		return filepath.Join(folder(getenv("CLAUDE_CONFIG_DIR"), home, ".claude"), "settings.json")
	}, readClaudeKeys},
	{func(home string, getenv func(string) string) string {
		return filepath.Join(folder(getenv("CODEX_HOME"), home, ".codex"), "auth.json")
	}, readVariables},
	{func(home string, getenv func(string) string) string {
		return filepath.Join(folder(getenv("XDG_DATA_HOME"), home, ".local", "share"), "opencode", "auth.json")
	}, readOpenCodeKeys},
	{func(home string, _ func(string) string) string { return filepath.Join(home, ".aider.conf.yml") }, readAiderKeys},
	{func(home string, _ func(string) string) string {
		return filepath.Join(home, ".continue", "config.json")
	}, readContinueKeys},
	{func(home string, getenv func(string) string) string {
		return filepath.Join(folder(getenv("XDG_CONFIG_HOME"), home, ".config"), "io.datasette.llm", "keys.json")
	}, readNamedKeys},
	{func(home string, _ func(string) string) string { return filepath.Join(home, ".env") }, readEnvLines},
}

func folder(moved, home string, parts ...string) string {
	if moved != "" {
		return moved
	}
	return filepath.Join(append([]string{home}, parts...)...)
}

// Keys looks for the keys that usually lie in the named variables: in the
// environment first, then in the settings of agents. Files that are missing or
// cannot be read hold none. Nothing is changed or kept.
func (s Setup) Keys(names []string) []Key {
	var out []Key
	seen := map[string]bool{}
	add := func(k Key) {
		if isKey(k.Value) && !seen[k.Env+"="+k.Value] {
			seen[k.Env+"="+k.Value] = true
			out = append(out, k)
		}
	}
	for _, name := range names {
		add(Key{name, s.getenv(name), "$" + name})
	}
	if s.Home == "" {
		return out
	}
	for _, f := range keyFiles {
		path := f.path(s.Home, s.getenv)
		text := readSome(path)
		if len(text) == 0 {
			continue
		}
		found := f.read(text)
		for _, name := range names {
			add(Key{name, found[name], path})
		}
	}
	return out
}

func (s Setup) getenv(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return s.Getenv(name)
}

func readSome(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil
	}
	return text
}

// isKey tells a key from a reference to one, a sample and a sentence.
func isKey(s string) bool {
	return len(s) >= 12 && len(s) <= 4096 && !strings.ContainsAny(s, " \t\r\n${}<>\"'") && !strings.Contains(s, "://") && !strings.Contains(s, "...")
}

func readClaudeKeys(text []byte) map[string]string {
	var doc struct {
		Env map[string]any `json:"env"`
	}
	_ = json.Unmarshal(text, &doc) // what cannot be read holds nothing
	return words(doc.Env)
}

func readVariables(text []byte) map[string]string {
	var doc map[string]any
	_ = json.Unmarshal(text, &doc)
	return words(doc)
}

func words(doc map[string]any) map[string]string {
	out := map[string]string{}
	for name, v := range doc {
		if s, ok := v.(string); ok {
			out[name] = s
		}
	}
	return out
}

func readNamedKeys(text []byte) map[string]string {
	out := map[string]string{}
	for name, key := range readVariables(text) {
		out[namedKeys[strings.ToLower(name)]] = key
	}
	return out
}

func readOpenCodeKeys(text []byte) map[string]string {
	var doc map[string]struct {
		Type string `json:"type"`
		Key  string `json:"key"`
	}
	_ = json.Unmarshal(text, &doc)
	out := map[string]string{}
	for name, v := range doc {
		if v.Type == "api" {
			out[namedKeys[name]] = v.Key
		}
	}
	return out
}

func readContinueKeys(text []byte) map[string]string {
	var doc struct {
		Models []struct {
			Provider string `json:"provider"`
			APIKey   string `json:"apiKey"`
		} `json:"models"`
	}
	_ = json.Unmarshal(text, &doc)
	out := map[string]string{}
	for _, m := range doc.Models {
		if name := namedKeys[m.Provider]; m.APIKey != "" && out[name] == "" {
			out[name] = m.APIKey
		}
	}
	return out
}

// readAiderKeys reads lines such as "openai-api-key: KEY" and list entries such
// as "- groq=KEY".
func readAiderKeys(text []byte) map[string]string {
	out := map[string]string{}
	eachLine(text, func(line string) {
		if name, key, ok := strings.Cut(strings.TrimPrefix(line, "- "), "="); ok && strings.HasPrefix(line, "- ") {
			out[namedKeys[name]] = bare(key)
			return
		}
		if name, key, ok := strings.Cut(line, "-api-key:"); ok {
			out[namedKeys[name]] = bare(key)
		}
	})
	return out
}

func readEnvLines(text []byte) map[string]string {
	out := map[string]string{}
	eachLine(text, func(line string) {
		if name, key, ok := strings.Cut(strings.TrimPrefix(line, "export "), "="); ok {
			out[strings.TrimSpace(name)] = bare(key)
		}
	})
	return out
}

func eachLine(text []byte, visit func(string)) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			visit(line)
		}
	}
}

// bare takes a comment and quotes away.
func bare(s string) string {
	s, _, _ = strings.Cut(s, " #")
	return strings.Trim(strings.TrimSpace(s), `"'`)
}
