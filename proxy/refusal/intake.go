package refusal

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
)

// pausedWait is when a client of a paused proxy is asked to come back.
const pausedWait = 15 * time.Second

// Key refuses a client that may not use the proxy (settings sheet §2.13).
func Key(err error) Notice {
	n := notice(http.StatusForbidden, "permission_error", "", "")
	switch {
	case errors.Is(err, control.ErrKeyDisabled):
		n.Code, n.Message = "key_disabled", "This Breakwater key is switched off."
	case errors.Is(err, control.ErrKeyExpired):
		n.Code, n.Message = "key_expired", "This Breakwater key has expired."
	case errors.Is(err, control.ErrKeyScope):
		n.Code, n.Message = "key_scope", "This Breakwater key lacks the scope client."
	default:
		return notice(http.StatusUnauthorized, "authentication_error", "AUTH_002",
			"This Breakwater asks for a key. Send it as X-Breakwater-Key, or as the API key of the client.")
	}
	return n
}

// Model refuses a model that the client's key does not allow.
func Model(model string) Notice {
	return notice(http.StatusForbidden, "permission_error", "model_not_allowed",
		"This Breakwater key does not allow the model "+model+".")
}

// SecretModel refuses a model name that holds a connection's key.
func SecretModel() Notice {
	return notice(http.StatusBadRequest, "invalid_request_error", "invalid_model",
		"The model's name holds the key of a connection. It was not sent anywhere.")
}

// Loop refuses a request that has passed this proxy before.
func Loop() Notice {
	return notice(http.StatusLoopDetected, "api_error", "loop_detected",
		"A connection of Breakwater leads back to Breakwater: change its base URL.")
}

// PreviousUnknown refuses a request that continues an answer which only another
// account stores, and whose conversation is not known here (ruling 61).
func PreviousUnknown() Notice {
	n := notice(http.StatusBadRequest, "invalid_request_error", "previous_response_not_found",
		"The response before this one is stored by another account, which cannot serve this request. Send the whole conversation.")
	n.Extra = map[string]any{"param": "previous_response_id"}
	return n
}

// Paused refuses everything while the proxy is paused.
func Paused() Notice {
	n := notice(http.StatusTooManyRequests, "rate_limit_error", "paused",
		"Breakwater is paused. Resume it from its tray menu, its window, or with POST /api/app/pause.")
	n.Wait, n.Manual = pausedWait, true
	return n
}

// BodyTooLarge refuses a body of more than limit bytes.
func BodyTooLarge(limit int64) Notice {
	return notice(http.StatusRequestEntityTooLarge, "request_too_large", "body_too_large",
		fmt.Sprintf("The request body is larger than Breakwater's limit of %d MiB.", limit>>20))
}

// BodyTimeout refuses a body that stopped arriving for the given time.
func BodyTimeout(idle time.Duration) Notice {
	return notice(http.StatusRequestTimeout, "timeout_error", "request_body_timeout",
		fmt.Sprintf("Timed out reading the request body: hardly anything arrived for %v.", idle))
}

// BodyEncoding refuses a Content-Encoding that cannot be read.
func BodyEncoding() Notice {
	return notice(http.StatusUnsupportedMediaType, "invalid_request_error", "unknown_encoding",
		"Breakwater reads request bodies in gzip, deflate, br and zstd, or without an encoding.")
}

// BodyMismatch refuses a body that is not in its Content-Encoding.
func BodyMismatch() Notice {
	return invalidBody("The request body does not match its Content-Encoding.")
}

// BodyCut refuses a body that ended early.
func BodyCut() Notice { return invalidBody("The request body ended early.") }

// BodyInvalid refuses a body that is no request; err says why.
func BodyInvalid(err error) Notice {
	return invalidBody("Breakwater cannot read this request: " + err.Error() + ".")
}

func invalidBody(message string) Notice {
	return notice(http.StatusBadRequest, "invalid_request_error", "invalid_body", message)
}

// Lease refuses a request that its lease does not cover (settings sheet §4.5).
func Lease(e *control.LeaseError) Notice {
	n := notice(e.Status(), "lease_error", e.Code, e.Message)
	if s := e.RetrySeconds(); s > 0 {
		n.Wait = time.Duration(s) * time.Second
	}
	if e.Code == control.LeaseCapacity {
		n.Extra = map[string]any{
			"state": control.StateWaiting, "reason": control.ReasonNoFree, "retryAfter": e.RetrySeconds(),
			"eligibleCount": e.Eligible, "freeCount": 0,
		}
	}
	return n
}

func notice(status int, kind, code, message string) Notice {
	return Notice{Refusal: dialect.Refusal{Status: status, Type: kind, Code: code, Message: message}}
}

// outside is how errors look to a client that nothing is known of.
var outside = dialect.Chat

// Outside answers a request that no inference route serves, in the dialect that
// its path or its headers suggest.
func Outside(path string, header http.Header, status int, code, message string) Answer {
	q := Request{Dialect: outside, Client: dialect.DefaultProfile()}
	if d, ok := dialect.Suggested(path, header.Get); ok {
		q.Dialect = d
	}
	return q.Answer(notice(status, dialect.TypeFor(status), code, message))
}
