package dialect

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// completion writes a chat answer as its chunks.
func (m *made) completion(root gjson.Result, usage bool) bool {
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
