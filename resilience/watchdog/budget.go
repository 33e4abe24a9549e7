// Package watchdog says from a stream's events when to give it up: nothing
// useful in time, no progress, silence, too little, too long.
package watchdog

import (
	"strings"
	"time"
)

// Request is what the readiness budget depends on (stream sheet §6.2).
type Request struct {
	Provider string // catalogue id
	Model    string
	Items    int // messages or input items
	Tools    int // tools offered
	Bytes    int // size of the body
	// Effort is the reasoning effort asked for, in the client's word.
	Effort string
	// Claude tells that the provider is asked in Anthropic's dialect.
	Claude bool
}

// The bonuses of the readiness budget.
const (
	someItems, manyItems   = 150, 400
	manyTools              = 15
	someBytes, manyBytes   = 250_000, 750_000
	someBonus, manyBonus   = 20 * time.Second, 45 * time.Second
	toolBonus, thinkBonus  = 15 * time.Second, 30 * time.Second
	foreignBonus           = 30 * time.Second
	codexProvider          = "codex"
	codexReasoningFamily   = "gpt-5"
	reasoningEffortHigh    = "high"
	reasoningEffortHighest = "xhigh"
)

// Readiness is how long the first event of a stream may take: base, more for a
// large history, many tools and reasoning, and never more than ceiling, unless
// base is. A base of zero switches the watch off.
func Readiness(base, ceiling time.Duration, r Request) time.Duration {
	if base <= 0 {
		return 0
	}
	bonus := sized(r.Items, someItems, manyItems) + sized(r.Bytes, someBytes, manyBytes)
	if r.Tools >= manyTools {
		bonus += toolBonus
	}
	switch {
	case codexReasons(r, bonus > 0):
		bonus += thinkBonus
	case foreignClaude(r):
		bonus += foreignBonus
	}
	return min(base+bonus, max(base, ceiling))
}

func sized(n, some, many int) time.Duration {
	switch {
	case n > many:
		return manyBonus
	case n > some:
		return someBonus
	}
	return 0
}

// codexReasons reports whether Codex thinks long: at high effort always, else
// for a large request.
func codexReasons(r Request, large bool) bool {
	if r.Provider != codexProvider || !strings.HasPrefix(r.Model, codexReasoningFamily) {
		return false
	}
	return large || r.Effort == reasoningEffortHigh || r.Effort == reasoningEffortHighest ||
		strings.HasSuffix(r.Model, "-high") || strings.HasSuffix(r.Model, "-xhigh")
}

// claudeFormat are providers that serve Anthropic's dialect and are not
// Anthropic; their first event takes longer.
var claudeFormat = map[string]bool{
	"glm": true, "zai": true, "minimax": true, "kimi": true, "kimi-coding": true, "deepseek": true,
}

func foreignClaude(r Request) bool { return r.Claude && claudeFormat[r.Provider] }

// Stall is how long a stream may go without progress: the readiness budget,
// but at least floor (ruling 6). Floor zero leaves the readiness budget alone;
// readiness zero switches the watch off.
func Stall(readiness, floor time.Duration) time.Duration {
	if readiness <= 0 {
		return 0
	}
	return max(readiness, floor)
}
