package simulator

import (
	"net/http"
	"strconv"
	"time"
)

// Error holds the words of an error body or error event. Empty fields are
// filled in by status and dialect.
type Error struct {
	Type    string `json:"type,omitempty"`
	Code    string `json:"code,omitempty"` // OpenAI dialects only
	Message string `json:"message,omitempty"`
}

// RetryAfter is how an answer states a wait: as a date if Date is set, else as
// Retry-After-Ms if Ms is set, else in seconds, which may be zero.
type RetryAfter struct {
	Seconds int      `json:"seconds"`
	Ms      int      `json:"ms,omitempty"`
	Date    Duration `json:"date,omitempty"` // from now
}

func (r RetryAfter) apply(h http.Header, now time.Time) {
	switch {
	case r.Date != 0:
		h.Set("Retry-After", now.Add(time.Duration(r.Date)).UTC().Format(http.TimeFormat))
	case r.Ms != 0:
		h.Set("Retry-After-Ms", strconv.Itoa(r.Ms))
	default:
		h.Set("Retry-After", strconv.Itoa(r.Seconds))
	}
}

// UnifiedLimit is the state of a Claude subscription's windows, sent as
// anthropic-ratelimit-unified headers.
type UnifiedLimit struct {
	Status  string   `json:"status"`          // rejected, allowed or allowed_warning
	Claim   string   `json:"claim,omitempty"` // five_hour, the default, or seven_day
	ResetIn Duration `json:"resetIn"`         // until the claimed window resets
}

func (u UnifiedLimit) apply(h http.Header, now time.Time) {
	const prefix = "Anthropic-Ratelimit-Unified-"
	reset := now.Add(time.Duration(u.ResetIn))
	claimed, other, rest := "5h", "7d", 4*24*time.Hour
	claim := "five_hour"
	if u.Claim == "seven_day" {
		claimed, other, rest, claim = "7d", "5h", 2*time.Hour, u.Claim
	}
	used := "1.0"
	if u.Status != "rejected" {
		used = "0.8"
	}
	set := func(name, value string) { h.Set(prefix+name, value) }
	stamp := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	set("Status", u.Status)
	set("Reset", stamp(reset))
	set("Representative-Claim", claim)
	set("Fallback-Percentage", "0.5")
	set(claimed+"-Status", u.Status)
	set(claimed+"-Reset", stamp(reset))
	set(claimed+"-Utilization", used)
	set(other+"-Status", "allowed")
	set(other+"-Reset", stamp(now.Add(rest)))
	set(other+"-Utilization", "0.4")
	set("Overage-Status", "rejected")
	set("Overage-Disabled-Reason", "org_level_disabled")
}

// words are what the vendors say for a status.
type words struct{ anthropic, openai, code, message string }

var errorWords = map[int]words{
	400: {"invalid_request_error", "invalid_request_error", "", "The request is not valid."},
	401: {"authentication_error", "invalid_request_error", "invalid_api_key", "Incorrect API key provided."},
	402: {"billing_error", "insufficient_quota", "insufficient_quota", "There is no credit left on this account."},
	403: {"permission_error", "invalid_request_error", "forbidden", "This key may not use the resource."},
	404: {"not_found_error", "invalid_request_error", "model_not_found", "The resource does not exist."},
	408: {"timeout_error", "server_error", "request_timeout", "The request timed out."},
	409: {"conflict_error", "invalid_request_error", "conflict", "The resource is being changed by another request."},
	413: {"request_too_large", "invalid_request_error", "request_too_large", "The request is too large."},
	429: {"rate_limit_error", "requests", "rate_limit_exceeded", "This request would exceed the account's rate limit. Please try again later."},
	500: {"api_error", "server_error", "server_error", "Internal server error."},
	502: {"api_error", "server_error", "bad_gateway", "Bad gateway."},
	503: {"api_error", "server_error", "service_unavailable", "The service is temporarily unavailable."},
	504: {"timeout_error", "server_error", "gateway_timeout", "The upstream timed out."},
	529: {"overloaded_error", "server_error", "server_is_overloaded", "Overloaded."},
}

// failure fills in the words that e leaves open.
func (q *request) failure(status int, e *Error) Error {
	w, ok := errorWords[status]
	switch {
	case ok:
	case status >= 500:
		w = errorWords[500]
	default:
		w = errorWords[400]
	}
	out := Error{Type: q.voice().errorType(w), Code: w.code, Message: w.message}
	if e == nil {
		return out
	}
	if e.Type != "" {
		out.Type = e.Type
	}
	if e.Code != "" {
		out.Code = e.Code
	}
	if e.Message != "" {
		out.Message = e.Message
	}
	return out
}

func openAIError(e Error) obj {
	var code any
	if e.Code != "" {
		code = e.Code
	}
	return obj{"message", e.Message, "type", e.Type, "param", nil, "code", code}
}

// responseFailed is the error event of the Responses dialect.
func (q *request) responseFailed(e Error, seq int, bare bool) frame {
	if bare {
		return frame{role: closing, event: "error", data: text(obj{"type", "error", "sequence_number", seq, "error", openAIError(e)})}
	}
	return frame{role: closing, event: "response.failed", data: text(obj{
		"type", "response.failed", "sequence_number", seq,
		"response", q.responseObject("failed", obj{"code", e.Code, "message", e.Message}, nil, arr{}, nil),
	})}
}
