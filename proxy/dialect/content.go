package dialect

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Content is what a request's body says of itself besides the model: what
// combos and session affinity choose by. Reading it costs a walk through the
// body, so it is read only where it is asked for.
type Content struct {
	raw []byte
	d   Dialect
}

// NewContent returns a reader of a request body.
func NewContent(d Dialect, raw []byte) Content { return Content{raw, d} }

// Text returns the field at a path if it is text.
func (c Content) Text(path string) string {
	v := gjson.GetBytes(c.raw, path)
	if v.Type != gjson.String {
		return ""
	}
	return v.Str
}

// Value returns the decoded field at a path, nil when there is none.
func (c Content) Value(path string) any { return gjson.GetBytes(c.raw, path).Value() }

// Turn is one message of a conversation, its text parts joined.
type Turn struct{ Role, Text string }

// Turns returns the conversation.
func (c Content) Turns() []Turn {
	list := gjson.GetBytes(c.raw, c.d.Traits().Turns)
	if list.Type == gjson.String {
		return []Turn{{"user", list.Str}}
	}
	var out []Turn
	list.ForEach(func(_, m gjson.Result) bool {
		if role := m.Get("role").Str; role != "" {
			out = append(out, Turn{role, textOf(m.Get("content"))})
		}
		return true
	})
	return out
}

// FirstUser returns the text of the first user turn; it stops there.
func (c Content) FirstUser() string {
	list := gjson.GetBytes(c.raw, c.d.Traits().Turns)
	if list.Type == gjson.String {
		return list.Str
	}
	text := ""
	list.ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str != "user" {
			return true
		}
		text = textOf(m.Get("content"))
		return false
	})
	return text
}

// textOf joins the text parts of a message's content.
func textOf(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var b strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		if t := part.Get("text"); t.Type == gjson.String {
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(t.Str)
		}
		return true
	})
	return b.String()
}

// UsesTools reports whether the request offers tools and lets them be used.
func (c Content) UsesTools() bool {
	if !gjson.GetBytes(c.raw, "tools.0").Exists() {
		return false
	}
	choice := gjson.GetBytes(c.raw, "tool_choice")
	return choice.Str != "none" && choice.Get("type").Str != "none"
}

// HasImages reports whether a message of the conversation holds a picture.
func (c Content) HasImages() bool {
	found := false
	gjson.GetBytes(c.raw, c.d.Traits().Turns).ForEach(func(_, m gjson.Result) bool {
		m.Get("content").ForEach(func(_, part gjson.Result) bool {
			switch part.Get("type").Str {
			case "image", "image_url", "input_image":
				found = true
			}
			return !found
		})
		return !found
	})
	return found
}

// WantsSchema reports whether the answer must follow a schema.
func (c Content) WantsSchema() bool {
	for _, path := range []string{"response_format.type", "text.format.type", "output_config.format.type"} {
		if t := gjson.GetBytes(c.raw, path).Str; t == "json_schema" || t == "json_object" {
			return true
		}
	}
	return false
}

// MaxOutput returns how many tokens the client asks for, 0 when it does not
// say.
func (c Content) MaxOutput() int64 {
	for _, path := range []string{"max_output_tokens", "max_completion_tokens", "max_tokens"} {
		if v := gjson.GetBytes(c.raw, path).Int(); v > 0 {
			return v
		}
	}
	return 0
}

// StablePrefix returns the part of the request that stays the same from turn
// to turn: the system prompt and the tools.
func (c Content) StablePrefix() []byte {
	var out []byte
	for _, path := range []string{"system", "instructions", "tools"} {
		out = append(out, gjson.GetBytes(c.raw, path).Raw...)
	}
	return append(out, c.d.standing(c.raw)...)
}
