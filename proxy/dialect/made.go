package dialect

import (
	"bytes"
	"strconv"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// made writes an answer as the events of its dialect.
type made struct{ b []byte }

// event appends an event whose data is an object of raw JSON fields, given as
// name and value in turn, with its type in front.
func (m *made) event(kind string, fields ...string) {
	m.b = append(m.b, frame(kind, rawObject(append([]string{"type", quote(kind)}, fields...)...))...)
}

// rawObject writes an object from names and raw values in turn. Fields without
// a value are left out.
func rawObject(fields ...string) []byte {
	b := []byte{'{'}
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendJSONString(b, fields[i]), ':')
		b = append(b, fields[i+1]...)
	}
	return append(b, '}')
}

func quote(s string) string { return string(marshal(s)) }

// oneLine returns a raw JSON value without the line breaks between its tokens,
// so that it fits into one line of an event.
func oneLine(raw string) string {
	if bytes.ContainsAny([]byte(raw), "\r\n") {
		return gjson.Get(raw, "@ugly").Raw
	}
	return raw
}

// with returns an object with other raw values for some of its fields, given as
// name and value in turn; an empty value removes the field.
func with(object string, fields ...string) string {
	out := []byte(oneLine(object))
	for i := 0; i+1 < len(fields); i += 2 {
		var next []byte
		var err error
		if fields[i+1] == "" {
			next, err = sjson.DeleteBytes(out, fields[i])
		} else {
			next, err = sjson.SetRawBytes(out, fields[i], []byte(fields[i+1]))
		}
		if err == nil {
			out = next
		}
	}
	return string(out)
}

// StreamOf returns the event stream that says the same as a whole JSON answer
// (ruling 60). usage tells that the client asked for figures at the end, which
// only the chat dialect leaves to it. ok is false when the document is no
// complete answer of the dialect.
func (n Name) StreamOf(doc []byte, usage bool) (stream []byte, ok bool) {
	if !gjson.ValidBytes(doc) {
		return nil, false
	}
	root := gjson.ParseBytes(doc)
	var m made
	switch n {
	case Anthropic:
		ok = m.message(root)
	case Chat:
		ok = m.completion(root, usage)
	case Responses:
		ok = m.response(root)
	}
	return m.b, ok
}

// message writes a Messages answer as its events.
func (m *made) message(root gjson.Result) bool {
	content := root.Get("content")
	if !root.IsObject() || !content.IsArray() {
		return false
	}
	usage := root.Get("usage")
	figures := `{"input_tokens":0,"output_tokens":0}`
	if usage.IsObject() {
		figures = oneLine(usage.Raw)
	}
	if !gjson.Get(figures, "output_tokens").Exists() {
		figures = with(figures, "output_tokens", "0")
	}
	start := with(root.Raw, "type", `"message"`, "role", `"assistant"`, "content", "[]", "stop_reason", "null",
		"stop_sequence", "null", "usage", with(figures, "output_tokens", "0"), "context_management", "", "container", "")
	m.event("message_start", "message", start)
	calls := false
	for i, block := range content.Array() {
		calls = calls || block.Get("type").Str == "tool_use"
		m.block(strconv.Itoa(i), block)
	}
	stop := root.Get("stop_reason").Raw
	if stop == "" || stop == "null" {
		stop = `"end_turn"`
		if calls {
			stop = `"tool_use"`
		}
	}
	sequence := root.Get("stop_sequence").Raw
	if sequence == "" {
		sequence = "null"
	}
	m.event("message_delta",
		"delta", string(rawObject("stop_reason", stop, "stop_sequence", sequence, "container", oneLine(root.Get("container").Raw))),
		"usage", figures, "context_management", oneLine(root.Get("context_management").Raw))
	m.event("message_stop")
	return true
}

// block writes one content block: what can come in pieces comes as a delta,
// anything else with the start.
func (m *made) block(index string, block gjson.Result) {
	delta := func(kind, field, raw string) {
		m.event("content_block_delta", "index", index, "delta", string(rawObject("type", quote(kind), field, raw)))
	}
	start := func(fields ...string) {
		m.event("content_block_start", "index", index, "content_block", with(block.Raw, fields...))
	}
	switch kind := block.Get("type").Str; {
	case kind == "text":
		cited := block.Get("citations")
		if cited.IsArray() {
			start("text", `""`, "citations", "[]")
		} else {
			start("text", `""`)
		}
		delta("text_delta", "text", block.Get("text").Raw)
		for _, c := range cited.Array() {
			if c.IsObject() {
				delta("citations_delta", "citation", oneLine(c.Raw))
			}
		}
	case kind == "thinking":
		start("thinking", `""`, "signature", `""`)
		delta("thinking_delta", "thinking", block.Get("thinking").Raw)
		if s := block.Get("signature"); s.Str != "" {
			delta("signature_delta", "signature", s.Raw)
		}
	case bytes.HasSuffix([]byte(kind), []byte("tool_use")) && block.Get("input").IsObject():
		start("input", "{}")
		delta("input_json_delta", "partial_json", quote(block.Get("input").Raw))
	default:
		start()
	}
	m.event("content_block_stop", "index", index)
}
