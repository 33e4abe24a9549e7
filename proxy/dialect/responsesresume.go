package dialect

import (
	"encoding/json"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

func (responses) follow(t *Thread, e sse.Event, kind DeltaKind) {
	t.seq = max(t.seq, gjson.GetBytes(e.Data, "sequence_number").Int())
	switch r := gjson.GetBytes(e.Data, "response"); {
	case kind == TextDelta:
		t.item.id = gjson.GetBytes(e.Data, "item_id").Str
		t.item.output, t.item.content = gjson.GetBytes(e.Data, "output_index").Int(), gjson.GetBytes(e.Data, "content_index").Int()
	case r.IsObject():
		t.head = []byte(r.Raw)
	}
}

func (responses) resume(body []byte, said map[string]any) ([]byte, bool) {
	switch input := gjson.GetBytes(body, "input"); {
	case input.Type == gjson.String:
		return set(body, "input", []any{map[string]any{"role": "user", "content": input.Str}, said})
	case input.IsArray():
		return set(body, "input.-1", said)
	}
	return nil, false
}

func (responses) ending(t *Thread, rest string, next *Thread) []byte {
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
