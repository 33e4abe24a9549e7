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
}

// direct keeps a client from sending what is meant for this machine through an
// outbound proxy (case P58).
const direct = "NO_PROXY=127.0.0.1,localhost,::1 "

// Setups returns the set-up lines for the clients, with models that the
// connections offer where a line needs one.
func Setups(s control.Snapshot) []Setup {
	end := strings.TrimRight(s.Endpoint, "/")
	claude := Setup{
		Client: "Claude Code",
		Line:   fmt.Sprintf(direct+"ANTHROPIC_BASE_URL=%s ANTHROPIC_AUTH_TOKEN=local claude", end),
		Note:   T("Any token will do: Breakwater puts in the key of the connection."),
	}
	if slices.ContainsFunc(s.Connections, func(c control.Connection) bool { return c.Credential == "passthrough" && c.Active }) {
		claude.Line = fmt.Sprintf(direct+"ANTHROPIC_BASE_URL=%s claude", end)
		claude.Note = T("Stay signed in: your subscription's sign-in is passed through.")
	}
	return []Setup{
		claude,
		{
			Client: "Codex",
			Line: fmt.Sprintf(direct+`codex -m %s -c model_provider=breakwater -c 'model_providers.breakwater={name="breakwater",base_url="%s/v1",wire_api="responses"}'`,
				model(s, "responses", "gpt-5"), end),
			Note: T("The same keys can live in ~/.codex/config.toml."),
		},
		{
			Client: "aider",
			Line:   fmt.Sprintf(direct+"OPENAI_API_BASE=%s/v1 OPENAI_API_KEY=local aider --model openai/%s", end, model(s, "chat", "MODEL")),
			Note:   T("The prefix openai/ picks the dialect and is not sent."),
		},
		{
			Client: "opencode",
			Line:   fmt.Sprintf(direct+`OPENCODE_CONFIG_CONTENT='{"provider":{"anthropic":{"options":{"baseURL":"%s/v1","apiKey":"local"}}}}' opencode`, end),
			Note:   T("The same keys can live in ~/.config/opencode/opencode.json."),
		},
		{
			Client: "Continue",
			Line: fmt.Sprintf("models:\n  - name: Breakwater\n    provider: openai\n    model: %s\n    apiBase: %s/v1\n    apiKey: local\n    requestOptions:\n      noProxy: [\"127.0.0.1\", \"localhost\", \"::1\"]",
				model(s, "chat", "MODEL"), end),
			Note: T("For ~/.continue/config.yaml, and much the same for other clients of the OpenAI API."),
		},
	}
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
func TestLine(s control.Snapshot) string {
	return fmt.Sprintf(`curl -s %s/v1/messages -H 'content-type: application/json' -d '{"model":"demo","max_tokens":32,"messages":[{"role":"user","content":"hello"}]}'`,
		strings.TrimRight(s.Endpoint, "/"))
}
