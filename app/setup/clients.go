package setup

import (
	"path/filepath"
	"strings"
)

// The clients that can be set up, by the names under which their requests are
// known in the activity log.
const (
	ClaudeCode = "claude-code"
	Codex      = "codex"
	Aider      = "aider"
	OpenCode   = "opencode"
)

// Target is where clients are pointed at.
type Target struct {
	// Endpoint is Breakwater's address, without a path.
	Endpoint string
	// Passthrough keeps Claude Code's own sign-in, which is then forwarded.
	Passthrough bool
}

// client is one program that can be set up.
type client struct {
	id, name string
	open     func([]byte) (document, error)
	// path returns its settings file.
	path func(home string, getenv func(string) string) string
	// edits returns what is to stand in the file; old looks a present value up.
	edits func(t Target, old func(key string) string, getenv func(string) string) []edit
}

// edit is one value, as plain text; the document writes it in its own way.
type edit struct{ key, value string }

var clients = []client{
	{ClaudeCode, "Claude Code", openJSON, claudePath, claudeEdits},
	{Codex, "Codex", openTOML, codexPath, codexEdits},
	{Aider, "aider", openYAML, aiderPath, aiderEdits},
	{OpenCode, "opencode", openJSON, openCodePath, openCodeEdits},
}

func find(id string) (client, bool) {
	for _, c := range clients {
		if c.id == id {
			return c, true
		}
	}
	return client{}, false
}

func claudePath(home string, getenv func(string) string) string {
	if dir := getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return filepath.Join(dir, "settings.json")
	}
	return filepath.Join(home, ".claude", "settings.json")
}

func claudeEdits(t Target, old func(string) string, getenv func(string) string) []edit {
	out := []edit{{"env.ANTHROPIC_BASE_URL", t.Endpoint}}
	if !t.Passthrough {
		out = append(out, edit{"env.ANTHROPIC_AUTH_TOKEN", "local"})
	}
	// A proxy of the system must not get requests to this machine (case P58).
	hosts := old("env.NO_PROXY")
	if hosts == "" {
		hosts = getenv("NO_PROXY")
	}
	return append(out, edit{"env.NO_PROXY", withLoopback(hosts)})
}

// withLoopback adds this machine's names to a NO_PROXY list.
func withLoopback(list string) string {
	var out []string
	for h := range strings.SplitSeq(list, ",") {
		if h = strings.TrimSpace(h); h != "" {
			out = append(out, h)
		}
	}
next:
	for _, own := range []string{"127.0.0.1", "localhost", "::1"} {
		for _, h := range out {
			if h == own || h == "*" {
				continue next
			}
		}
		out = append(out, own)
	}
	return strings.Join(out, ",")
}

func codexPath(home string, getenv func(string) string) string {
	if dir := getenv("CODEX_HOME"); dir != "" {
		return filepath.Join(dir, "config.toml")
	}
	return filepath.Join(home, ".codex", "config.toml")
}

func codexEdits(t Target, _ func(string) string, _ func(string) string) []edit {
	const at = "model_providers.breakwater."
	return []edit{
		{"model_provider", "breakwater"},
		{at + "name", "Breakwater"},
		{at + "base_url", t.Endpoint + "/v1"},
		{at + "wire_api", "responses"},
	}
}

func aiderPath(home string, _ func(string) string) string {
	return filepath.Join(home, ".aider.conf.yml")
}

func aiderEdits(t Target, _ func(string) string, _ func(string) string) []edit {
	return []edit{{"openai-api-base", t.Endpoint + "/v1"}, {"openai-api-key", "local"}}
}

func openCodePath(home string, getenv func(string) string) string {
	if file := getenv("OPENCODE_CONFIG"); file != "" {
		return file
	}
	dir := getenv("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "opencode", "opencode.json")
}

func openCodeEdits(t Target, _ func(string) string, _ func(string) string) []edit {
	return []edit{
		{"provider.anthropic.options.baseURL", t.Endpoint + "/v1"},
		{"provider.anthropic.options.apiKey", "local"},
		{"provider.openai.options.baseURL", t.Endpoint + "/v1"},
		{"provider.openai.options.apiKey", "local"},
	}
}
