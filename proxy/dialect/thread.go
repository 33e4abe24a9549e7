package dialect

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"breakwater/proxy/sse"
)

// Thread is what must be known of an answer whose rest may have to be fetched
// by another request: its text, and the names under which it was sent.
type Thread struct {
	d    resumer
	text strings.Builder
	// called tells that a tool call was seen: half a call cannot be continued.
	called bool
	full   bool // more text than is kept

	head []byte // a first chunk, or the response object
	item struct {
		id              string
		output, content int64
	}
	seq  int64
	stop string // the finish reason
}

// maxThread is the longest text that is continued; a request with more would
// hardly be accepted.
const maxThread = 1 << 20

// resumer is a dialect whose answers can be continued.
type resumer interface {
	// follow notes the names under which an event was sent.
	follow(t *Thread, e sse.Event, kind DeltaKind)
	// resume adds a turn of the assistant to a request. It returns false when the
	// body does not allow it.
	resume(body []byte, said map[string]any) ([]byte, bool)
	// ending writes the rest of the answer and its end.
	ending(t *Thread, rest string, next *Thread) []byte
}

// NewThread returns a thread of one answer, nil when answers of the dialect
// cannot be continued.
func NewThread(d Dialect) *Thread {
	if r, ok := d.(resumer); ok {
		return &Thread{d: r}
	}
	return nil
}

// See follows the answer.
func (t *Thread) See(e sse.Event, kind DeltaKind, text string) {
	switch kind {
	case ToolDelta:
		t.called = true
	case TextDelta:
		if t.text.Len()+len(text) > maxThread {
			t.full = true
			return
		}
		t.text.WriteString(text)
	}
	t.d.follow(t, e, kind)
}

// Continuable reports whether the answer so far can be continued: it has text
// and no tool call.
func (t *Thread) Continuable() bool {
	return t.text.Len() > 0 && !t.called && !t.full && gjson.ValidBytes(t.head)
}

// Request returns the request that asks for the rest: the same, with the text
// so far as the assistant's words. ok is false when the body does not allow it.
func (t *Thread) Request(body []byte) (out []byte, ok bool) {
	return t.d.resume(body, map[string]any{"role": "assistant", "content": t.text.String()})
}

func set(doc []byte, path string, value any) ([]byte, bool) {
	out, err := sjson.SetBytes(doc, path, value)
	return out, err == nil
}

// The bounds of the overlap by which a continuation proves that it goes on
// where the text stopped (stream sheet §6.6), in characters.
const (
	minOverlap = 8
	maxOverlap = 512
)

// Rest returns what next adds to the text. A continuation begins with the end
// of the text; one that does not might be another answer.
func (t *Thread) Rest(next *Thread) (rest string, ok bool) {
	if next.called || next.full {
		return "", false
	}
	sent, more := t.text.String(), next.text.String()
	from := len(sent)
	for n := 0; n < maxOverlap && from > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(sent[:from])
		from -= size
	}
	for ; from < len(sent); from++ {
		end := sent[from:]
		if utf8.RuneCountInString(end) < minOverlap {
			return "", false
		}
		if strings.HasPrefix(more, end) {
			return more[len(end):], true
		}
	}
	return "", false
}

// End writes the rest of the answer and its end, as the stream that the client
// reads would have gone on. next is the continuation, complete.
func (t *Thread) End(rest string, next *Thread) []byte { return t.d.ending(t, rest, next) }
