package simulator

import "encoding/json"

// signature stands for the opaque proof that follows a thinking block.
const signature = "EqQBCgIYAhIkc2ltdWxhdG9yLXNpZ25hdHVyZQ=="

func (r reply) anthropicStop() string {
	switch {
	case r.stop != "":
		return r.stop
	case r.tool != nil:
		return "tool_use"
	}
	return "end_turn"
}

func (r reply) anthropicUsage(output int) obj {
	return obj{
		"input_tokens", r.usage.Input, "cache_creation_input_tokens", r.usage.CacheWrite,
		"cache_read_input_tokens", r.usage.CacheRead, "output_tokens", output, "service_tier", "standard",
	}
}

func (r reply) anthropicHead(content arr, stop any, usage obj) obj {
	return obj{
		"id", r.q.id("msg_"), "type", "message", "role", "assistant", "model", r.q.model,
		"content", content, "stop_reason", stop, "stop_sequence", nil, "usage", usage,
	}
}

// anthropicMessage is the answer as one message.
func (r reply) anthropicMessage() obj {
	content := arr{}
	if r.thinking != nil {
		content = append(content, obj{"type", "thinking", "thinking", join(r.thinking), "signature", signature})
	}
	if r.text != "" {
		content = append(content, obj{"type", "text", "text", r.text})
	}
	if r.tool != nil {
		content = append(content, obj{
			"type", "tool_use", "id", r.q.id("toolu_"), "name", r.tool.Name,
			"input", json.RawMessage(r.tool.Arguments),
		})
	}
	return r.anthropicHead(content, r.anthropicStop(), r.anthropicUsage(r.usage.Output))
}

// anthropicEvent makes an event whose name is repeated as its type.
func anthropicEvent(at role, typ string, fields ...any) frame {
	return frame{role: at, event: typ, data: text(append(obj{"type", typ}, fields...))}
}

// anthropicStream is the answer as events: one block is open at a time and
// the usage of message_delta is cumulative.
func (r reply) anthropicStream() []frame {
	fs := []frame{anthropicEvent(preamble, "message_start",
		"message", r.anthropicHead(arr{}, nil, r.anthropicUsage(1)))}
	index := 0
	block := func(start obj, field, kind string, deltas []string, last ...frame) {
		fs = append(fs, anthropicEvent(opening, "content_block_start", "index", index, "content_block", start))
		if index == 0 {
			fs = append(fs, anthropicEvent(opening, "ping"))
		}
		for i, d := range deltas {
			at := delta
			if i == 0 && kind == "input_json_delta" {
				at = opening // always empty: it says nothing yet
			}
			fs = append(fs, anthropicEvent(at, "content_block_delta", "index", index,
				"delta", obj{"type", kind, field, d}))
		}
		fs = append(fs, last...)
		fs = append(fs, anthropicEvent(closing, "content_block_stop", "index", index))
		index++
	}
	if r.thinking != nil {
		block(obj{"type", "thinking", "thinking", "", "signature", ""}, "thinking", "thinking_delta", r.thinking,
			anthropicEvent(closing, "content_block_delta", "index", index,
				"delta", obj{"type", "signature_delta", "signature", signature}))
	}
	if r.text != "" {
		block(obj{"type", "text", "text", ""}, "text", "text_delta", r.deltas)
	}
	if r.tool != nil {
		block(obj{"type", "tool_use", "id", r.q.id("toolu_"), "name", r.tool.Name, "input", obj{}},
			"partial_json", "input_json_delta", append([]string{""}, r.argumentDeltas()...))
	}
	return append(fs,
		anthropicEvent(closing, "message_delta",
			"delta", obj{"stop_reason", r.anthropicStop(), "stop_sequence", nil},
			"usage", r.anthropicUsage(r.usage.Output)),
		anthropicEvent(closing, "message_stop"))
}
