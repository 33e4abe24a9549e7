package dialect

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Errors that ReadBody returns. All are the client's fault.
var (
	ErrNotObject = errors.New("the body is not a JSON object")
	ErrTorn      = errors.New("the body is not complete JSON")
	ErrDoubled   = errors.New("the body has the same top-level field twice")
	ErrNoModel   = errors.New("the body has no model name")
	ErrModelName = errors.New("the model name is longer than 512 bytes or has control characters in it")
)

// maxModelName bounds a model name, in bytes: it is kept with the activity and
// shown, and no real one comes near.
const maxModelName = 512

// Body is what the proxy must know of a request body. It points into the raw
// bytes, which are forwarded as they are.
type Body struct {
	Raw    []byte
	Model  string
	Stream bool
	// Items counts the messages or input items, Tools the tools offered, and
	// Effort is the reasoning effort asked for: what a long first wait may be
	// due to.
	Items, Tools int
	Effort       string
	// Background is the JSON of the field of that name, empty when absent.
	Background string
	// Choices is how many answers a chat request asks for, 0 when it does not
	// say.
	Choices int

	modelAt, modelEnd int // of the model's JSON value, quotes included
}

// ReadBody finds the model name and the stream switch at the top level of a
// request. It walks over the other values without decoding them. A top-level
// field given twice is refused: readers differ in which one they take, and the
// one we rewrite might not be the one the upstream obeys.
func ReadBody(raw []byte) (Body, error) {
	b := Body{Raw: raw}
	hasModel, hasStream := false, false
	err := eachField(raw, func(key []byte, at, end, elements int) error {
		switch string(plainKey(key)) {
		case "model":
			if hasModel {
				return ErrDoubled
			}
			v := gjson.ParseBytes(raw[at:end])
			if v.Type != gjson.String || v.Str == "" {
				return ErrNoModel
			}
			if !utf8.ValidString(v.Str) {
				v.Str = string([]rune(v.Str)) // as every decoder reads it
			}
			if len(v.Str) > maxModelName || strings.ContainsFunc(v.Str, unicode.IsControl) {
				return ErrModelName
			}
			b.Model, b.modelAt, b.modelEnd, hasModel = v.Str, at, end, true
		case "stream":
			if hasStream {
				return ErrDoubled
			}
			b.Stream, hasStream = string(raw[at:end]) == "true", true
		case "messages", "input":
			b.Items = elements
		case "tools":
			b.Tools = elements
		case "n":
			b.Choices = int(gjson.ParseBytes(raw[at:end]).Int())
		case "background":
			b.Background = string(raw[at:end])
		case "reasoning":
			b.Effort = gjson.GetBytes(raw[at:end], "effort").Str
		case "reasoning_effort":
			b.Effort = gjson.ParseBytes(raw[at:end]).Str
		}
		return nil
	})
	if err == nil && !hasModel {
		err = ErrNoModel
	}
	return b, err
}

// WantsUsage reports whether a chat request asks for figures at the end of its
// stream.
func (b Body) WantsUsage() bool {
	return gjson.GetBytes(b.Raw, "stream_options.include_usage").Bool()
}

// WithModel returns the body with another model name in place of its own; all
// other bytes stay as they are. It returns the raw bytes themselves when the
// name does not change.
func (b Body) WithModel(model string) []byte {
	if model == b.Model {
		return b.Raw
	}
	out := make([]byte, 0, len(b.Raw)+len(model)+2)
	out = append(out, b.Raw[:b.modelAt]...)
	out = appendJSONString(out, model)
	return append(out, b.Raw[b.modelEnd:]...)
}

// appendJSONString quotes s as JSON. Model names hardly ever need escapes.
func appendJSONString(out []byte, s string) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < 0x20:
			out = append(out, `\u00`...)
			out = append(out, "0123456789abcdef"[r>>4], "0123456789abcdef"[r&15])
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}

// plainKey decodes a key; only one with escapes costs anything.
func plainKey(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	return []byte(gjson.Parse(`"` + string(key) + `"`).Str)
}

// eachField calls f with the key (without quotes) and the value's range of
// every top-level field, and the number of elements if it is a list.
func eachField(raw []byte, f func(key []byte, at, end, elements int) error) error {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' {
		return ErrNotObject
	}
	i = skipSpace(raw, i+1)
	if i < len(raw) && raw[i] == '}' {
		return trailing(raw, i+1)
	}
	for {
		if i >= len(raw) || raw[i] != '"' {
			return ErrTorn
		}
		keyEnd := skipString(raw, i)
		if keyEnd < 0 {
			return ErrTorn
		}
		key := raw[i+1 : keyEnd-1]
		i = skipSpace(raw, keyEnd)
		if i >= len(raw) || raw[i] != ':' {
			return ErrTorn
		}
		at := skipSpace(raw, i+1)
		end, elements := skipValue(raw, at)
		if end <= at {
			return ErrTorn
		}
		if err := f(key, at, end, elements); err != nil {
			return err
		}
		i = skipSpace(raw, end)
		switch {
		case i >= len(raw):
			return ErrTorn
		case raw[i] == ',':
			i = skipSpace(raw, i+1)
		case raw[i] == '}':
			return trailing(raw, i+1)
		default:
			return ErrTorn
		}
	}
}

func trailing(raw []byte, i int) error {
	if skipSpace(raw, i) != len(raw) {
		return ErrTorn
	}
	return nil
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index behind the closing quote of the string that
// begins at i, or -1.
func skipString(raw []byte, i int) int {
	i++
	for i < len(raw) {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return -1
		}
		end := i + n
		slashes := 0
		for p := end - 1; p >= i && raw[p] == '\\'; p-- {
			slashes++
		}
		if slashes%2 == 0 {
			return end + 1
		}
		i = end + 1
	}
	return -1
}

// skipValue returns the index behind the value that begins at i, or -1, and
// how many elements a list has.
func skipValue(raw []byte, i int) (end, elements int) {
	if i >= len(raw) {
		return -1, 0
	}
	switch raw[i] {
	case '"':
		return skipString(raw, i), 0
	case '{', '[':
		return skipNested(raw, i)
	}
	at := i
	for i < len(raw) && raw[i] != ',' && raw[i] != '}' && raw[i] != ']' && raw[i] > ' ' {
		i++
	}
	if lit := raw[at:i]; !isLiteral(lit) {
		return -1, 0
	}
	return i, 0
}

func isLiteral(lit []byte) bool {
	switch string(lit) {
	case "true", "false", "null":
		return true
	}
	_, err := strconv.ParseFloat(string(lit), 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

func skipNested(raw []byte, i int) (end, elements int) {
	if next := skipSpace(raw, i+1); raw[i] == '[' && next < len(raw) && raw[next] != ']' {
		elements = 1
	}
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			if i = skipString(raw, i); i < 0 {
				return -1, 0
			}
			continue
		case '{', '[':
			depth++
		case ',':
			if depth == 1 {
				elements++
			}
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, elements
			}
		}
		i++
	}
	return -1, 0
}
