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
	Background bool   // take the field "background" out
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

// Apply returns a body of the dialect with the edit made. The original is left alone, so
// that one target's edits never reach the next (#7847).
func Apply(d Dialect, raw []byte, e Edit) ([]byte, error) {
	b := &editor{raw: raw}
	if e.Blocking {
		b.drop("stream", "stream_options")
	}
	if e.Background {
		b.drop("background")
	}
	if e.NoTools {
		b.drop("tools", "tool_choice", "parallel_tool_calls")
	} else {
		b.trimTools(&e)
	}
	if e.System != "" && b.err == nil {
		d.addSystem(b, e.System)
	}
	if e.User != "" {
		b.replaceUser(d.Traits().Turns, e.User)
	}
	if e.MaxOutput > 0 {
		b.capOutput(d.Traits().Limits, e.MaxOutput)
	}
	if b.err != nil {
		return nil, fmt.Errorf("edit the request: %w", b.err)
	}
	return b.raw, nil
}

// trimTools keeps the tools that are wanted, in their order.
func (d *editor) trimTools(e *Edit) {
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

// replaceUser puts text in place of what the user said last.
func (d *editor) replaceUser(field, text string) {
	if d.err != nil {
		return
	}
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

// capOutput lowers the number of tokens asked for in any of the fields, and sets
// the last where none is given.
func (d *editor) capOutput(fields []string, limit int64) {
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
