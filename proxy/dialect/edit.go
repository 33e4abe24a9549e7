package dialect

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// Edit is a change to a request body that combos, fallbacks and learned limits
// ask for. The zero value changes nothing; bodies that need none are forwarded
// as they came.
type Edit struct {
	Blocking   bool   // ask for one JSON answer instead of a stream
	NoTools    bool   // take the tools out
	Background bool   // take the Responses field "background" out
	System     string // one more system turn, empty for none
	User       string // replaces what the user said last, unless empty
	MaxTools   int    // keep the first so many tools, 0: all
	MaxOutput  int64  // ask for at most so many tokens, 0: as it is
	KeepTool   func(name string) bool
}

// Empty reports whether the edit changes nothing.
func (e *Edit) Empty() bool {
	return !e.Blocking && !e.NoTools && !e.Background && e.System == "" && e.User == "" && e.MaxTools == 0 &&
		e.MaxOutput == 0 && e.KeepTool == nil
}

// editor applies single changes and keeps the first error.
type editor struct {
	raw []byte
	err error
}

func (d *editor) set(path string, v any) {
	if d.err == nil {
		d.raw, d.err = sjson.SetBytes(d.raw, path, v)
	}
}

func (d *editor) setRaw(path, json string) {
	if d.err == nil {
		d.raw, d.err = sjson.SetRawBytes(d.raw, path, []byte(json))
	}
}

func (d *editor) drop(paths ...string) {
	for _, p := range paths {
		if d.err == nil && gjson.GetBytes(d.raw, p).Exists() {
			d.raw, d.err = sjson.DeleteBytes(d.raw, p)
		}
	}
}

// Apply returns the body with the edit made. The original is left alone, so
// that one target's edits never reach the next (#7847).
func (n Name) Apply(raw []byte, e Edit) ([]byte, error) {
	d := &editor{raw: raw}
	if e.Blocking {
		d.drop("stream", "stream_options")
	}
	if e.Background {
		d.drop("background")
	}
	if e.NoTools {
		d.drop("tools", "tool_choice", "parallel_tool_calls")
	} else {
		n.trimTools(d, &e)
	}
	if e.System != "" {
		n.addSystem(d, e.System)
	}
	if e.User != "" {
		n.replaceUser(d, e.User)
	}
	if e.MaxOutput > 0 {
		n.capOutput(d, e.MaxOutput)
	}
	if d.err != nil {
		return nil, fmt.Errorf("edit the request: %w", d.err)
	}
	return d.raw, nil
}

// trimTools keeps the tools that are wanted, in their order.
func (n Name) trimTools(d *editor, e *Edit) {
	if e.MaxTools == 0 && e.KeepTool == nil || d.err != nil {
		return
	}
	tools := gjson.GetBytes(d.raw, "tools").Array()
	out, kept := []byte{'['}, 0
	for _, t := range tools {
		name := t.Get("name").Str
		if name == "" {
			name = t.Get("function.name").Str
		}
		if e.KeepTool != nil && !e.KeepTool(name) || e.MaxTools > 0 && kept == e.MaxTools {
			continue
		}
		if kept > 0 {
			out = append(out, ',')
		}
		out = append(out, t.Raw...)
		kept++
	}
	switch {
	case kept == len(tools):
	case kept == 0:
		d.drop("tools", "tool_choice", "parallel_tool_calls")
	default:
		d.setRaw("tools", string(append(out, ']')))
	}
}

// addSystem puts a system turn behind those that there are.
func (n Name) addSystem(d *editor, text string) {
	if d.err != nil {
		return
	}
	switch n {
	case Anthropic:
		switch s := gjson.GetBytes(d.raw, "system"); {
		case s.IsArray():
			d.set("system.-1", map[string]any{"type": "text", "text": text})
		case s.Str != "":
			d.set("system", s.Str+"\n\n"+text)
		default:
			d.set("system", text)
		}
	case Responses:
		if s := gjson.GetBytes(d.raw, "instructions").Str; s != "" {
			text = s + "\n\n" + text
		}
		d.set("instructions", text)
	case Chat:
		list := gjson.GetBytes(d.raw, "messages").Array()
		at := 0
		for at < len(list) && (list[at].Get("role").Str == "system" || list[at].Get("role").Str == "developer") {
			at++
		}
		out := []byte{'['}
		for i := 0; i <= len(list); i++ {
			if i == at {
				turn, err := sjson.SetBytes([]byte(`{"role":"system"}`), "content", text)
				d.err = err
				out = append(append(out, turn...), ',')
			}
			if i < len(list) {
				out = append(append(out, list[i].Raw...), ',')
			}
		}
		out[len(out)-1] = ']'
		d.setRaw("messages", string(out))
	}
}

// replaceUser puts text in place of what the user said last.
func (n Name) replaceUser(d *editor, text string) {
	if d.err != nil {
		return
	}
	field := n.turns()
	list := gjson.GetBytes(d.raw, field)
	if !list.IsArray() {
		d.set(field, text) // the input of a Responses request may be bare text
		return
	}
	turns := list.Array()
	for i, turn := range slices.Backward(turns) {
		if turn.Get("role").Str == "user" {
			d.set(fmt.Sprintf("%s.%d.content", field, i), text)
			return
		}
	}
	d.set(field+".-1", map[string]any{"role": "user", "content": text})
}

// turns is the field that holds the conversation.
func (n Name) turns() string {
	if n == Responses {
		return "input"
	}
	return "messages"
}

// capOutput lowers the number of tokens asked for.
func (n Name) capOutput(d *editor, limit int64) {
	fields := []string{"max_tokens"}
	switch n {
	case Chat:
		fields = []string{"max_completion_tokens", "max_tokens"}
	case Responses:
		fields = []string{"max_output_tokens"}
	}
	given := false
	for _, f := range fields {
		if v := gjson.GetBytes(d.raw, f); v.Exists() {
			given = true
			if v.Int() > limit || v.Int() <= 0 {
				d.set(f, limit)
			}
		}
	}
	if !given {
		d.set(fields[len(fields)-1], limit)
	}
}
