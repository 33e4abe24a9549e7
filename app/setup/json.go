package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat is a JSON object; with comments and trailing commas where its
// program reads them (Q23).
type jsonFormat struct{ comment bool }

// errNotJSON is for files that the program itself could not read.
var errNotJSON = errors.New("the file is not plain JSON, so it is left alone")

// parseJSON parses a text whose last line may be a comment without a line break.
func parseJSON(b []byte) (hujson.Value, error) { return hujson.Parse(append(bytes.Clone(b), '\n')) }

func (f jsonFormat) parse(b []byte) (*hujson.Object, error) {
	if blank(b) {
		return &hujson.Object{}, nil
	}
	v, err := parseJSON(b)
	if err != nil {
		if !f.comment {
			return nil, errNotJSON
		}
		return nil, fmt.Errorf("the file is not JSON, so it is left alone: %w", err)
	}
	obj, ok := v.Value.(*hujson.Object)
	if !ok || !f.comment && !v.IsStandard() {
		return nil, errNotJSON
	}
	return obj, nil
}

func (f jsonFormat) tree(b []byte) (map[string]any, error) {
	if _, err := f.parse(b); err != nil {
		return nil, err
	}
	out := map[string]any{}
	if blank(b) {
		return out, nil
	}
	plain, err := hujson.Standardize(append(bytes.Clone(b), '\n'))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	return out, d.Decode(&out)
}

func (f jsonFormat) comments(b []byte) []string {
	v, err := parseJSON(b)
	if err != nil {
		return nil
	}
	var out []string
	add := func(x hujson.Extra) {
		for _, line := range strings.Split(string(x), "\n") {
			if line = strings.Trim(line, " \t\r,"); line != "" {
				out = append(out, line)
			}
		}
	}
	add(v.BeforeExtra)
	for w := range v.All() {
		if w != &v {
			add(w.BeforeExtra)
		}
		switch c := w.Value.(type) {
		case *hujson.Object:
			add(c.AfterExtra)
		case *hujson.Array:
			add(c.AfterExtra)
		}
		add(w.AfterExtra)
	}
	return out
}

func (f jsonFormat) quote(plain string) string {
	b, err := json.Marshal(plain)
	if err != nil {
		return `""`
	}
	return string(b)
}

// member returns the last member of an object by name, as a reader takes it.
func member(obj *hujson.Object, name string) int {
	for i := len(obj.Members) - 1; i >= 0; i-- {
		if lit, ok := obj.Members[i].Name.Value.(hujson.Literal); ok && lit.String() == name {
			return i
		}
	}
	return -1
}

// trailing reports whether a comma stands behind the last member.
func trailing(obj *hujson.Object) bool {
	n := len(obj.Members)
	return n > 0 && obj.Members[n-1].Value.AfterExtra != nil
}

// walk follows a path as far as there are objects. It returns the last one,
// where it ends in the text (its brace), and how many names were used.
func (f jsonFormat) walk(b []byte, p path) (obj *hujson.Object, brace, depth int) {
	obj, err := f.parse(b)
	if err != nil {
		return nil, 0, 0
	}
	brace = bytes.LastIndexByte(b, '}')
	if v, err := parseJSON(b); err == nil {
		brace = v.EndOffset - 1
	}
	for depth < len(p)-1 {
		i := member(obj, p[depth])
		if i < 0 {
			return obj, brace, depth
		}
		below, ok := obj.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return nil, 0, 0
		}
		obj, brace = below, obj.Members[i].Value.EndOffset-1
		depth++
	}
	return obj, brace, depth
}

func (f jsonFormat) find(b []byte, p path) (at, end int, ok bool) {
	obj, _, depth := f.walk(b, p)
	if obj == nil || depth < len(p)-1 {
		return 0, 0, false
	}
	i := member(obj, p[depth])
	if i < 0 {
		return 0, 0, false
	}
	v := obj.Members[i].Value
	return v.StartOffset, v.EndOffset, true
}

func (f jsonFormat) inserts(b []byte, p path, plain string) [][]splice {
	unit, lines := layout(b)
	nl := newline(b)
	if blank(b) {
		text := "{" + nl + unit + f.member(p, plain, unit, nl, unit, true) + nl + "}" + nl
		return [][]splice{{{0, len(b), text}}}
	}
	obj, brace, depth := f.walk(b, p)
	if obj == nil {
		return nil
	}
	outer := indentAt(b, brace)
	inner := outer + unit
	var out []splice
	if n := len(obj.Members); n > 0 {
		last := obj.Members[n-1]
		at := last.Name.StartOffset
		if start := lineStart(b, at); blank(b[start:at]) {
			inner = string(b[start:at])
		}
		if !trailing(obj) {
			out = append(out, splice{last.Value.EndOffset, last.Value.EndOffset, ","})
		}
	}
	entry := f.member(p[depth:], plain, unit, nl, inner, lines)
	at := brace
	for at > 0 && strings.IndexByte(" \t\r\n", b[at-1]) >= 0 {
		at--
	}
	if !lines {
		if len(obj.Members) > 0 {
			entry = " " + entry
		}
		return [][]splice{append(out, splice{at, at, entry})}
	}
	text := nl + inner + entry
	if bytes.IndexByte(b[at:brace], '\n') < 0 {
		text += nl + outer
		return [][]splice{append(out, splice{at, brace, text})}
	}
	return [][]splice{append(out, splice{at, at, text})}
}

// member writes a name and its value with the objects between them.
func (f jsonFormat) member(p path, plain, unit, nl, indent string, lines bool) string {
	if len(p) == 1 {
		return f.quote(p[0]) + ": " + f.quote(plain)
	}
	if !lines {
		return f.quote(p[0]) + ": {" + f.member(p[1:], plain, unit, nl, indent, false) + "}"
	}
	in := indent + unit
	return f.quote(p[0]) + ": {" + nl + in + f.member(p[1:], plain, unit, nl, in, true) + nl + indent + "}"
}

func indentAt(b []byte, at int) string {
	start := lineStart(b, at)
	n := start
	for n < len(b) && (b[n] == ' ' || b[n] == '\t') {
		n++
	}
	return string(b[start:n])
}

// layout tells by what a file indents and whether its values stand on lines of
// their own; an empty object gets two spaces.
func layout(b []byte) (unit string, lines bool) {
	body := bytes.TrimSpace(b)
	if len(body) < 2 || blank(body[1:len(body)-1]) {
		return "  ", true
	}
	if bytes.IndexByte(body, '\n') < 0 {
		return "", false
	}
	for _, line := range bytes.Split(body, []byte("\n"))[1:] {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && len(rest) > 0 && rest[0] == '"' {
			return string(line[:len(line)-len(rest)]), true
		}
	}
	return "  ", true
}

func (f jsonFormat) removal(b []byte, p path) []splice {
	obj, _, depth := f.walk(b, p)
	if obj == nil || depth < len(p)-1 {
		return nil
	}
	i := member(obj, p[depth])
	if i < 0 {
		return nil
	}
	m := obj.Members[i]
	at, end := m.Name.StartOffset, m.Value.EndOffset
	after := end + len(m.Value.AfterExtra) // where a comma stands, if one does
	var comma []splice
	switch hasComma := i < len(obj.Members)-1 || trailing(obj); {
	case hasComma && after == end:
		end++
	case hasComma:
		comma = []splice{{at: after, end: after + 1}}
	case i > 0:
		before := obj.Members[i-1].Value
		at2 := before.EndOffset + len(before.AfterExtra)
		comma = []splice{{at: at2, end: at2 + 1}}
	}
	one := cut(b, at, end)
	if len(comma) > 0 && comma[0].at >= one.at && comma[0].end <= one.end {
		comma = nil
	}
	return append(comma, one)
}
