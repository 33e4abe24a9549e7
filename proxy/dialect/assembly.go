package dialect

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// Assembly makes the JSON answer of a dialect from its event stream, for a
// client that asked for no stream and got one (the mirror of ruling 60).
type Assembly struct {
	reader Reader
	base   string                     // the message, the first chunk or the response
	parts  map[int64]*piece           // blocks or choices, by index
	inputs map[int64]*strings.Builder // arguments of calls, by block
	items  []json.RawMessage
	end    *piece // what the end of the stream says of the answer
	usage  *piece
}

// Assembly returns an assembly of one answer.
func (n Name) Assembly() *Assembly {
	return &Assembly{reader: n.Reader(1), parts: map[int64]*piece{}, inputs: map[int64]*strings.Builder{}, end: newPiece(), usage: newPiece()}
}

// See takes the next event and says what it means.
func (a *Assembly) See(e sse.Event) Progress {
	p := a.reader.Read(e)
	root := gjson.ParseBytes(e.Data)
	if p == Failed || !root.IsObject() {
		return p
	}
	switch a.reader.name {
	case Anthropic:
		a.message(string(eventType(e)), root)
	case Chat:
		a.chunk(root)
	case Responses:
		switch string(eventType(e)) {
		case "response.output_item.done":
			a.items = append(a.items, json.RawMessage(root.Get("item").Raw))
		case "response.completed", "response.incomplete":
			a.base = root.Get("response").Raw
		}
	}
	return p
}

// Document returns the answer. ok is false when the stream did not end it.
func (a *Assembly) Document() (doc []byte, ok bool) {
	if !a.reader.Complete() || !gjson.Valid(a.base) {
		return nil, false
	}
	var out string
	switch a.reader.name {
	case Anthropic:
		out = a.messageDocument()
	case Chat:
		out = a.completion()
	case Responses:
		out = a.base
		if len(gjson.Get(out, "output").Array()) == 0 && len(a.items) > 0 {
			out = with(out, "output", rawList(a.items))
		}
	}
	return []byte(out), gjson.Valid(out)
}

func (a *Assembly) part(index int64) *piece {
	p := a.parts[index]
	if p == nil {
		p = newPiece()
		a.parts[index] = p
	}
	return p
}

// message takes an event of the Messages dialect.
func (a *Assembly) message(kind string, root gjson.Result) {
	index := root.Get("index").Int()
	switch kind {
	case "message_start":
		a.base = root.Get("message").Raw
		a.usage.add(root.Get("message.usage"))
	case "content_block_start":
		a.part(index).add(root.Get("content_block"))
	case "content_block_delta":
		switch delta := root.Get("delta"); delta.Get("type").Str {
		case "input_json_delta":
			if a.inputs[index] == nil {
				a.inputs[index] = &strings.Builder{}
			}
			a.inputs[index].WriteString(delta.Get("partial_json").Str)
		case "citations_delta":
			a.part(index).add(gjson.ParseBytes(rawObject("citations", "["+delta.Get("citation").Raw+"]")))
		default:
			a.part(index).add(gjson.Parse(with(delta.Raw, "type", "")))
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
func (a *Assembly) figures(u gjson.Result) {
	u.ForEach(func(key, value gjson.Result) bool {
		f := a.usage.field(key.Str)
		if f.value == nil && f.child == nil || value.Type != gjson.Null && value.Raw != "0" {
			*f = field{value: json.RawMessage(value.Raw)}
		}
		return true
	})
}

func (a *Assembly) messageDocument() string {
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

// chunk takes an event of the chat dialect.
func (a *Assembly) chunk(root gjson.Result) {
	if u := root.Get("usage"); u.IsObject() {
		a.usage = newPiece()
		a.usage.add(u)
	}
	choices := root.Get("choices")
	if a.base == "" && choices.IsArray() {
		a.base = root.Raw
	}
	for _, c := range choices.Array() {
		p := a.part(c.Get("index").Int())
		p.add(gjson.Parse(with(c.Raw, "index", "")))
	}
}

// completion writes the chat answer.
func (a *Assembly) completion() string {
	choices := make([]json.RawMessage, 0, len(a.parts))
	for _, i := range sorted(a.parts) {
		p := a.parts[i]
		message := newPiece()
		if f := p.fields["delta"]; f != nil && f.child != nil {
			message = f.child
		}
		if f := message.fields["tool_calls"]; f != nil {
			for _, call := range f.parts {
				call.drop("index") // only streams have it
			}
		}
		if message.text("content") == "" && message.fields["tool_calls"] != nil {
			*message.field("content") = field{value: json.RawMessage("null")}
		}
		*message.field("role") = field{value: json.RawMessage(`"assistant"`)}
		choices = append(choices, rawObject("index", strconv.FormatInt(i, 10), "message", message.json(),
			"logprobs", p.value("logprobs"), "finish_reason", p.value("finish_reason")))
	}
	fields := []string{"object", `"chat.completion"`, "choices", rawList(choices), "usage", ""}
	if len(a.usage.keys) > 0 {
		fields[5] = a.usage.json()
	}
	return with(a.base, fields...)
}
