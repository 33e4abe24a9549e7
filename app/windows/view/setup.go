package view

import (
	"fmt"
	"slices"
	"strings"

	"breakwater/proxy/control"
)

// Setup is the line that points one client at the endpoint.
type Setup struct {
	Client string
	Line   string
	Note   string
	File   bool // the line is a part of a file, in no shell's words
}

// direct keeps a client from sending what is meant for this machine through an
// outbound proxy (case P58).
var direct = variable{"NO_PROXY", "127.0.0.1,localhost,::1"}

// Setups returns the set-up lines for the clients as a shell reads them, with
// models that the connections offer where a line needs one.
func Setups(s control.Snapshot, shell string) []Setup {
	end := strings.TrimRight(s.Endpoint, "/")
	line := func(client, command, note string, vars ...variable) Setup {
		if more := lasting(shell); more != "" {
			note += " " + more
		}
		return Setup{Client: client, Line: commandLine(shell, append([]variable{direct}, vars...), command), Note: note}
	}
	base := variable{"ANTHROPIC_BASE_URL", end}
	claude := line("Claude Code", "claude", T("Any token will do: Breakwater puts in the key of the connection."), base, variable{"ANTHROPIC_AUTH_TOKEN", "local"})
	if slices.ContainsFunc(s.Connections, func(c control.Connection) bool { return c.Credential == "passthrough" && c.Active }) {
		claude = line("Claude Code", "claude", T("Stay signed in: your subscription's sign-in is passed through."), base)
	}
	return []Setup{
		claude,
		line("Codex", codexCommand(shell, model(s, "responses", "gpt-5"), end), T("The same keys can live in ~/.codex/config.toml.")),
		line("aider", "aider --model openai/"+model(s, "chat", "MODEL"), T("The prefix openai/ picks the dialect and is not sent."),
			variable{"OPENAI_API_BASE", end + "/v1"}, variable{"OPENAI_API_KEY", "local"}),
		line("opencode", "opencode", T("The same keys can live in ~/.config/opencode/opencode.json."),
			variable{"OPENCODE_CONFIG_CONTENT", fmt.Sprintf(`{"provider":{"anthropic":{"options":{"baseURL":"%s/v1","apiKey":"local"}}}}`, end)}),
		{
			Client: "Continue",
			Line: fmt.Sprintf("models:\n  - name: Breakwater\n    provider: openai\n    model: %s\n    apiBase: %s/v1\n    apiKey: local\n    requestOptions:\n      noProxy: [\"127.0.0.1\", \"localhost\", \"::1\"]",
				model(s, "chat", "MODEL"), end),
			Note: T("For ~/.continue/config.yaml, and much the same for other clients of the OpenAI API."),
			File: true,
		},
	}
}

// codexCommand passes a provider as TOML. In the shells of Windows its texts
// have single quotes: double ones within an argument do not survive there.
func codexCommand(shell, model, end string) string {
	outer, inner := "'", `"`
	if shell == ShellPowerShell || shell == ShellCmd {
		outer, inner = `"`, "'"
	}
	provider := fmt.Sprintf(`model_providers.breakwater={name="breakwater",base_url="%s/v1",wire_api="responses"}`, end)
	return "codex -m " + model + " -c model_provider=breakwater -c " + outer + strings.ReplaceAll(provider, `"`, inner) + outer
}

// model returns a model that a connection of the dialect serves by default.
func model(s control.Snapshot, dialect, fallback string) string {
	for _, c := range s.Connections {
		if c.Active && c.DefaultModel != "" && slices.Contains(c.Dialects, dialect) {
			return c.DefaultModel
		}
	}
	return fallback
}

// TestLine is a shell line that sends one small request through the proxy.
func TestLine(s control.Snapshot, shell string) string {
	url := strings.TrimRight(s.Endpoint, "/") + "/v1/messages"
	const body = `{"model":"demo","max_tokens":32,"messages":[{"role":"user","content":"hello"}]}`
	switch shell {
	case ShellPowerShell:
		return "Invoke-RestMethod " + url + " -Method Post -ContentType application/json -Body '" + body + "'"
	case ShellCmd:
		return "curl -s " + url + ` -H "content-type: application/json" -d "` + strings.ReplaceAll(body, `"`, `\"`) + `"`
	}
	return "curl -s " + url + " -H 'content-type: application/json' -d '" + body + "'"
}
