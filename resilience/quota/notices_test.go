package quota

import (
	"strings"
	"testing"
	"time"
)

func TestToolLimitCases(t *testing.T) {
	for text, want := range map[string]int{
		"'tools': maximum number of items is 128":                     128,
		"Maximum number of tools allowed is 64":                       64,
		"427 tools have been provided but the maximum is 200":         200,
		"Invalid 'tools': array too long. Expected at most 128 items": 128,
		"Too many functions: up to 32 are accepted":                   32,
		"tools: limit is 20":                                          20,
		"number of tools exceeds the limit of 50":                     50,
		"maximum is 200":                           0,
		"tool 'search' not found":                  0,
		"the tool call has 3 arguments":            0,
		"Maximum number of tools allowed is 0":     0,
		"Maximum number of tools allowed is 10001": 0,
		"maximum context length is 8192 tokens":    0,
		"":                                         0,
		"tools are fine, but the temperature must be at most 2.5":                                             0,
		"tools are fine, but the answer may have at most 99 tokens":                                           0,
		"the tools are fine; what is wrong with this request is quite another thing: top_k may be at most 40": 0,
		"toolbox: at most 5 characters":                                                                       0,
		"Maximum number of tools allowed is 99999999999999999999":                                             0,
		`{"error":{"message":"tools: maximum number of items is 128"}}`:                                       128,
	} {
		t.Run("case 187 "+text, func(t *testing.T) {
			if got, ok := ParseToolLimit(text); got != want && ok || ok != (want > 0) {
				t.Errorf("read %d, %v", got, ok)
			}
		})
	}
	const says = "Maximum number of tools allowed is "
	t.Run("case 187 only a 400 teaches", func(t *testing.T) {
		l := NewToolLimits("")
		for _, status := range []int{200, 401, 413, 422, 429, 500} {
			if l.Learn("acme", status, says+"64", t0) {
				t.Errorf("%d taught", status)
			}
		}
		if !l.Learn("acme", 400, says+"64", t0) || l.Limit("acme", t0) != 64 || l.Limit("other", t0) != 128 {
			t.Errorf("limits %d, %d", l.Limit("acme", t0), l.Limit("other", t0))
		}
		if l.Learn("", 400, says+"5", t0) || l.Learn("acme", 400, "no", t0) {
			t.Error("nothing taught something")
		}
	})
	t.Run("case 188 only lowered", func(t *testing.T) {
		l := NewToolLimits("")
		l.Learn("acme", 400, says+"100", t0)
		l.Learn("acme", 400, says+"120", t0)
		l.Learn("grok-cli", 400, says+"150", t0)
		if l.Limit("acme", t0) != 100 || l.Limit("grok-cli", t0) != 200 {
			t.Errorf("limits %d, %d", l.Limit("acme", t0), l.Limit("grok-cli", t0))
		}
		if l.Learn("wide", 400, says+"500", t0) || l.Limit("wide", t0) != 128 {
			t.Errorf("raised to %d", l.Limit("wide", t0))
		}
	})
	t.Run("forgotten after a day, whichever way the clock was set", func(t *testing.T) {
		for _, later := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
			l := NewToolLimits("")
			l.Learn("acme", 400, says+"64", t0)
			if got := l.Limit("acme", t0.Add(later-later/1000)); got != 64 {
				t.Errorf("a moment before: %d", got)
			}
			if got := l.Limit("acme", t0.Add(later)); got != 128 || len(l.known) != 0 {
				t.Errorf("then: %d, %v", got, l.known)
			}
		}
	})
	t.Run("the default of the environment", func(t *testing.T) {
		for env, want := range map[string]int{"": 128, "64": 64, " 256 ": 256, "0": 128, "-5": 128, "1.5": 128, "many": 128} {
			if got := NewToolLimits(env).Limit("acme", t0); got != want {
				t.Errorf("%q: %d", env, got)
			}
		}
	})
}

func TestBackgroundCases(t *testing.T) {
	for _, c := range []struct {
		name string
		task Task
		want string
	}{
		{"case 189 a title", Task{System: "You must Generate a Title for the chat.", UserTurns: 1}, "system"},
		{"case 189 x-task-type", Task{Header: headers("X-Task-Type", "Background"), UserTurns: 20}, "x-task-type"},
		{"case 189 max_tokens 10", Task{MaxTokens: 10, UserTurns: 9}, "max_tokens"},
		{"case 189 a conversation", Task{System: "You are a helpful assistant.", UserTurns: 12, MaxTokens: 4096}, ""},
		{"x-request-priority", Task{Header: headers("x-request-priority", "background")}, "x-request-priority"},
		{"x-initiator", Task{Header: headers("X-INITIATOR", " background ")}, "x-initiator"},
		{"another initiator", Task{Header: headers("x-initiator", "agent")}, ""},
		{"49 tokens", Task{MaxTokens: 49}, "max_tokens"},
		{"50 tokens", Task{MaxTokens: 50}, ""},
		{"a summary", Task{System: "Summarize the conversation so far", UserTurns: 3}, "system"},
		{"a summary after a long talk", Task{System: "Summarize the conversation so far", UserTurns: 4}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if why, ok := c.task.Background(); why != c.want || ok != (c.want != "") {
				t.Errorf("%q, %v", why, ok)
			}
		})
	}
	for value, want := range map[string]Degrade{
		"": {}, "true": {Strip: true, Warn: true}, " true\n": {Strip: true, Warn: true}, "false": {Strip: true}, "null": {Strip: true}, `"true"`: {Strip: true}, "1": {Strip: true},
	} {
		if got := DegradeBackground(value); got != want {
			t.Errorf("%q: %+v", value, got)
		}
	}
}

func FuzzParseToolLimit(f *testing.F) {
	for _, text := range []string{"", "'tools': maximum number of items is 128", "427 tools have been provided but the maximum is 200", strings.Repeat("tools max ", 99)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := ParseToolLimit(text); ok != (n >= 1) || n > 10_000 || n < 0 {
			t.Errorf("%d, %v", n, ok)
		}
	})
}

func BenchmarkPreflight(b *testing.B) {
	s, known := on(), account(50, 60)
	for b.Loop() {
		Preflight(t0, s, Account{Provider: "claude"}, "claude-opus-4-5", known)
	}
}
