package view

import (
	"strings"
	"testing"

	"breakwater/proxy/control"
)

func TestSetupsAreWrittenForEachShell(t *testing.T) {
	s := control.Snapshot{Endpoint: "http://127.0.0.1:7411"}
	for shell, want := range map[string]map[string]string{
		ShellFish: {
			"Claude Code": "env NO_PROXY=127.0.0.1,localhost,::1 ANTHROPIC_BASE_URL=http://127.0.0.1:7411 ANTHROPIC_AUTH_TOKEN=local claude",
			"opencode":    `env NO_PROXY=127.0.0.1,localhost,::1 OPENCODE_CONFIG_CONTENT='{"provider":{"anthropic":{"options":{"baseURL":"http://127.0.0.1:7411/v1","apiKey":"local"}}}}' opencode`,
		},
		ShellPowerShell: {
			"Claude Code": "$env:NO_PROXY = \"127.0.0.1,localhost,::1\"\n$env:ANTHROPIC_BASE_URL = \"http://127.0.0.1:7411\"\n$env:ANTHROPIC_AUTH_TOKEN = \"local\"\nclaude",
			"Codex":       "$env:NO_PROXY = \"127.0.0.1,localhost,::1\"\n" + `codex -m gpt-5 -c model_provider=breakwater -c "model_providers.breakwater={name='breakwater',base_url='http://127.0.0.1:7411/v1',wire_api='responses'}"`,
			"opencode":    "$env:NO_PROXY = \"127.0.0.1,localhost,::1\"\n" + `$env:OPENCODE_CONFIG_CONTENT = '{"provider":{"anthropic":{"options":{"baseURL":"http://127.0.0.1:7411/v1","apiKey":"local"}}}}'` + "\nopencode",
		},
		ShellCmd: {
			"aider":    "set \"NO_PROXY=127.0.0.1,localhost,::1\"\nset \"OPENAI_API_BASE=http://127.0.0.1:7411/v1\"\nset \"OPENAI_API_KEY=local\"\naider --model openai/MODEL",
			"opencode": "set \"NO_PROXY=127.0.0.1,localhost,::1\"\n" + `set "OPENCODE_CONFIG_CONTENT={"provider":{"anthropic":{"options":{"baseURL":"http://127.0.0.1:7411/v1","apiKey":"local"}}}}"` + "\nopencode",
		},
	} {
		for _, l := range Setups(s, shell) {
			if w, ok := want[l.Client]; ok && l.Line != w {
				t.Errorf("%s, %s:\n%s\nwant\n%s", shell, l.Client, l.Line, w)
			}
			if says := strings.Contains(l.Note, "setx"); says != (!l.File && (shell == ShellPowerShell || shell == ShellCmd)) {
				t.Errorf("%s, %s: %s", shell, l.Client, l.Note)
			}
		}
	}
	if UsualShell("windows") != ShellPowerShell || UsualShell("darwin") != ShellPosix {
		t.Error("the usual shells")
	}
	if got := Setups(s, ShellPosix)[4]; !got.File || got.Line != Setups(s, ShellCmd)[4].Line {
		t.Errorf("a file differs between shells: %+v", got)
	}
}

func TestQuotes(t *testing.T) {
	for in, want := range map[string][2]string{
		"plain":   {"plain", `"plain"`},
		"a b":     {"'a b'", `"a b"`},
		`it's "x`: {`'it'\''s "x'`, `'it''s "x'`},
		"$HOME":   {"'$HOME'", "'$HOME'"},
	} {
		if got := [2]string{posixQuote(in), psQuote(in)}; got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestTheTestLineFitsTheShell(t *testing.T) {
	s := control.Snapshot{Endpoint: "http://127.0.0.1:7411/"}
	for shell, want := range map[string]string{
		ShellPosix:      `curl -s http://127.0.0.1:7411/v1/messages -H 'content-type: application/json' -d '{"model":"demo"`,
		ShellPowerShell: `Invoke-RestMethod http://127.0.0.1:7411/v1/messages -Method Post -ContentType application/json -Body '{"model":"demo"`,
		ShellCmd:        `curl -s http://127.0.0.1:7411/v1/messages -H "content-type: application/json" -d "{\"model\":\"demo\"`,
	} {
		if got := TestLine(s, shell); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", shell, got)
		}
	}
}
