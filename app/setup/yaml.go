package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlFormat is a YAML mapping whose own keys are edited, in block or flow form.
type yamlFormat struct{}

func (yamlFormat) root(b []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(b))
	var doc, second yaml.Node
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("the file is not YAML, so it is left alone: %w", err)
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file holds more than one document, so it is left alone")
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("the file is no list of settings, so it is left alone")
	}
	return root, nil
}

func (f yamlFormat) tree(b []byte) (map[string]any, error) {
	out := map[string]any{}
	root, err := f.root(b)
	if err != nil || root == nil {
		return out, err
	}
	if err := root.Decode(&out); err != nil {
		return nil, fmt.Errorf("the file is not YAML, so it is left alone: %w", err)
	}
	return out, nil
}

// comments returns the lines that are comments alone; others stand on lines of
// which only values are replaced.
func (yamlFormat) comments(b []byte) []string {
	var out []string
	for line := range strings.SplitSeq(string(b), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

func (yamlFormat) quote(plain string) string { return strconv.Quote(plain) }

// offset returns where a node begins. Columns count characters.
func offset(b []byte, n *yaml.Node) int {
	at := 0
	for line := 1; line < n.Line && at < len(b); line++ {
		at = yamlLineEnd(b, at)
	}
	for col := 1; col < n.Column && at < len(b); col++ {
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return at
}

// yamlLineEnd returns where the next line begins, by the line breaks of YAML.
func yamlLineEnd(b []byte, at int) int {
	for at < len(b) {
		r, size := utf8.DecodeRune(b[at:])
		at += size
		switch r {
		case '\r':
			if at < len(b) && b[at] == '\n' {
				at++
			}
			return at
		case '\n', '\u0085', '\u2028', '\u2029':
			return at
		}
	}
	return at
}

func yamlEntry(root *yaml.Node, name string) int {
	if root == nil {
		return -1
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == name {
			return i
		}
	}
	return -1
}

func (f yamlFormat) find(b []byte, p path) (at, end int, ok bool) {
	root, err := f.root(b)
	i := yamlEntry(root, p.String())
	if err != nil || i < 0 {
		return 0, 0, false
	}
	at = offset(b, root.Content[i+1])
	return at, yamlEnd(b, at, root.Content[i+1], root.Style&yaml.FlowStyle != 0), true
}

// yamlEnd returns where a scalar ends, with its anchor and tag before it.
func yamlEnd(b []byte, at int, n *yaml.Node, flow bool) int {
	for at < len(b) && (b[at] == '&' || b[at] == '!') {
		for at < len(b) && strings.IndexByte(" \t\r\n", b[at]) < 0 {
			at++
		}
		for at < len(b) && (b[at] == ' ' || b[at] == '\t') {
			at++
		}
	}
	switch {
	case at >= len(b):
		return at
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return quotedEnd(b, at, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		return quotedEnd(b, at, '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return blockEnd(b, at)
	}
	end := at
	for end < len(b) && b[end] != '\n' && (!flow || strings.IndexByte(",{}[]", b[end]) < 0) {
		if b[end] == '#' && end > 0 && (b[end-1] == ' ' || b[end-1] == '\t') {
			break
		}
		end++
	}
	return at + len(bytes.TrimRight(b[at:end], " \t\r"))
}

func quotedEnd(b []byte, at int, quote byte) int {
	for i := at + 1; i < len(b); i++ {
		switch {
		case b[i] == '\\' && quote == '"':
			i++
		case b[i] == quote && quote == '\'' && i+1 < len(b) && b[i+1] == quote:
			i++
		case b[i] == quote:
			return i + 1
		}
	}
	return len(b)
}

// blockEnd returns where a text over lines ends: before the next line that is
// not indented deeper than its key.
func blockEnd(b []byte, at int) int {
	depth := len(indentAt(b, at))
	end := lineEnd(b, at)
	last := end
	for end < len(b) {
		line := b[end:lineEnd(b, end)]
		if !blank(line) && len(line)-len(bytes.TrimLeft(line, " ")) <= depth {
			break
		}
		end += len(line)
		if !blank(line) {
			last = end
		}
	}
	return at + len(bytes.TrimRight(b[at:last], "\r\n"))
}

func (f yamlFormat) inserts(b []byte, p path, plain string) [][]splice {
	entry := p.String() + ": " + f.quote(plain)
	root, err := f.root(b)
	if err != nil {
		return nil
	}
	if root == nil || len(root.Content) == 0 && root.Style&yaml.FlowStyle == 0 {
		return f.whereEmpty(b, entry)
	}
	at := offset(b, root)
	if root.Style&yaml.FlowStyle != 0 {
		brace := bytes.IndexByte(b[at:], '{')
		if brace < 0 {
			return nil
		}
		at += brace + 1
		if len(root.Content) > 0 {
			entry += ", "
		}
		return [][]splice{{{at, at, entry}}}
	}
	first := offset(b, root.Content[0])
	start := lineStart(b, first)
	indent := string(b[start:first])
	if strings.Trim(indent, " ") != "" {
		return nil // the first key follows something on its line
	}
	end := f.contentEnd(b, root)
	return [][]splice{{insertLine(b, end, indent+entry)}, {insertLine(b, start, indent+entry)}}
}

// contentEnd returns where the document's last line ends: the end of the text,
// or an end marker before it.
func (f yamlFormat) contentEnd(b []byte, root *yaml.Node) int {
	last := root.Content[len(root.Content)-1]
	for at := lineStart(b, offset(b, last)); at < len(b); {
		next := lineEnd(b, at)
		if line := strings.TrimRight(string(b[at:next]), " \t\r\n"); line == "..." || strings.HasPrefix(line, "... ") {
			return at
		}
		at = next
	}
	return len(b)
}

// whereEmpty returns ways to write into a document that has no settings yet:
// at its end, before an end marker, behind a start marker.
func (yamlFormat) whereEmpty(b []byte, entry string) [][]splice {
	out := [][]splice{{insertLine(b, len(b), entry)}}
	for at := 0; at < len(b); at = lineEnd(b, at) {
		line := b[at:lineEnd(b, at)]
		if bytes.HasPrefix(line, []byte("...")) {
			out = append(out, []splice{insertLine(b, at, entry)})
		}
		if bytes.HasPrefix(line, []byte("---")) {
			out = append(out, []splice{insertLine(b, lineEnd(b, at), entry)})
		}
	}
	return out
}

func (f yamlFormat) removal(b []byte, p path) []splice {
	root, err := f.root(b)
	i := yamlEntry(root, p.String())
	if err != nil || i < 0 {
		return nil
	}
	at := offset(b, root.Content[i])
	_, end, _ := f.find(b, p)
	if root.Style&yaml.FlowStyle == 0 {
		if next := i + 2; next >= len(root.Content) && len(root.Content) == 2 && !blank(b[lineStart(b, at):at]) {
			return []splice{{at: at, end: end}}
		}
		return []splice{cut(b, at, end)}
	}
	next := end
	for next < len(b) && strings.IndexByte(" \t\r\n", b[next]) >= 0 {
		next++
	}
	if next < len(b) && b[next] == ',' {
		for next++; next < len(b) && b[next] == ' '; next++ {
		}
		return []splice{{at: at, end: next}}
	}
	if i > 0 { // the last one: the comma before it goes
		before := bytes.LastIndexByte(b[:at], ',')
		return []splice{{at: before, end: end}}
	}
	return []splice{{at: at, end: end}}
}
