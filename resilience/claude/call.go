package claude

import (
	"strings"
	"time"
)

// BaseURL is where the side calls go unless a setting points elsewhere.
const BaseURL = "https://api.anthropic.com"

// oauthBeta is the capability that OAuth tokens need.
const oauthBeta = "oauth-2025-04-20"

// askBankedCredits adds the block of banked credits to the status call (ruling
// 20: off).
const askBankedCredits = false

// Call bodies, and how long a side call may take.
const (
	claimBody        = `{"program":"` + program + `"}`
	statusTimeout    = 5 * time.Second
	claimTimeout     = 25 * time.Second
	bootstrapTimeout = 10 * time.Second
	usageTimeout     = 10 * time.Second
)

// SideCall is a request beside the traffic. The caller adds the base URL, the
// account's bearer and an honest User-Agent.
type SideCall struct {
	Method  string
	Path    string // with query, escaped
	Header  map[string][]string
	Body    string // JSON, or empty
	Timeout time.Duration
}

// Reply is the end of a side call.
type Reply struct {
	Status int // HTTP status
	Header map[string][]string
	Body   []byte // the first MaxReply bytes
	Failed bool   // no answer: timeout, connection error, panic
}

func (r Reply) good() bool { return !r.Failed && r.Status >= 200 && r.Status < 300 }

func statusCall() SideCall {
	query := "at_wall=1&skip_spend=1"
	if askBankedCredits {
		query = "at_wall=1&cedar_ember=1&skip_spend=1"
	}
	return SideCall{Method: "GET", Path: usagePath + "?" + query, Header: jsonHeaders(), Timeout: statusTimeout}
}

func claimCall(organization string) SideCall {
	return SideCall{
		Method: "POST", Path: "/api/organizations/" + escape(organization) + "/reset_rate_limits",
		Header: jsonHeaders(), Body: claimBody, Timeout: claimTimeout,
	}
}

func bootstrapCall() SideCall {
	return SideCall{Method: "GET", Path: "/api/claude_cli/bootstrap", Header: betaHeader(), Timeout: bootstrapTimeout}
}

const usagePath = "/api/oauth/usage"

// UsageCall asks for the windows of an account (Claude sheet §3.7). Usages.Due
// says when it may be made.
func UsageCall() SideCall {
	return SideCall{Method: "GET", Path: usagePath, Header: betaHeader(), Timeout: usageTimeout}
}

func betaHeader() map[string][]string {
	return map[string][]string{"Anthropic-Beta": {oauthBeta}}
}

func jsonHeaders() map[string][]string {
	h := betaHeader()
	h["Accept"], h["Content-Type"] = []string{"application/json, text/plain, */*"}, []string{"application/json"}
	return h
}

// usable reports whether an organisation may stand in a path: one of dots
// alone would climb out of it.
func usable(organization string) bool {
	return strings.Trim(organization, ".") != "" && len(organization) <= 128
}

// escape makes a text one segment of a path.
func escape(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String()
}
