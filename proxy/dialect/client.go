package dialect

import (
	"strings"
	"time"
)

// Client is a kind of client program, known by its headers (ruling 40).
type Client string

// The clients whose habits are known.
const (
	ClaudeCode   Client = "claude-code"
	Codex        Client = "codex"
	OpenCode     Client = "opencode"
	VendorSDK    Client = "sdk"
	Aider        Client = "aider"
	Qwen         Client = "qwen"
	UnknownAgent Client = "unknown"
	// OwnTest is this program's own test request, which is no agent's.
	OwnTest Client = "breakwater"
)

// Profile is what a client honours: it decides how a refusal and a broken
// stream look to it.
type Profile struct {
	Client Client
	// RetryAfterCap is the longest Retry-After that the client obeys; longer
	// ones make it give up or are ignored. Zero means no limit.
	RetryAfterCap time.Duration
	// WaitStatus429 tells that "come back later" must be a 429: the client
	// gives up early on 503 (ruling 41).
	WaitStatus429 bool
	// FinalStatus is the status of an error on which the client was measured to
	// stop at once without ending its login (ruling 71); 0 for none.
	FinalStatus int
	// CutBrokenStream tells that a stream that broke after output is cut and
	// not ended by an error event: the client restarts it then (ruling 44).
	CutBrokenStream bool
	// GivesUp is how long the client waits for the headers of an answer before it
	// hangs up; 0 is not known.
	GivesUp time.Duration
	// Hold is how long response headers may be held back (ruling 45).
	Hold time.Duration
	// Heartbeat is what the client counts as activity in a stream that has not
	// begun: comments do for most, Claude Code knows pings, Codex resets its
	// clock only at a data event.
	Heartbeat []byte
}

var (
	comment   = []byte(": waiting for an answer\n\n")
	ping      = []byte("event: ping\ndata: {\"type\":\"ping\"}\n\n")
	keepAlive = []byte("event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n")
)

// profiles is the table of ruling 40; the order is that of detection.
var profiles = map[Client]Profile{
	ClaudeCode: {ClaudeCode, 59 * time.Second, true, 402, true, 360 * time.Second, 240 * time.Second, ping},
	Codex:      {Codex, 59 * time.Second, true, 400, false, 0, 600 * time.Second, keepAlive},
	OpenCode:   {OpenCode, 59 * time.Second, false, 400, false, 300 * time.Second, 240 * time.Second, comment},
	VendorSDK:  {VendorSDK, 59 * time.Second, false, 400, false, 600 * time.Second, 240 * time.Second, comment},
	Aider:      {Aider, 59 * time.Second, false, 400, false, 600 * time.Second, 240 * time.Second, comment},
	OwnTest:    {OwnTest, 0, false, 0, false, 0, 15 * time.Second, comment},
	// Qwen hangs up 120 s after its request, whatever comments come, and survives a
	// cut in all its modes (clients, section 12).
	Qwen:         {Qwen, 59 * time.Second, false, 400, true, 120 * time.Second, 15 * time.Second, comment},
	UnknownAgent: {UnknownAgent, 0, false, 0, false, 0, 15 * time.Second, comment},
}

// ProfileOf recognises the client by its request headers; get returns a
// header's first value. User agents alone do not settle it: Qwen Code calls
// itself claude-cli but sends no session header.
func ProfileOf(get func(string) string) Profile {
	return profiles[detect(get)]
}

// DefaultProfile is the one of a client nobody knows.
func DefaultProfile() Profile { return profiles[UnknownAgent] }

func detect(get func(string) string) Client {
	agent := strings.ToLower(get("User-Agent"))
	switch {
	case get("X-Claude-Code-Session-Id") != "",
		strings.HasPrefix(agent, "claude-cli/") && get("X-App") == "cli" && get("X-Stainless-Lang") != "":
		return ClaudeCode
	case strings.HasPrefix(get("Originator"), "codex"), strings.HasPrefix(agent, "codex"):
		return Codex
	case get("X-Session-Affinity") != "", strings.HasPrefix(agent, "opencode"):
		return OpenCode
	case strings.HasPrefix(agent, "litellm"), strings.Contains(agent, "aider"):
		return Aider
	case strings.HasPrefix(agent, "qwencode"):
		return Qwen
	case get("X-Stainless-Lang") != "":
		return VendorSDK
	case agent == string(OwnTest):
		return OwnTest
	}
	return UnknownAgent
}
