package dialect

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// messageParts assembles a message.
type messageParts struct {
	base   string                     // the message as it began
	parts  pieces                     // blocks
	inputs map[int64]*strings.Builder // arguments of calls, by block
	end    *piece                     // what the end of the stream says of the answer
	usage  *piece
}

func (anthropic) assembler() assembler {
	return &messageParts{parts: pieces{}, inputs: map[int64]*strings.Builder{}, end: newPiece(), usage: newPiece()}
}

func (a *messageParts) take(e sse.Event, root gjson.Result) {
	index := root.Get("index").Int()
	switch string(eventType(e)) {
	case "message_start":
		a.base = root.Get("message").Raw
		a.usage.add(root.Get("message.usage"))
	case "content_block_start":
		a.parts.at(index).add(root.Get("content_block"))
	case "content_block_delta":
		switch delta := root.Get("delta"); delta.Get("type").Str {
		case "input_json_delta":
			if a.inputs[index] == nil {
				a.inputs[index] = &strings.Builder{}
			}
			a.inputs[index].WriteString(delta.Get("partial_json").Str)
		case "citations_delta":
			a.parts.at(index).add(gjson.ParseBytes(rawObject("citations", "["+delta.Get("citation").Raw+"]")))
		default:
			a.parts.at(index).add(gjson.Parse(with(delta.Raw, "type", "")))
		}
	case "message_delta":
		a.end.add(root.Get("delta"))
		if edits := root.Get("context_management"); edits.Exists() {
			a.end.add(gjson.ParseBytes(rawObject("context_management", edits.Raw)))
		}
		a.figures(root.Get("usage"))
	}
}

// figures takes later figures in place of earlier ones. A zero that follows is a
// server that leaves the rest out.
func (a *messageParts) figures(u gjson.Result) {
	u.ForEach(func(key, value gjson.Result) bool {
		f := a.usage.field(key.Str)
		if f.value == nil && f.child == nil || value.Type != gjson.Null && value.Raw != "0" {
			*f = field{value: json.RawMessage(value.Raw)}
		}
		return true
	})
}

func (a *messageParts) document() string {
	if !gjson.Valid(a.base) {
		return ""
	}
	blocks := make([]json.RawMessage, 0, len(a.parts))
	for _, i := range sorted(a.parts) {
		block := a.parts[i].json()
		if in := a.inputs[i]; in != nil && gjson.Valid(in.String()) {
			block = with(block, "input", in.String())
		}
		blocks = append(blocks, json.RawMessage(block))
	}
	fields := []string{"content", rawList(blocks)}
	for _, key := range a.end.keys {
		fields = append(fields, key, a.end.fields[key].json())
	}
	if len(a.usage.keys) > 0 {
		fields = append(fields, "usage", a.usage.json())
	}
	return with(a.base, fields...)
}

func (anthropic) stream(m *made, root gjson.Result, _ bool) bool {
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

// AnswerText implements Dialect.
func (anthropic) AnswerText(doc []byte) string { return textOf(gjson.GetBytes(doc, "content")) }

// CallsTool implements Dialect.
func (anthropic) CallsTool(doc []byte) bool {
	return gjson.GetBytes(doc, `content.#(type=="tool_use")`).Exists()
}

// EmptyDocument implements Dialect.
func (anthropic) EmptyDocument(doc []byte) bool {
	r := gjson.GetManyBytes(doc, "type", "content", "content.#", "stop_reason")
	return r[0].Str == "message" && r[1].IsArray() && r[2].Int() == 0 && !endsEmpty(r[3].Str)
}
