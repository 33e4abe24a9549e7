package dialect

import (
	"bytes"

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
func StreamOf(d Dialect, doc []byte, usage bool) (stream []byte, ok bool) {
	if !gjson.ValidBytes(doc) {
		return nil, false
	}
	var m made
	ok = d.stream(&m, gjson.ParseBytes(doc), usage)
	return m.b, ok
}
