package setup

import (
	"errors"
	"strings"
)

// lineDoc is a file of lines "key = value" or "key: value"; all other lines,
// comments among them, stay as they are. Raw values are whole lines.
type lineDoc struct {
	lines  []string
	tables bool // TOML: keys stand in tables, "table.key"
}

func openTOML(b []byte) (document, error) {
	d := &lineDoc{lines: split(b), tables: true}
	all, whole := d.scan()
	if !whole {
		return nil, errors.New("the file is not whole TOML, so it is left alone")
	}
	for _, s := range all {
		inline := s.table == "" && (s.key == "model_providers" || strings.HasPrefix(s.key, "model_providers."))
		if inline || s.table == "model_providers" && (s.key == "breakwater" || strings.HasPrefix(s.key, "breakwater.")) {
			return nil, errors.New("the file defines its providers in a form that is left alone; change it by hand")
		}
	}
	return d, nil
}

func openYAML(b []byte) (document, error) { return &lineDoc{lines: split(b)}, nil }

// split cuts a file into lines that keep their endings.
func split(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
}

func (d *lineDoc) bytes() []byte {
	text := strings.Join(d.lines, "")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return []byte(text)
}

// statement is one line that says something.
type statement struct {
	line       int
	table, key string
	value      string
	header     bool
}

func (d *lineDoc) statements() []statement {
	out, _ := d.scan()
	return out
}

// scan reads the lines, passing over what stands in texts of several lines. It
// reports whether the last such text has an end.
func (d *lineDoc) scan() (out []statement, whole bool) {
	table, quote := "", ""
	for i, line := range d.lines {
		s := strings.TrimSpace(line)
		if quote != "" {
			if strings.Contains(s, quote) {
				quote = ""
			}
			continue
		}
		if s == "" || s[0] == '#' || !d.tables && (line[0] == ' ' || line[0] == '\t' || line[0] == '-') {
			continue
		}
		if d.tables && s[0] == '[' {
			table = tableName(s)
			out = append(out, statement{line: i, table: table, header: true})
			continue
		}
		sep := ":"
		if d.tables {
			sep = "="
		}
		key, value, ok := strings.Cut(s, sep)
		if !ok {
			continue
		}
		for _, q := range []string{`"""`, `'''`} {
			if d.tables && strings.Count(value, q) == 1 {
				quote = q
			}
		}
		out = append(out, statement{line: i, table: table, key: unquote(strings.TrimSpace(key)), value: plainValue(value)})
	}
	return out, quote == ""
}

// tableName reads "[a . b] # comment" as "a.b"; arrays of tables have a name
// that no key has.
func tableName(s string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(s, "["), "]")
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = unquote(strings.TrimSpace(p))
	}
	return strings.Join(parts, ".")
}

func unquote(s string) string {
	if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// plainValue takes quotes and a comment behind off a value.
func plainValue(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return s[1 : end+1]
		}
	}
	if at := strings.Index(s, " #"); at >= 0 {
		s = s[:at]
	}
	return strings.TrimSpace(s)
}

func (d *lineDoc) where(key string) (table, name string) {
	if at := strings.LastIndexByte(key, '.'); d.tables && at >= 0 {
		return key[:at], key[at+1:]
	}
	return "", key
}

func (d *lineDoc) find(key string) (statement, bool) {
	table, name := d.where(key)
	for _, s := range d.statements() {
		if !s.header && s.table == table && s.key == name {
			return s, true
		}
	}
	return statement{}, false
}

func (d *lineDoc) get(key string) (raw, plain string, ok bool) {
	s, ok := d.find(key)
	if !ok {
		return "", "", false
	}
	return strings.TrimSuffix(d.lines[s.line], "\n"), s.value, true
}

func (d *lineDoc) set(key, plain string) (string, error) {
	_, name := d.where(key)
	raw := name + `: "` + plain + `"`
	if d.tables {
		raw = name + ` = "` + plain + `"`
	}
	return raw, d.put(key, raw)
}

func (d *lineDoc) put(key, raw string) error {
	if s, ok := d.find(key); ok {
		d.lines[s.line] = raw + "\n"
		return nil
	}
	raw += "\n"
	if n := len(d.lines); n > 0 && !strings.HasSuffix(d.lines[n-1], "\n") {
		d.lines[n-1] += "\n"
	}
	table, _ := d.where(key)
	at := len(d.lines)
	last := -1
	for _, s := range d.statements() {
		if s.table == table {
			last = s.line
		}
	}
	switch {
	case d.tables && last >= 0 && (table != "" || !d.openEnded(last)):
		at = last + 1
	case d.tables && table == "":
		at = 0 // before the first table, where a key belongs to none
	case table != "":
		block := []string{"[" + table + "]\n", raw}
		if len(d.lines) > 0 {
			block = append([]string{"\n"}, block...)
		}
		d.lines = append(d.lines, block...)
		return nil
	}
	d.lines = append(d.lines[:at:at], append([]string{raw}, d.lines[at:]...)...)
	return nil
}

// openEnded reports whether a value goes on below its line.
func (d *lineDoc) openEnded(line int) bool {
	s := strings.TrimSpace(d.lines[line])
	return strings.HasSuffix(s, "[") || strings.HasSuffix(s, ",") || strings.HasSuffix(s, "{") || strings.Contains(s, `"""`) || strings.Contains(s, "'''")
}

// remove takes a line out, and the header of a table that is empty without it.
func (d *lineDoc) remove(key string) error {
	s, ok := d.find(key)
	if !ok {
		return nil
	}
	d.drop(s.line)
	if s.table == "" {
		return nil
	}
	header := -1
	for _, x := range d.statements() {
		switch {
		case x.table == s.table && x.header:
			header = x.line
		case x.table == s.table:
			return nil
		}
	}
	if header >= 0 {
		d.drop(header)
		if header > 0 && strings.TrimSpace(d.lines[header-1]) == "" {
			d.drop(header - 1)
		}
	}
	return nil
}

func (d *lineDoc) drop(line int) { d.lines = append(d.lines[:line], d.lines[line+1:]...) }
