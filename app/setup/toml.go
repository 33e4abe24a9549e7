package setup

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFormat is TOML, with dotted keys, tables and arrays of tables.
type tomlFormat struct{}

func (tomlFormat) tree(b []byte) (map[string]any, error) {
	out := map[string]any{}
	if err := toml.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("the file is not whole TOML, so it is left alone: %w", err)
	}
	return out, nil
}

func (tomlFormat) comments(b []byte) []string {
	p := unstable.Parser{KeepComments: true}
	p.Reset(b)
	var out []string
	var visit func(n *unstable.Node)
	visit = func(n *unstable.Node) {
		for ; n != nil && n.Valid(); n = n.Next() {
			if n.Kind == unstable.Comment {
				out = append(out, strings.TrimSpace(string(n.Data)))
			}
			if n.Kind == unstable.Array || n.Kind == unstable.KeyValue || n.Kind == unstable.InlineTable || n.Kind == unstable.Comment {
				visit(n.Child())
			}
		}
	}
	for p.NextExpression() {
		visit(p.Expression())
	}
	return out
}

func (tomlFormat) quote(plain string) string { return strconv.Quote(plain) }

// statement is a table's header, or a key with its value.
type statement struct {
	at, end       int  // from its first byte to behind its value or bracket
	full          path // table and key
	table         path
	header        bool
	inArray       bool // it is, or stands in, an array of tables
	valAt, valEnd int
}

// scan cuts a text into statements. The text was parsed, so it has no faults.
func (tomlFormat) scan(b []byte) []statement {
	var out []statement
	var table path
	inArray := false
	for at := 0; at < len(b); {
		switch c := b[at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			at++
		case c == '#':
			at = lineEnd(b, at)
		case c == '[':
			s := statement{at: at, header: true}
			array := bytes.HasPrefix(b[at:], []byte("[["))
			at++
			if array {
				at++
			}
			s.full, at = tomlKey(b, at)
			for at < len(b) && b[at] == ']' {
				at++
			}
			table, inArray = s.full, array || underArray(out, s.full)
			s.table, s.inArray, s.end = table, inArray, at
			out = append(out, s)
		default:
			s := statement{at: at, table: table, inArray: inArray}
			var key path
			key, at = tomlKey(b, at)
			s.full = slices.Concat(table, key)
			for at < len(b) && (b[at] == '=' || b[at] == ' ' || b[at] == '\t') {
				at++
			}
			s.valAt = at
			at = tomlValue(b, at)
			s.valEnd, s.end = at, at
			out = append(out, s)
			if at == s.at {
				return out // nothing was read: not to be gone through for ever
			}
		}
	}
	return out
}

func underArray(list []statement, p path) bool {
	return slices.ContainsFunc(list, func(s statement) bool { return s.header && s.inArray && p.within(s.full) })
}

// tomlKey reads a dotted key and the blanks behind it.
func tomlKey(b []byte, at int) (path, int) {
	var out path
	for at < len(b) {
		switch c := b[at]; c {
		case ' ', '\t', '.':
			at++
		case '"', '\'':
			end := tomlString(b, at)
			name := string(b[at+1 : max(end-1, at+1)])
			if c == '"' {
				if plain, err := strconv.Unquote(string(b[at:end])); err == nil {
					name = plain
				}
			}
			out, at = append(out, name), end
		default:
			end := at
			for end < len(b) && strings.IndexByte(" \t.=]#\r\n\"'", b[end]) < 0 {
				end++
			}
			if end == at {
				return out, at
			}
			out, at = append(out, string(b[at:end])), end
		}
	}
	return out, at
}

// tomlString returns where a string ends.
func tomlString(b []byte, at int) int {
	quote := b[at]
	for _, long := range []string{`"""`, `'''`} {
		if bytes.HasPrefix(b[at:], []byte(long)) {
			return tomlLongString(b, at, quote)
		}
	}
	for i := at + 1; i < len(b); i++ {
		switch {
		case b[i] == '\\' && quote == '"':
			i++
		case b[i] == quote:
			return i + 1
		case b[i] == '\n':
			return i
		}
	}
	return len(b)
}

// tomlLongString returns where a string over lines ends; up to two quotes may
// stand before the three that close it.
func tomlLongString(b []byte, at int, quote byte) int {
	for i := at + 3; i < len(b); i++ {
		if b[i] == '\\' && quote == '"' {
			i++
			continue
		}
		if b[i] == quote && i+2 < len(b) && b[i+1] == quote && b[i+2] == quote {
			for i += 3; i < len(b) && b[i] == quote; i++ {
			}
			return i
		}
	}
	return len(b)
}

// tomlValue returns where a value ends: an array may go on over lines with
// comments between them (Q22).
func tomlValue(b []byte, at int) int {
	if at >= len(b) {
		return at
	}
	switch b[at] {
	case '"', '\'':
		return tomlString(b, at)
	case '[', '{':
		depth := 0
		for at < len(b) {
			switch b[at] {
			case '[', '{':
				depth++
			case ']', '}':
				if depth--; depth == 0 {
					return at + 1
				}
			case '"', '\'':
				at = tomlString(b, at)
				continue
			case '#':
				at = lineEnd(b, at)
				continue
			}
			at++
		}
		return at
	}
	end := at
	for end < len(b) && b[end] != '\n' && b[end] != '#' {
		end++
	}
	return at + len(bytes.TrimRight(b[at:end], " \t\r"))
}

func (f tomlFormat) find(b []byte, p path) (at, end int, ok bool) {
	for _, s := range f.scan(b) {
		if !s.header && !s.inArray && slices.Equal(s.full, p) {
			return s.valAt, s.valEnd, true
		}
	}
	return 0, 0, false
}

func (f tomlFormat) inserts(b []byte, p path, plain string) [][]splice {
	table := p[:len(p)-1]
	var out [][]splice
	near, root := -1, 0
	var rel path
	for _, s := range f.scan(b) {
		if len(s.table) == 0 && !s.header {
			root = lineEnd(b, s.end)
		}
		if s.inArray || len(table) == 0 {
			continue
		}
		if slices.Equal(s.table, table) || !s.header && s.full[:len(s.full)-1].within(table) {
			near, rel = lineEnd(b, s.end), p[len(s.table):]
		}
	}
	line := func(at int, key path) []splice {
		return []splice{insertLine(b, at, tomlName(key)+" = "+f.quote(plain))}
	}
	if len(table) == 0 {
		return append(out, line(root, p), line(0, p))
	}
	if near >= 0 {
		out = append(out, line(near, rel))
	}
	head := "[" + tomlName(table) + "]" + newline(b) + tomlName(p[len(table):]) + " = " + f.quote(plain)
	if len(b) > 0 {
		head = newline(b) + head
	}
	return append(out, []splice{insertLine(b, len(b), head)}, line(root, p))
}

// insertLine adds a line at the start of one, or at the end of a text that may
// lack its last line break.
func insertLine(b []byte, at int, line string) splice {
	if at > 0 && b[at-1] != '\n' {
		return splice{at, at, newline(b) + line}
	}
	return splice{at, at, line + newline(b)}
}

// tomlName writes a key with the quotes it needs.
func tomlName(p path) string {
	out := make([]string, len(p))
	for i, name := range p {
		out[i] = name
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			out[i] = strconv.Quote(name)
		}
	}
	return strings.Join(out, ".")
}

func (f tomlFormat) removal(b []byte, p path) []splice {
	var out []splice
	for _, s := range f.scan(b) {
		if !s.full.within(p) {
			continue
		}
		one := cut(b, s.at, s.end)
		if before := lineStart(b, max(one.at-1, 0)); s.header && one.at > 0 && blank(b[before:one.at]) && b[one.at-1] == '\n' {
			one.at = before // the blank line above a table goes with it
		}
		if n := len(out); n > 0 && one.at < out[n-1].end {
			one.at = out[n-1].end
		}
		out = append(out, one)
	}
	return out
}
