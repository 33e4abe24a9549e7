package setup

import (
	"os"
	"path/filepath"
	"slices"
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
	format   format
	// own is the branch that carries our name, all of which is undone.
	own path
	// path returns its settings file: of several, the one that wins.
	path func(home string, getenv func(string) string) string
	// edits returns what is to stand in the file; old looks a present value up.
	edits func(t Target, old func(path) string, getenv func(string) string) []setting
}

// setting is one value, as plain text; the format writes it in its own way.
type setting struct {
	key     path
	value   string
	secret  bool // what stood there may be a key or token
	address bool // it points the client at Breakwater
}

var clients = []client{
	{ClaudeCode, "Claude Code", jsonFormat{}, nil, claudePath, claudeEdits},
	{Codex, "Codex", tomlFormat{}, path{"model_providers", "breakwater"}, codexPath, codexEdits},
	{Aider, "aider", yamlFormat{}, nil, aiderPath, aiderEdits},
	{OpenCode, "opencode", jsonFormat{comment: true}, nil, openCodePath, openCodeEdits},
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

func claudeEdits(t Target, old func(path) string, getenv func(string) string) []setting {
	out := []setting{{key: path{"env", "ANTHROPIC_BASE_URL"}, value: t.Endpoint, address: true}}
	if !t.Passthrough {
		out = append(out, setting{key: path{"env", "ANTHROPIC_AUTH_TOKEN"}, value: localKey, secret: true})
	}
	// A proxy of the system must not get requests to this machine (case P58).
	hosts := old(path{"env", "NO_PROXY"})
	if hosts == "" {
		hosts = getenv("NO_PROXY")
	}
	return append(out, setting{key: path{"env", "NO_PROXY"}, value: withLoopback(hosts)})
}

// localKey stands where a client insists on a key: Breakwater needs none.
const localKey = "local"

// withLoopback adds this machine's names to a NO_PROXY list.
func withLoopback(list string) string {
	var out []string
	for h := range strings.SplitSeq(list, ",") {
		if h = strings.TrimSpace(h); h != "" {
			out = append(out, h)
		}
	}
	for _, own := range []string{"127.0.0.1", "localhost", "::1"} {
		if !slices.Contains(out, own) && !slices.Contains(out, "*") {
			out = append(out, own)
		}
	}
	return strings.Join(out, ",")
}

func codexPath(home string, getenv func(string) string) string {
	if dir := getenv("CODEX_HOME"); dir != "" {
		return filepath.Join(dir, "config.toml")
	}
	return filepath.Join(home, ".codex", "config.toml")
}

func codexEdits(t Target, old func(path) string, _ func(string) string) []setting {
	at := func(name string) path { return path{"model_providers", "breakwater", name} }
	out := []setting{
		{key: path{"model_provider"}, value: "breakwater"},
		{key: at("name"), value: "Breakwater"},
		{key: at("base_url"), value: t.Endpoint + "/v1", address: true},
		{key: at("wire_api"), value: "responses"},
	}
	// The profile that older versions of Codex select in the file would bypass
	// us with a provider of its own.
	if profile := old(path{"profile"}); profile != "" {
		if key := (path{"profiles", profile, "model_provider"}); old(key) != "" {
			out = append(out, setting{key: key, value: "breakwater"})
		}
	}
	return out
}

// codexBypass returns the profiles, in files of their own beside the settings,
// that name another provider: they go past Breakwater when they are chosen.
func codexBypass(file string) []string {
	var out []string
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.config.toml"))
	for _, name := range found {
		text, err := readAtMost(name, maxFile)
		if err != nil {
			continue
		}
		e, err := edit(tomlFormat{}, text)
		if err != nil {
			continue
		}
		if v, ok := e.get(path{"model_provider"}); ok && v != "breakwater" {
			out = append(out, strings.TrimSuffix(filepath.Base(name), ".config.toml"))
		}
	}
	return out
}

// codexUses returns the profiles that name our provider: Codex would not start
// with them once it is gone.
func codexUses(tree map[string]any) []string {
	profiles, _ := tree["profiles"].(map[string]any)
	var out []string
	for name := range profiles {
		if lookup(profiles, path{name, "model_provider"}) == "breakwater" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func aiderPath(home string, _ func(string) string) string {
	return filepath.Join(home, ".aider.conf.yml")
}

func aiderEdits(t Target, _ func(path) string, _ func(string) string) []setting {
	return []setting{
		{key: path{"openai-api-base"}, value: t.Endpoint + "/v1", address: true},
		{key: path{"openai-api-key"}, value: localKey, secret: true},
	}
}

// openCodePath returns the file whose values win: opencode reads opencode.json
// and then opencode.jsonc over it (Q23).
func openCodePath(home string, getenv func(string) string) string {
	if file := getenv("OPENCODE_CONFIG"); file != "" {
		return file
	}
	dir := getenv("XDG_CONFIG_HOME")
	if dir == "" {
		dir = filepath.Join(home, ".config")
	}
	dir = filepath.Join(dir, "opencode")
	if _, err := os.Lstat(filepath.Join(dir, "opencode.jsonc")); err == nil {
		return filepath.Join(dir, "opencode.jsonc")
	}
	return filepath.Join(dir, "opencode.json")
}

func openCodeEdits(t Target, _ func(path) string, _ func(string) string) []setting {
	var out []setting
	for _, provider := range []string{"anthropic", "openai"} {
		at := func(name string) path { return path{"provider", provider, "options", name} }
		out = append(out, setting{key: at("baseURL"), value: t.Endpoint + "/v1", address: true}, setting{key: at("apiKey"), value: localKey, secret: true})
	}
	return out
}
