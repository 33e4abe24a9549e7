package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// piece is a JSON object that comes in deltas: text is joined, lists grow, their
// elements with an index are merged by it, and anything else is replaced.
type piece struct {
	keys   []string
	fields map[string]*field
}

type field struct {
	text  *strings.Builder
	value json.RawMessage // of anything that is not merged
	child *piece
	list  []json.RawMessage
	parts map[int64]*piece
}

// reasons are fields whose text is given as a whole, like that of labels.
var reasons = map[string]bool{"finish_reason": true, "stop_reason": true, "stop_sequence": true, "service_tier": true}

func newPiece() *piece { return &piece{fields: map[string]*field{}} }

func (p *piece) field(key string) *field {
	f := p.fields[key]
	if f == nil {
		f = &field{}
		p.keys, p.fields[key] = append(p.keys, key), f
	}
	return f
}

// add merges a delta.
func (p *piece) add(delta gjson.Result) {
	delta.ForEach(func(key, value gjson.Result) bool {
		f := p.field(key.Str)
		switch {
		case value.Type == gjson.Null:
			if f.value == nil {
				f.value = json.RawMessage("null")
			}
		case value.Type == gjson.String && (labels[key.Str] || reasons[key.Str]):
			if value.Str != "" || f.value == nil {
				f.value = json.RawMessage(value.Raw)
			}
		case value.Type == gjson.String:
			if f.text == nil {
				f.text = &strings.Builder{}
			}
			f.text.WriteString(value.Str)
		case value.IsObject():
			if f.child == nil {
				f.child = newPiece()
			}
			f.child.add(value)
		case value.IsArray():
			f.grow(value)
		default:
			f.value = json.RawMessage(value.Raw)
		}
		return true
	})
}

// grow adds the elements of a list.
func (f *field) grow(list gjson.Result) {
	if f.list == nil {
		f.list = []json.RawMessage{}
	}
	for _, v := range list.Array() {
		at := v.Get("index")
		if !v.IsObject() || at.Type != gjson.Number {
			f.list = append(f.list, json.RawMessage(v.Raw))
			continue
		}
		if f.parts == nil {
			f.parts = map[int64]*piece{}
		}
		part := f.parts[at.Int()]
		if part == nil {
			part = newPiece()
			f.parts[at.Int()] = part
		}
		part.add(v)
	}
}

// text returns the joined text of a field.
func (p *piece) text(key string) string {
	if f := p.fields[key]; f != nil && f.text != nil {
		return f.text.String()
	}
	return ""
}

// value returns the raw JSON of a field, null without one.
func (p *piece) value(key string) string {
	if f := p.fields[key]; f != nil {
		return f.json()
	}
	return "null"
}

func (p *piece) drop(key string) {
	delete(p.fields, key)
	p.keys = slices.DeleteFunc(p.keys, func(k string) bool { return k == key })
}

// json writes the object as it stands, its fields in the order in which they
// came first.
func (p *piece) json() string {
	out := make([]string, 0, 2*len(p.keys))
	for _, key := range p.keys {
		out = append(out, key, p.fields[key].json())
	}
	return string(rawObject(out...))
}

func (f *field) json() string {
	switch {
	case f.text != nil:
		return quote(f.text.String())
	case f.child != nil:
		return f.child.json()
	case f.list != nil:
		all := slices.Clone(f.list)
		for _, index := range sorted(f.parts) {
			all = append(all, json.RawMessage(f.parts[index].json()))
		}
		return rawList(all)
	}
	return string(f.value)
}

func rawList(all []json.RawMessage) string {
	out := []byte{'['}
	for i, v := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return string(append(out, ']'))
}

func sorted[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
