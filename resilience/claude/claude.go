// Package claude provides what a Claude subscription needs at its five-hour
// wall: the low-priority lane, the limit reset and the record of its windows.
package claude

import (
	"math"
	"strings"
	"time"
)

// ProviderID is the catalogue's id of the provider that all of this is for.
const ProviderID = "claude"

// bearerPrefix begins the OAuth tokens of a subscription.
const bearerPrefix = "sk-ant-oat"

// The header that joins the lane. It is never sent before the upstream has
// offered the lane and the offer was accepted.
const (
	LaneHeader = "anthropic-usage-limit"
	LaneValue  = "slow"
)

// maxKeys bounds every map of this package: the keys of passthrough
// connections change with each token.
const maxKeys = 10_000

// Switches are the two opt-ins of a connection, both off by default. A change
// takes effect on the next request (ruling 22).
type Switches struct {
	LowPriority bool // lowPriorityMode
	AutoReset   bool // autoLimitReset
}

// Either reports that at least one is on: the preflight then ignores a used-up
// session window, else the wall would never be met and nothing could start.
func (s Switches) Either() bool { return s.LowPriority || s.AutoReset }

// Call is what decides whether a request is any business of this package.
type Call struct {
	Provider    string
	Bearer      string // the token the upstream will see; looked at, never kept
	APIKey      bool   // the connection has an API key
	CountTokens bool   // no generation: count_tokens
	// OwnLane tells that the client sends LaneHeader itself: it drives a lane of
	// its own, and two drivers of one lane would end it for each other.
	OwnLane bool
}

// Applies reports whether the lane and the reset serve this call.
func (c Call) Applies() bool {
	return c.Provider == ProviderID && strings.HasPrefix(c.Bearer, bearerPrefix) && !c.APIKey && !c.CountTokens && !c.OwnLane
}

// The bounds of the time a request may take until its answer begins (ruling
// 21).
const (
	DefaultStartTimeout = 600 * time.Second
	maxStartTimeoutMs   = 86_400_000
)

// Data is what a connection's provider-specific data says about all of this.
type Data struct {
	Switches     Switches
	Organization string        // UUID for the reset, empty: unknown
	StartTimeout time.Duration // timeoutMs, or DefaultStartTimeout
}

// ReadData reads provider-specific data as decoded from JSON. Only a real true
// opts in, and only a whole number within its bounds is a timeout.
func ReadData(data map[string]any) Data {
	return Data{
		Switches:     Switches{LowPriority: data["lowPriorityMode"] == true, AutoReset: data["autoLimitReset"] == true},
		Organization: firstText(data["organizationUUID"], data["organization_uuid"]),
		StartTimeout: StartTimeout(data["timeoutMs"]),
	}
}

// StartTimeout reads a connection's timeoutMs, 1 to 86 400 000 milliseconds;
// anything else is the default.
func StartTimeout(v any) time.Duration {
	ms := math.NaN()
	switch n := v.(type) {
	case float64:
		ms = n
	case int:
		ms = float64(n)
	case int64:
		ms = float64(n)
	}
	if !(ms >= 1 && ms <= maxStartTimeoutMs) { // NaN is neither
		return DefaultStartTimeout
	}
	return time.Duration(ms * float64(time.Millisecond))
}

func firstText(values ...any) string {
	for _, v := range values {
		if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
			return strings.TrimSpace(s)
		}
	}
	return ""
}
