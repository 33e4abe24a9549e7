// Package errbody reads an upstream's error body, whole or cut, as words and
// as JSON, without ever failing.
package errbody

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"
)

// The bounds of what is looked at. An error body is short; whatever lies
// beyond is a page or an attack, and classification must stay cheap.
const (
	maxHead    = 32 << 10
	maxDepth   = 12
	maxObjects = 512
)

// Body is the head of an error body. The zero value is an empty body.
type Body struct {
	raw     string
	objects []map[string]any
	strings []string
	shape   Shape
	states  statements
}

// Parse reads head, of which at most 32 KiB count. It accepts JSON, JSON in an
// event-stream frame, JSON packed into a JSON string, and plain words.
func Parse(head []byte) Body {
	if len(head) > maxHead {
		head = head[:maxHead]
	}
	b := Body{raw: strings.ToValidUTF8(string(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))), "\uFFFD")}
	text := payload(b.raw)
	v := decode(text)
	b.walk(v, 0)
	b.states = statementsOf(v)
	b.shape = b.shapeOf(text, v)
	return b
}

// payload strips the frame of an event stream from around the JSON.
func payload(s string) string {
	t := strings.TrimSpace(s)
	if t == "" || t[0] == '{' || t[0] == '[' || t[0] == '"' {
		return t
	}
	for line := range strings.Lines(t) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:"); ok {
			return strings.TrimSpace(data)
		}
	}
	return t
}

// decode returns the first JSON value of s, or nil.
func decode(s string) any {
	if s == "" || (s[0] != '{' && s[0] != '[' && s[0] != '"') {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// walk collects objects and strings breadth first within one value, keys in
// order, so that the same body always reads the same.
func (b *Body) walk(v any, depth int) {
	if depth > maxDepth || len(b.objects) >= maxObjects {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		b.objects = append(b.objects, v)
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			b.walk(v[k], depth+1)
		}
	case []any:
		for _, e := range v {
			b.walk(e, depth+1)
		}
	case string:
		b.strings = append(b.strings, v)
		// Aggregators pack the upstream's own body into a string.
		if t := strings.TrimSpace(v); len(t) > 1 && (t[0] == '{' || t[0] == '[') {
			b.walk(decode(t), depth+1)
		}
	}
}

// Words returns the body as the upstream wrote it, followed by its decoded
// strings when the JSON hid characters behind escapes.
func (b Body) Words() string {
	if !strings.Contains(b.raw, `\`) {
		return b.raw
	}
	return b.raw + "\n" + strings.Join(b.strings, "\n")
}

// Text returns Words in lower case.
func (b Body) Text() string { return strings.ToLower(b.Words()) }

// Objects returns every JSON object of the body, outer before inner.
func (b Body) Objects() []map[string]any { return b.objects }

// errorObject returns the object that describes the error: the value of
// "error", or that of "response"."error", or the body itself.
func (b Body) errorObject() map[string]any {
	for _, o := range b.objects {
		if e, ok := o["error"].(map[string]any); ok {
			return e
		}
	}
	if len(b.objects) > 0 {
		return b.objects[0]
	}
	return nil
}

// Code returns the error's code as text, or "".
func (b Body) Code() string { return scalar(b.errorObject()["code"]) }

// Type returns the error's type, or "".
func (b Body) Type() string { return scalar(b.errorObject()["type"]) }

// Message returns the error's message; for a body without one, the words.
func (b Body) Message() string {
	if len(b.objects) == 0 {
		return b.raw
	}
	for _, o := range b.objects {
		if s, ok := o["error"].(string); ok {
			return s
		}
	}
	for _, key := range []string{"message", "detail", "msg"} {
		if s, ok := b.errorObject()[key].(string); ok {
			return s
		}
	}
	return b.raw
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}
