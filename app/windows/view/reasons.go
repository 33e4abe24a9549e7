package view

import "breakwater/proxy/control"

// reasons holds the words for the guide's reasons and for the engine's skips.
var reasons = map[string]string{
	"rate_limit_exceeded":               "rate limited",
	"quota_exhausted":                   "quota used up",
	"model_capacity":                    "model at capacity",
	"server_error":                      "server error",
	"auth_error":                        "credential refused",
	"not_found":                         "not found",
	"service_not_running":               "server is not running",
	"concurrency_limited":               "too many requests at once",
	"request_rejected":                  "request rejected",
	"invalid_previous_response_binding": "belongs to another account",
	"executor_contract_violation":       "answer broke the protocol",
	"provider_model_unsupported":        "model is not offered",
	"stream_content_stall":              "stream stalled",
	"stream_truncated":                  "stream was cut short",
	"empty_answer":                      "empty answer",
	"network_error":                     "network error",
	"client_disconnected":               "client went away",
	"local_timeout":                     "took too long",
	"local_error":                       "error on this machine",
	"request_invalid":                   "request is not valid",
	"fingerprint_rejection":             "client refused by the provider",
	"off":                               "switched off",
	"tried":                             "failed already for this request",
	"cooling":                           "cooling",
	"model_locked":                      "model locked",
	"breaker_open":                      "breaker open",
	"probing":                           "a probe is out",
	"provider_cooldown":                 "provider cooling",
	"banned":                            "account banned",
	"expired":                           "credential expired",
	"credits_exhausted":                 "no credit left",
	"upstream_rate_limited":             "rate limited",
	"upstream_auth_error":               "credential refused",
	"upstream_unavailable":              "provider unavailable",
	"upstream_error":                    "upstream error",
	"account_deactivated":               "account deactivated",
	"token_expired":                     "token expired",
	"all_targets_cooling_down":          "everything is cooling down",
	"all_connections_cooling_down":      "everything is cooling down",
	"no_connection_available":           "no connection is available",
	"upstream_stream_broken":            "stream from the provider broke",
	"invalid_body":                      "request body could not be read",
	"body_too_large":                    "request body is too large",
	"unknown_encoding":                  "request body is encoded in an unknown way",
	"AUTH_002":                          "key of Breakwater missing or wrong",
	"provider_circuit_open":             "breaker open",
	"no_connection":                     "no connection speaks this dialect",
	"paused":                            "Breakwater is paused",
}

// Reason returns a reason in words; a word it does not know is shown with
// spaces for underscores, and "unknown" as nothing.
func Reason(code string) string {
	if code == "" || code == "unknown" {
		return ""
	}
	if w, ok := reasons[code]; ok {
		return T(w)
	}
	out := []byte(code)
	for i, b := range out {
		if b == '_' {
			out[i] = ' '
		}
	}
	return string(out)
}

// Source returns in words what set a cooldown's end.
func Source(src string) string {
	switch src {
	case "header":
		return "Retry-After"
	case "body", "google_rpc_retry_info":
		return T("stated by the provider")
	case "ladder":
		return T("backoff ladder")
	case "rule":
		return T("your rule")
	}
	return ""
}

// Client returns the name of a client profile for people.
func Client(id string) string {
	switch id {
	case "claude-code":
		return "Claude Code"
	case "codex":
		return "Codex"
	case "opencode":
		return "opencode"
	case "aider", "litellm":
		return "aider"
	case "anthropic-sdk":
		return "Anthropic SDK"
	case "openai-sdk":
		return "OpenAI SDK"
	case "sdk":
		return "SDK"
	case "", "unknown":
		return T("a client")
	}
	return id
}

// Dialect returns the short name of a dialect for people.
func Dialect(id string) string {
	switch id {
	case "anthropic":
		return "Messages"
	case "chat", "openai":
		return "Chat"
	case "responses":
		return "Responses"
	}
	return id
}

// lastError returns the last failure of a connection in words.
func lastError(c control.Connection) string {
	word := Reason(c.Reason)
	if word == "" {
		word = Reason(c.LastErrorType)
	}
	switch {
	case c.ErrorCode == 0:
		return word
	case word == "":
		return Tf("status %d", c.ErrorCode)
	default:
		return Tf("%d, %s", c.ErrorCode, word)
	}
}
