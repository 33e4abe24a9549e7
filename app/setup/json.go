package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// document is a settings file whose values can be changed one by one; what is
// not touched keeps its bytes. Raw values are opaque: a line, or JSON text.
type document interface {
	// get returns a value as raw and as plain text.
	get(key string) (raw, plain string, ok bool)
	// set writes a plain value and returns it as raw.
	set(key, plain string) (raw string, err error)
	// put writes a raw value back.
	put(key, raw string) error
	remove(key string) error
	bytes() []byte
}

// jsonDoc is a JSON object. Keys are paths with dots between the names.
type jsonDoc struct{ text []byte }

// errNotJSON is for files that hold more than JSON, such as comments: editing
// them could lose something.
var errNotJSON = errors.New("the file is not plain JSON, so it is left alone")

func openJSON(b []byte) (document, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		b = []byte("{}\n")
	}
	if !gjson.ValidBytes(b) || !gjson.ParseBytes(b).IsObject() {
		return nil, errNotJSON
	}
	return &jsonDoc{text: bytes.Clone(b)}, nil
}

func (d *jsonDoc) bytes() []byte { return d.text }

func (d *jsonDoc) get(key string) (raw, plain string, ok bool) {
	r := gjson.GetBytes(d.text, key)
	return r.Raw, r.String(), r.Exists()
}

func (d *jsonDoc) set(key, plain string) (string, error) {
	raw, err := json.Marshal(plain)
	if err != nil {
		return "", err
	}
	return string(raw), d.put(key, string(raw))
}

func (d *jsonDoc) put(key, raw string) error {
	if gjson.GetBytes(d.text, key).Exists() {
		out, err := sjson.SetRawBytes(d.text, key, []byte(raw))
		if err == nil {
			d.text = out
		}
		return err
	}
	return d.insert(key, raw)
}

// insert adds a value, and the objects around it that are missing, in the way
// the file is laid out.
func (d *jsonDoc) insert(key, raw string) error {
	names := strings.Split(key, ".")
	at, depth := gjson.ParseBytes(d.text), 0
	start := bytes.IndexByte(d.text, '{')
	for depth < len(names)-1 {
		next := gjson.GetBytes(d.text, strings.Join(names[:depth+1], "."))
		if !next.Exists() {
			break
		}
		if !next.IsObject() {
			return errors.New(strings.Join(names[:depth+1], ".") + " is not what was expected there")
		}
		at, start = next, next.Index
		depth++
	}
	unit, lines := layout(d.text)
	value := raw
	for i := len(names) - 1; i > depth; i-- {
		value = wrap(names[i], value, unit, i, lines)
	}
	entry := `"` + names[depth] + `": ` + value
	end := start + strings.LastIndexByte(at.Raw, '}')
	if at.Index == 0 {
		end = bytes.LastIndexByte(d.text, '}')
	}
	head := bytes.TrimRight(d.text[:end], " \t\r\n")
	var b bytes.Buffer
	b.Write(head)
	if head[len(head)-1] != '{' {
		b.WriteByte(',')
		if !lines {
			b.WriteByte(' ')
		}
	}
	if lines {
		b.WriteString("\n" + strings.Repeat(unit, depth+1))
	}
	b.WriteString(entry)
	if lines {
		b.WriteString("\n" + strings.Repeat(unit, depth))
	}
	b.Write(d.text[end:])
	d.text = b.Bytes()
	return nil
}

// wrap puts a value into an object of its own at a depth.
func wrap(name, value, unit string, depth int, lines bool) string {
	if !lines {
		return `{"` + name + `": ` + value + `}`
	}
	in, out := strings.Repeat(unit, depth+1), strings.Repeat(unit, depth)
	return "{\n" + in + `"` + name + `": ` + value + "\n" + out + "}"
}

// layout tells by what a file indents and whether it has its values on lines of
// their own; an empty object gets two spaces.
func layout(text []byte) (unit string, lines bool) {
	body := bytes.TrimSpace(text)
	inner := bytes.TrimSpace(body[1 : len(body)-1])
	at := bytes.IndexByte(body, '\n')
	if at < 0 && len(inner) > 0 {
		return "", false
	}
	rest := body[at+1:]
	n := 0
	for at >= 0 && n < len(rest) && (rest[n] == ' ' || rest[n] == '\t') {
		n++
	}
	if n == 0 || len(inner) == 0 {
		return "  ", true
	}
	return string(rest[:n]), true
}

// remove takes a value out, and the objects that are empty without it.
func (d *jsonDoc) remove(key string) error {
	for key != "" {
		out, err := sjson.DeleteBytes(d.text, key)
		if err != nil {
			return err
		}
		d.text = out
		dot := strings.LastIndexByte(key, '.')
		if dot < 0 {
			return nil
		}
		key = key[:dot]
		if len(gjson.GetBytes(d.text, key).Map()) > 0 {
			return nil
		}
	}
	return nil
}
