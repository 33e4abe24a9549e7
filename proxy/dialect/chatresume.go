package dialect

import (
	"bytes"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"breakwater/proxy/sse"
)

func (chat) follow(t *Thread, e sse.Event, _ DeltaKind) {
	if len(t.head) == 0 && gjson.GetBytes(e.Data, "choices.0").Exists() {
		t.head = bytes.Clone(e.Data)
	}
	if s := gjson.GetBytes(e.Data, "choices.0.finish_reason").Str; s != "" {
		t.stop = s
	}
}

func (chat) resume(body []byte, said map[string]any) ([]byte, bool) {
	if !gjson.GetBytes(body, "messages").IsArray() {
		return nil, false
	}
	return set(body, "messages.-1", said)
}

func (chat) ending(t *Thread, rest string, next *Thread) []byte {
	stop := next.stop
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
