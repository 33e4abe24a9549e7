package view

import (
	"sync/atomic"

	"breakwater/app/i18n"
	"breakwater/proxy/control"
)

// spoken are the reasons in the language of the last call.
var spoken atomic.Pointer[vocabulary]

type vocabulary struct {
	lang  string
	words map[string]string
}

// reasons returns the words for the guide's reasons, for the engine's skips
// and for our own refusals, made anew when the language changes.
func reasons() map[string]string {
	lang := i18n.Lang()
	if v := spoken.Load(); v != nil && v.lang == lang {
		return v.words
	}
	v := &vocabulary{lang: lang, words: reasonWords()}
	spoken.Store(v)
	return v.words
}

func reasonWords() map[string]string {
	return map[string]string{
		"rate_limit_exceeded":               T("rate limited"),
		"quota_exhausted":                   T("quota used up"),
		"model_capacity":                    T("model at capacity"),
		"server_error":                      T("server error"),
		"auth_error":                        T("credential refused"),
		"not_found":                         T("not found"),
		"service_not_running":               T("server is not running"),
		"concurrency_limited":               T("too many requests at once"),
		"request_rejected":                  T("request rejected"),
		"invalid_previous_response_binding": T("belongs to another account"),
		"executor_contract_violation":       T("answer broke the protocol"),
		"provider_model_unsupported":        T("model is not offered"),
		"stream_content_stall":              T("stream stalled"),
		"stream_truncated":                  T("stream was cut short"),
		"empty_answer":                      T("empty answer"),
		"network_error":                     T("network error"),
		"client_disconnected":               T("client went away"),
		"upstream_closed_request":           T("closed by the provider"),
		"local_timeout":                     T("took too long"),
		"local_error":                       T("error on this machine"),
		"request_invalid":                   T("request is not valid"),
		"fingerprint_rejection":             T("client refused by the provider"),
		"reasoning_removed":                 T("asked for no thinking"),
		"history_expanded":                  T("the conversation that another account stores was written out"),
		"foreign_reasoning":                 T("reasoning of another account refused"),
		"compacted_history":                 T("only another account can read the conversation"),
		"not_api":                           T("a web page came instead of an answer"),
		"wrong_address":                     T("wrong address"),
		"needs_attention":                   T("needs attention"),
		"off":                               T("switched off"),
		"tried":                             T("failed already for this request"),
		"cooling":                           T("cooling"),
		"model_locked":                      T("model locked"),
		"breaker_open":                      T("breaker open"),
		"probing":                           T("a probe is out"),
		"provider_cooldown":                 T("provider cooling"),
		"banned":                            T("account banned"),
		"expired":                           T("credential expired"),
		"credits_exhausted":                 T("no credit left"),
		"key_missing":                       T("key missing"),
		"upstream_rate_limited":             T("rate limited"),
		"upstream_auth_error":               T("credential refused"),
		"upstream_unavailable":              T("provider unavailable"),
		"upstream_error":                    T("upstream error"),
		"account_deactivated":               T("account deactivated"),
		"token_expired":                     T("token expired"),
		"all_targets_cooling_down":          T("everything is cooling down"),
		"all_connections_cooling_down":      T("everything is cooling down"),
		"no_connection_available":           T("no connection is available"),
		"upstream_stream_broken":            T("stream from the provider broke"),
		"invalid_body":                      T("request body could not be read"),
		"body_too_large":                    T("request body is too large"),
		"unknown_encoding":                  T("request body is encoded in an unknown way"),
		"AUTH_002":                          T("key of Breakwater missing or wrong"),
		"provider_circuit_open":             T("breaker open"),
		"no_connection":                     T("no connection speaks this dialect"),
		"paused":                            T("Breakwater is paused"),
		"end_added":                         T("missing end of the stream added"),
		"event_names_added":                 T("missing event names added"),
		"stream_from_json":                  T("JSON response converted to a stream"),
		"json_from_stream":                  T("stream converted to a JSON response"),
	}
}

// Reason returns a reason in words; a word it does not know is shown with
// spaces for underscores, and "unknown" as nothing.
func Reason(code string) string {
	if code == "" || code == "unknown" {
		return ""
	}
	if w, ok := reasons()[code]; ok {
		return w
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
	case "body", "google_rpc_retry_info", "quota":
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
	case testClient:
		return T("test request")
	case "", "unknown":
		return T("a client")
	}
	return id
}

// dialectNames are the short names of the dialects, for people.
var dialectNames = map[string]string{"anthropic": "Messages", "chat": "Chat", "openai": "Chat", "responses": "Responses"}

// Dialect returns the short name of a dialect for people; one that has none is
// shown as it is.
func Dialect(id string) string {
	if short, ok := dialectNames[id]; ok {
		return short
	}
	return id
}

// whyOf says why a connection is in its state: in the refusal's own words (ruling
// 62), else by the reason.
func whyOf(c control.Connection) string {
	switch own := i18n.Why(c); {
	case own != "":
		return own
	case c.ErrorCode == 403 && c.Reason == "quota_exhausted": // a refusal is no limit (case Q10)
		return Reason("auth_error")
	}
	return Reason(c.Reason)
}

// lastError returns the last failure of a connection in words.
func lastError(c control.Connection) string {
	word := whyOf(c)
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
