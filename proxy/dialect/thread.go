package dialect

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"breakwater/proxy/sse"
)

// Thread is what must be known of an answer whose rest may have to be fetched
// by another request: its text, and the names under which it was sent.
type Thread struct {
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

// See follows the answer.
func (t *Thread) See(n Name, e sse.Event, kind DeltaKind, text string) {
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
	if n == Chat {
		if len(t.head) == 0 && gjson.GetBytes(e.Data, "choices.0").Exists() {
			t.head = bytes.Clone(e.Data)
		}
		if s := gjson.GetBytes(e.Data, "choices.0.finish_reason").Str; s != "" {
			t.stop = s
		}
		return
	}
	t.seq = max(t.seq, gjson.GetBytes(e.Data, "sequence_number").Int())
	switch r := gjson.GetBytes(e.Data, "response"); {
	case kind == TextDelta:
		t.item.id = gjson.GetBytes(e.Data, "item_id").Str
		t.item.output, t.item.content = gjson.GetBytes(e.Data, "output_index").Int(), gjson.GetBytes(e.Data, "content_index").Int()
	case r.IsObject():
		t.head = []byte(r.Raw)
	}
}

// Continuable reports whether the answer so far can be continued: it has text
// and no tool call.
func (t *Thread) Continuable() bool {
	return t.text.Len() > 0 && !t.called && !t.full && gjson.ValidBytes(t.head)
}

// Request returns the request that asks for the rest: the same, with the text
// so far as the assistant's words. ok is false when the body does not allow it.
func (t *Thread) Request(n Name, body []byte) (out []byte, ok bool) {
	said := map[string]any{"role": "assistant", "content": t.text.String()}
	if n == Chat {
		if !gjson.GetBytes(body, "messages").IsArray() {
			return nil, false
		}
		return set(body, "messages.-1", said)
	}
	switch input := gjson.GetBytes(body, "input"); {
	case input.Type == gjson.String:
		return set(body, "input", []any{map[string]any{"role": "user", "content": input.Str}, said})
	case input.IsArray():
		return set(body, "input.-1", said)
	}
	return nil, false
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
func (t *Thread) End(n Name, rest string, next *Thread) []byte {
	if n == Chat {
		return t.endChat(rest, next.stop)
	}
	return t.endResponses(rest, next)
}

func (t *Thread) endChat(rest, stop string) []byte {
	if stop == "" {
		stop = "stop"
	}
	chunk := func(delta map[string]any, finish any) []byte {
		out, _ := set(t.head, "choices", []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}})
		if plain, err := sjson.DeleteBytes(out, "usage"); err == nil {
			out = plain
		}
		return frame("", out)
	}
	var b []byte
	if rest != "" {
		b = chunk(map[string]any{"content": rest}, nil)
	}
	b = append(b, chunk(map[string]any{}, stop)...)
	return append(b, "data: [DONE]\n\n"...)
}

func (t *Thread) endResponses(rest string, next *Thread) []byte {
	var b []byte
	whole := t.text.String() + rest
	put := func(kind string, fields map[string]any) {
		t.seq++
		fields["type"], fields["sequence_number"] = kind, t.seq
		b = append(b, frame(kind, marshal(fields))...)
	}
	at := func(key string, value any) map[string]any {
		return map[string]any{"item_id": t.item.id, "output_index": t.item.output, "content_index": t.item.content, key: value}
	}
	if rest != "" {
		put("response.output_text.delta", at("delta", rest))
	}
	part := map[string]any{"type": "output_text", "text": whole, "annotations": []any{}}
	item := map[string]any{"id": t.item.id, "type": "message", "status": "completed", "role": "assistant", "content": []any{part}}
	put("response.output_text.done", at("text", whole))
	put("response.content_part.done", at("part", part))
	put("response.output_item.done", map[string]any{"output_index": t.item.output, "item": item})
	done, _ := set(next.head, "output", []any{item})
	if id := gjson.GetBytes(t.head, "id").Str; id != "" {
		done, _ = set(done, "id", id)
	}
	put("response.completed", map[string]any{"response": json.RawMessage(done)})
	return b
}
