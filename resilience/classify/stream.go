package classify

import (
	"strconv"
	"strings"

	"breakwater/resilience/hint/errbody"
	"breakwater/resilience/outcome"
)

// errorStatus maps the error words of the three dialects and of Google to the
// status they would have had (Claude sheet §4.3, §5, §6.5).
var errorStatus = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
	"not_found_error": 404, "conflict_error": 409, "request_too_large": 413, "rate_limit_error": 429,
	"api_error": 500, "timeout_error": 504, "overloaded_error": statusOverloaded, "overloaded": statusOverloaded,

	"server_error": 500, "internal_server_error": 500, "internal_error": 500, "service_unavailable": 503,
	"service_unavailable_error": 503, "bad_gateway": 502, "gateway_timeout": 504, "timeout": 504,
	"server_is_overloaded": statusOverloaded, "slow_down": 429, "rate_limit_exceeded": 429, "insufficient_quota": 429,
	"usage_limit_reached": 429, "too_many_requests": 429, "quota_exceeded": 429, "tokens": 429, "requests": 429,
	"invalid_api_key": 401, "invalid_authentication": 401, "payment_required": 402, "insufficient_credits": 402,
	"model_not_found": 404, "deployment_not_found": 404, "context_length_exceeded": 400, "invalid_prompt": 400,
	"bad_request": 400, "unsupported_country_region_territory": 403,

	"resource_exhausted": 429, "unavailable": 503, "internal": 500, "unknown": 500, "deadline_exceeded": 504,
	"invalid_argument": 400, "failed_precondition": 400, "permission_denied": 403, "unauthenticated": 401,
	"not_found": 404, "aborted": 409,
}

// StreamStatus reads the JSON of one stream event of any dialect and returns
// the status that the error in it stands for; ok is false for an event that is
// no error. An error without a known word counts as 500.
func StreamStatus(event []byte) (status int, ok bool) {
	return streamStatus(errbody.Parse(event))
}

func streamStatus(b errbody.Body) (int, bool) {
	objects := b.Objects()
	if len(objects) == 0 {
		return 0, false
	}
	root := objects[0]
	kind, _ := root["type"].(string)
	e := root["error"]
	if r, isObject := root["response"].(map[string]any); isObject && kind == "response.failed" {
		e = r["error"]
	}
	if (e == nil || e == false) && kind != "error" && kind != "response.failed" {
		return 0, false
	}
	detail, isObject := e.(map[string]any)
	if !isObject {
		detail = root
	}
	for _, key := range []string{"status_code", "http_status", "status", "code", "type"} {
		if s, known := statusOf(detail[key]); known {
			return s, true
		}
	}
	if text, isText := e.(string); isText {
		if s, known := statusOf(text); known {
			return s, true
		}
	}
	return statusFromWords(b), true
}

// statusOf reads a status from a number or a known word.
func statusOf(v any) (int, bool) {
	var s string
	switch v := v.(type) {
	case string:
		s = v
	case interface{ String() string }: // json.Number
		s = v.String()
	default:
		return 0, false
	}
	if n, err := strconv.Atoi(s); err == nil {
		return n, n >= 400 && n <= 599
	}
	n, known := errorStatus[strings.ToLower(s)]
	return n, known
}

// statedStatus is the status of an error in the provider's own shape that came
// with a good one, by its number or its words; ok is false when it has neither.
func statedStatus(b errbody.Body) (status int, ok bool) {
	for _, o := range b.Objects()[:min(1, len(b.Objects()))] {
		for _, key := range []string{"status_code", "http_status", "status", "code"} {
			if s, known := statusOf(o[key]); known {
				return s, true
			}
		}
	}
	s := statusFromWords(b)
	return s, s != 500
}

// statusFromWords is the last resort for an error without a code.
func statusFromWords(b errbody.Body) int {
	f := &facts{body: b, text: b.Text(), said: b.Said(), own: b.OwnWords(), quotaText: quotaIn(b.Text())}
	switch textReason(f) {
	case outcome.ReasonQuota, outcome.ReasonRateLimit:
		return 429
	case outcome.ReasonModelCapacity:
		return statusOverloaded
	case outcome.ReasonAuth:
		return 401
	}
	return 500
}

// StreamEvent classifies an error event inside a 200 stream before the commit
// point like an error status (ruling 18). in.Body is the event's JSON,
// in.Status is ignored; ok is false for an event that is no error.
func StreamEvent(in Input) (o outcome.Outcome, ok bool) {
	status, ok := StreamStatus(in.Body)
	if !ok {
		return outcome.Outcome{}, false
	}
	in.Status = status
	return Response(in), true
}
