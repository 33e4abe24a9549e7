package dialect

import (
	"encoding/json"
	"strconv"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// chunkParts assembles a completion.
type chunkParts struct {
	base  string // the first chunk
	parts pieces // choices
	usage *piece
}

func (chat) assembler() assembler { return &chunkParts{parts: pieces{}, usage: newPiece()} }

func (a *chunkParts) take(_ sse.Event, root gjson.Result) {
	if u := root.Get("usage"); u.IsObject() {
		a.usage = newPiece()
		a.usage.add(u)
	}
	choices := root.Get("choices")
	if a.base == "" && choices.IsArray() {
		a.base = root.Raw
	}
	for _, c := range choices.Array() {
		p := a.parts.at(c.Get("index").Int())
		p.add(gjson.Parse(with(c.Raw, "index", "")))
	}
}

func (a *chunkParts) document() string {
	if !gjson.Valid(a.base) {
		return ""
	}
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

func (chat) stream(m *made, root gjson.Result, usage bool) bool {
	choices := root.Get("choices").Array()
	if !root.IsObject() || len(choices) == 0 {
		return false
	}
	for _, c := range choices {
		if !c.Get("message").IsObject() {
			return false
		}
	}
	figures := root.Get("usage")
	base := with(root.Raw, "object", `"chat.completion.chunk"`, "choices", "[]", "usage", "")
	if usage {
		base = with(base, "usage", "null")
	}
	for i, c := range choices {
		m.choice(base, i, c)
	}
	if usage && figures.IsObject() {
		m.chunk(with(base, "usage", oneLine(figures.Raw)))
	}
	m.b = append(m.b, frame("", doneMark)...)
	return true
}

func (m *made) chunk(object string) { m.b = append(m.b, frame("", []byte(object))...) }

// choice writes the chunks of one choice: its role, its thinking, its words, its
// calls, and why it ended.
func (m *made) choice(base string, at int, c gjson.Result) {
	index := c.Get("index").Raw
	if index == "" {
		index = strconv.Itoa(at)
	}
	put := func(delta []string, finish, logprobs string) {
		if len(delta) == 0 && finish == "null" {
			return
		}
		choice := rawObject("index", index, "delta", string(rawObject(delta...)), "logprobs", logprobs, "finish_reason", finish)
		m.chunk(with(base, "choices", "["+string(choice)+"]"))
	}
	var thought, words, calls []string
	called := false
	c.Get("message").ForEach(func(key, value gjson.Result) bool {
		raw := oneLine(value.Raw)
		switch {
		case value.Type == gjson.Null, key.Str == "role":
		case key.Str == "tool_calls":
			if list := value.Array(); len(list) > 0 {
				calls, called = append(calls, key.Str, numbered(list)), true
			}
		case key.Str == "function_call":
			calls, called = append(calls, key.Str, raw), true
		case key.Str == "reasoning_content", key.Str == "reasoning", key.Str == "reasoning_details", key.Str == "thinking":
			thought = append(thought, key.Str, raw)
		default:
			words = append(words, key.Str, raw)
		}
		return true
	})
	put([]string{"role", `"assistant"`, "content", `""`}, "null", "")
	put(thought, "null", "")
	put(words, "null", oneLine(c.Get("logprobs").Raw))
	put(calls, "null", "")
	put(nil, finishOf(c, called), "")
}

// finishOf returns why a choice ended, or what it must have been.
func finishOf(c gjson.Result, called bool) string {
	switch f := c.Get("finish_reason"); {
	case f.Type == gjson.String && f.Str != "":
		return f.Raw
	case called:
		return `"tool_calls"`
	}
	return `"stop"`
}

// numbered gives each tool call the index by which a stream tells them apart.
func numbered(calls []gjson.Result) string {
	out := []byte{'['}
	for i, c := range calls {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, with(c.Raw, "index", strconv.Itoa(i))...)
	}
	return string(append(out, ']'))
}

// AnswerText implements Dialect.
func (chat) AnswerText(doc []byte) string {
	return textOf(gjson.GetBytes(doc, "choices.0.message.content"))
}

// CallsTool implements Dialect.
func (chat) CallsTool(doc []byte) bool {
	m := gjson.GetBytes(doc, "choices.0.message")
	return m.Get("tool_calls.0").Exists() || m.Get("function_call").IsObject()
}

// EmptyDocument implements Dialect.
func (chat) EmptyDocument(doc []byte) bool {
	r := gjson.GetManyBytes(doc, "choices.#", "choices.0.message", "choices.0.finish_reason")
	m := r[1]
	return r[0].Int() == 1 && m.IsObject() && m.Get("content").String() == "" && !m.Get("tool_calls.0").Exists() &&
		!m.Get("function_call").IsObject() && !m.Get("audio").IsObject() && m.Get("refusal").String() == "" && !endsEmpty(r[2].Str)
}

func (chat) tokens(doc []byte) (all, thought int64) {
	u := gjson.GetBytes(doc, "usage")
	return u.Get("completion_tokens").Int(), u.Get("completion_tokens_details.reasoning_tokens").Int()
}
