package watchdog

import (
	"testing"
	"time"
)

const ceiling = 180 * time.Second

func TestReadinessBudget(t *testing.T) {
	codex := func(r Request) Request { r.Provider, r.Model = "codex", "gpt-5.2-codex"; return r }
	tests := []struct {
		name          string
		base, ceiling time.Duration
		r             Request
		want          time.Duration
	}{
		{"case 161 small", 30 * time.Second, ceiling, Request{Items: 3}, 30 * time.Second},
		{"case 162 181 items", 30 * time.Second, ceiling, Request{Items: 181}, 50 * time.Second},
		{"case 162 20 tools", 30 * time.Second, ceiling, Request{Tools: 20}, 45 * time.Second},
		{"case 162 both, codex large", 30 * time.Second, ceiling, codex(Request{Items: 181, Tools: 20}), 95 * time.Second},
		{"case 163 codex high, small", 80 * time.Second, ceiling, codex(Request{Effort: "high"}), 110 * time.Second},
		{"case 163 the same on openai", 80 * time.Second, ceiling, Request{Provider: "openai", Model: "gpt-5.2-codex", Effort: "high"}, 80 * time.Second},
		{"codex low, small", 80 * time.Second, ceiling, codex(Request{Effort: "low"}), 80 * time.Second},
		{"case 164 capped", 80 * time.Second, ceiling, Request{Items: 500, Tools: 20, Bytes: 800_000}, 180 * time.Second},
		{"case 164 other cap", 80 * time.Second, 120 * time.Second, Request{Items: 500, Tools: 20, Bytes: 800_000}, 120 * time.Second},
		{"case 165 off", 0, ceiling, Request{Items: 500}, 0},
		{"case 166 minimax", 80 * time.Second, ceiling, Request{Provider: "minimax", Claude: true}, 110 * time.Second},
		{"case 166 zai", 80 * time.Second, ceiling, Request{Provider: "zai", Claude: true}, 110 * time.Second},
		{"case 166 claude", 80 * time.Second, ceiling, Request{Provider: "claude", Claude: true}, 80 * time.Second},
		{"case 166 anthropic", 80 * time.Second, ceiling, Request{Provider: "anthropic", Claude: true}, 80 * time.Second},
		{"case 166 openai", 80 * time.Second, ceiling, Request{Provider: "openai"}, 80 * time.Second},
		{"case 166 unknown", 80 * time.Second, ceiling, Request{Provider: "somebody", Claude: true}, 80 * time.Second},
		{"minimax in the chat dialect", 80 * time.Second, ceiling, Request{Provider: "minimax"}, 80 * time.Second},
		{"a base above the cap stays", 200 * time.Second, ceiling, Request{Items: 500}, 200 * time.Second},
		{"the steps are exclusive", 30 * time.Second, ceiling, Request{Items: 400, Bytes: 250_000, Tools: 14}, 50 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Readiness(tt.base, tt.ceiling, tt.r); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestStallBudget(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		readiness, floor, want time.Duration
	}{
		{"case 172 the floor", 115 * time.Second, 300 * time.Second, 300 * time.Second},
		{"case 172 readiness above it", 400 * time.Second, 300 * time.Second, 400 * time.Second},
		{"case 172 no floor", 115 * time.Second, 0, 115 * time.Second},
		{"case 172 readiness off", 0, 300 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Stall(tt.readiness, tt.floor); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
