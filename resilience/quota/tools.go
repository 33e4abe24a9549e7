package quota

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The figures of the tool limits (sheet §7).
const (
	DefaultTools = 128
	maxTools     = 10_000
	toolsTTL     = 24 * time.Hour
)

// fixedTools are the providers whose limit is known and does not move.
var fixedTools = map[string]int{"grok-cli": 200}

// ToolLimits remembers how many tools a request to a provider may carry, as
// far as its refusals told. It is memory only. See NewToolLimits.
type ToolLimits struct {
	fallback int

	mu    sync.Mutex
	known map[string]toolLimit
	swept time.Time
}

type toolLimit struct {
	n  int
	at time.Time
}

// NewToolLimits returns limits of which nothing is known. env is the value of
// OMNIROUTE_MAX_TOOLS_LIMIT; what is no positive whole number counts as
// DefaultTools.
func NewToolLimits(env string) *ToolLimits {
	n, err := strconv.Atoi(strings.TrimSpace(env))
	if err != nil || n <= 0 {
		n = DefaultTools
	}
	return &ToolLimits{fallback: n, known: map[string]toolLimit{}}
}

// Limit returns how many tools a request may carry.
func (t *ToolLimits) Limit(provider string, now time.Time) int {
	if n, ok := fixedTools[provider]; ok {
		return n
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.limit(provider, now)
}

func (t *ToolLimits) limit(provider string, now time.Time) int {
	t.sweep(now)
	if k, ok := t.known[provider]; ok && k.fresh(now) {
		return k.n
	}
	return t.fallback
}

// Learned reports whether a provider has refused a request for its tools within
// the last day.
func (t *ToolLimits) Learned(provider string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.learned(provider, now)
}

func (t *ToolLimits) learned(provider string, now time.Time) bool {
	k, ok := t.known[provider]
	return ok && k.fresh(now)
}

// Learn takes in a refusal and reports whether it told something new: a limit
// below the one in force, or the usual one from a provider that was not heard
// of. Only a 400 teaches.
func (t *ToolLimits) Learn(provider string, status int, body string, now time.Time) bool {
	n, ok := ParseToolLimit(body)
	if status != 400 || !ok || provider == "" {
		return false
	}
	if _, fixed := fixedTools[provider]; fixed {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if limit := t.limit(provider, now); n > limit || n == limit && t.learned(provider, now) {
		return false
	}
	t.known[provider] = toolLimit{n, now}
	return true
}

func (k toolLimit) fresh(now time.Time) bool { return now.Sub(k.at).Abs() < toolsTTL }

// sweep forgets what is a day old, at most once a minute.
func (t *ToolLimits) sweep(now time.Time) {
	if now.Sub(t.swept).Abs() < time.Minute {
		return
	}
	t.swept = now
	for provider, k := range t.known {
		if !k.fresh(now) {
			delete(t.known, provider)
		}
	}
}

// toolCap are the ways in which a refusal states a limit; toolWord must stand
// near it.
var (
	toolWord = regexp.MustCompile(`(?i)\b(?:tools?|functions?)\b`)
	toolCap  = regexp.MustCompile(`(?i)(?:` +
		`max(?:imum)?(?:\s+number)?(?:\s+of)?(?:\s+(?:items|tools|functions|elements))?(?:\s+(?:allowed|supported|permitted))?(?:\s+(?:is|of|are))?|` +
		`(?:at\s+most|up\s+to|no\s+more\s+than|exceeds?\s+(?:the\s+)?(?:limit|maximum)(?:\s+of)?|limit(?:ed)?\s+(?:is|of|to))` +
		`)[\s:=]*(\d{1,9})\b`)
)

// toolUnit follows a number that counts something else.
var toolUnit = regexp.MustCompile(`(?i)^\s*(?:tokens?|char|bytes?|seconds?|%|\.\d)`)

// How far from the number the word may stand that says what it counts, in bytes.
const (
	toolBefore = 60
	toolBehind = 20
	toolText   = 4000 // what is looked at of a body
)

// ParseToolLimit reads the number of tools that a refusal allows.
func ParseToolLimit(text string) (int, bool) {
	text = text[:min(len(text), toolText)]
	for _, m := range toolCap.FindAllStringSubmatchIndex(text, -1) {
		near := text[max(0, m[0]-toolBefore):min(len(text), m[1]+toolBehind)]
		if !toolWord.MatchString(near) || toolUnit.MatchString(text[m[1]:]) {
			continue
		}
		if n, err := strconv.Atoi(text[m[2]:m[3]]); err == nil && n >= 1 && n <= maxTools {
			return n, true
		}
	}
	return 0, false
}
