package dialect

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// Refusal is an error answer of our own, to be put into the client's dialect.
type Refusal struct {
	Status  int
	Type    string // the Anthropic error type; OpenAI dialects get their own word for it
	Code    string // machine-readable reason
	Message string // for people: what happened, what it means, when it ends
	// Extra are further fields of the error object, such as reset_seconds.
	Extra map[string]any
}

// http429 is "too many requests"; this package does not know HTTP.
const http429 = 429

func frame(event string, data []byte) []byte {
	var b bytes.Buffer
	if event != "" {
		b.WriteString("event: " + event + "\n")
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	return b.Bytes()
}

// marshal never fails: it is given maps of plain values. Angle brackets stay
// readable.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(`{"error":{"message":"internal error"}}`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// TypeFor is the Anthropic error type that goes with a status.
func TypeFor(status int) string {
	switch status {
	case 400, 405, 422:
		return "invalid_request_error"
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 504:
		return "timeout_error"
	}
	return "api_error"
}

// IsErrorDocument reports whether a JSON answer with a good status is an error
// all the same: it has an error and no answer.
func IsErrorDocument(doc []byte) bool {
	if !bytes.Contains(doc, errorKey) {
		return false
	}
	r := gjson.GetManyBytes(doc, "error", "choices", "content", "output", "input_tokens", "data")
	if !r[0].IsObject() && r[0].Type != gjson.String {
		return false
	}
	for _, answer := range r[1:] {
		if answer.Exists() {
			return false
		}
	}
	return true
}

// answerKeys are the fields of which every answer of a dialect, or of a server
// that speaks nearly one, has some.
var answerKeys = []string{
	"choices", "content", "output", "input_tokens", "data", "object", "id", "model", "usage", "completion", "candidates", "role",
}

// IsForeign reports whether a whole JSON document has no field of an answer in
// any dialect: a filter or a portal wrote it (ruling 56).
func IsForeign(doc []byte) bool {
	if !gjson.ValidBytes(doc) || !gjson.ParseBytes(doc).IsObject() {
		return false
	}
	for _, found := range gjson.GetManyBytes(doc, answerKeys...) {
		if found.Exists() {
			return false
		}
	}
	return true
}
