package dialect

import (
	"bytes"
	"slices"

	"github.com/tidwall/gjson"
)

// Sealed is a part of a conversation that only the account that made it can
// read, or its organisation or provider: signed or encrypted reasoning, and
// encrypted compaction (ruling 61).
type Sealed struct {
	// Seal tells one part from another: the signature or the ciphertext; where
	// there is none, the id or the text.
	Seal string
	// Compacted marks encrypted compaction. It is history, and never taken out.
	Compacted bool
}

// Taken is what WithoutReasoning took out of a request.
type Taken struct {
	Items int // of reasoning
	// Disabled tells that the request asks for no thinking any more.
	Disabled bool
	// Expanded tells that the conversation was written out in place of an answer
	// that another account stores.
	Expanded bool
}

// Any reports whether the request was changed.
func (t Taken) Any() bool { return t.Items > 0 || t.Disabled || t.Expanded }

// history is how a dialect keeps what an account has sealed (ruling 61).
type history interface {
	// marks are the words without one of which nothing is sealed.
	marks() []mark
	// request calls see for each sealed part of a request.
	request(raw []byte, see func(Sealed))
	// event does the same for an event of an answer, document for a whole one.
	event(data []byte, see func(Sealed))
	document(doc []byte, see func(Sealed))
	// without returns the request without the reasoning that drop names. Forced
	// tells that the request was refused for its reasoning as it stands.
	without(raw []byte, drop func(Sealed) bool, forced bool) ([]byte, Taken)
}

// SealedParts calls see for each sealed part of a request. A request without any
// costs a search for a few words.
func SealedParts(d Dialect, raw []byte, see func(Sealed)) {
	if h := d.history(); mentions(raw, h.marks()) {
		h.request(raw, see)
	}
}

// SealedInEvent calls see for each sealed part that an event of an answer
// completes; data is the event's.
func SealedInEvent(d Dialect, data []byte, see func(Sealed)) {
	if h := d.history(); mentions(data, h.marks()) && gjson.ValidBytes(data) {
		h.event(data, see)
	}
}

// SealedInAnswer does the same for a whole JSON answer.
func SealedInAnswer(d Dialect, doc []byte, see func(Sealed)) {
	if h := d.history(); mentions(doc, h.marks()) && gjson.ValidBytes(doc) {
		h.document(doc, see)
	}
}

// WithoutReasoning returns a request without the reasoning that drop names. Text,
// tool calls, results and compaction stay as they are, byte for byte. Forced
// tells that an upstream refused the request for its reasoning as it stands: a
// tool cycle that has none is then continued without thinking. A body that cannot
// be edited comes back unchanged.
func WithoutReasoning(d Dialect, raw []byte, drop func(Sealed) bool, forced bool) ([]byte, Taken) {
	h := d.history()
	if !forced && !mentions(raw, h.marks()) {
		return raw, Taken{}
	}
	out, taken := h.without(raw, drop, forced)
	if !taken.Any() || !gjson.ValidBytes(out) {
		return raw, Taken{}
	}
	return out, taken
}

// mark is a word in quotes: a key, or else a value. Most requests have settings
// that are called like the values.
type mark struct {
	word string
	key  bool
}

// mentions reports whether one of the marks is in a JSON text. It looks at what
// follows a quote only: long texts cost next to nothing.
func mentions(raw []byte, marks []mark) bool {
	for i := 0; ; {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return false
		}
		i += n + 1
		for _, m := range marks {
			end := i + len(m.word)
			if end >= len(raw) || raw[end] != '"' || raw[i] != m.word[0] || string(raw[i:end]) != m.word {
				continue
			}
			next := skipSpace(raw, end+1)
			if colon := next < len(raw) && raw[next] == ':'; colon == m.key {
				return true
			}
		}
	}
}

// region is the place of a top-level value in a body.
type region struct{ at, end int }

func (r region) given() bool { return r.end > r.at }

// regions returns where the named top-level fields of a body are; false when it
// is no JSON object.
func regions(raw []byte, names ...string) ([]region, bool) {
	found := make([]region, len(names))
	err := eachField(raw, func(key []byte, at, end, _ int) error {
		for i, n := range names {
			if string(plainKey(key)) == n {
				found[i] = region{at, end}
			}
		}
		return nil
	})
	return found, err == nil
}

// swap is a new value for a region.
type swap struct {
	region
	value []byte
}

// splice returns a copy of raw with the swaps made; they do not overlap.
func splice(raw []byte, swaps ...swap) []byte {
	slices.SortFunc(swaps, func(a, b swap) int { return a.at - b.at })
	out := make([]byte, 0, len(raw))
	last := 0
	for _, s := range swaps {
		out = append(append(out, raw[last:s.at]...), s.value...)
		last = s.end
	}
	return append(out, raw[last:]...)
}

// list writes the elements as a JSON array.
func list(elements []string) []byte {
	out := []byte{'['}
	for i, e := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']')
}

// firstOf returns the first of an object's fields that holds text.
func firstOf(r gjson.Result, fields ...string) string {
	for _, f := range fields {
		if v := r.Get(f); v.Type == gjson.String && v.Str != "" {
			return v.Str
		}
	}
	return ""
}
