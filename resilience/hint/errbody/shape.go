package errbody

import (
	"encoding/json"
	"slices"
	"strings"
)

// Shape is what an error body is, by its bytes and not by its label.
type Shape uint8

// The shapes.
const (
	// Empty is a body without a character that shows.
	Empty Shape = iota
	// Plain is text that is neither JSON nor markup.
	Plain
	// Own is JSON that states an error the way providers do: an error object or
	// string, a list of errors, or a bare message or detail.
	Own
	// Foreign is JSON of any other shape.
	Foreign
	// Broken is JSON that ends too early or cannot be read.
	Broken
	// Page is markup: HTML or XML.
	Page
)

// maxPlain bounds the plain text that counts as a provider's own words, in
// bytes: a longer one is a document, or an echo of the request.
const maxPlain = 600

// Shape returns the body's shape.
func (b Body) Shape() Shape { return b.shape }

// shapeOf returns the shape of the text, of which v is the JSON value if it has
// one.
func (b Body) shapeOf(text string, v any) Shape {
	switch {
	case strings.TrimSpace(text) == "":
		return Empty
	case text[0] == '<':
		return Page
	case text[0] != '{' && text[0] != '[':
		return Plain
	case v == nil:
		return Broken
	case len(b.states.own) > 0:
		return Own
	}
	return Foreign
}

// OwnWords returns what the provider itself states about the refusal, in lower
// case and without quoted parts, which may repeat the request (ruling 55): the
// fields of its error, or a short plain text. It is empty for other shapes.
func (b Body) OwnWords() string {
	switch b.Shape() {
	case Plain:
		if text := b.plain(); len(text) <= maxPlain {
			return strings.ToLower(unquoted(text))
		}
	case Own:
		words := slices.Clone(b.states.own)
		for i, w := range words {
			words[i] = unquoted(w)
		}
		return strings.ToLower(strings.Join(words, "\n"))
	}
	return ""
}

// Said returns all that the body states in lower case: for a provider's own
// shape its error's fields and those of another error packed inside, for a page
// nothing, else the whole text.
func (b Body) Said() string {
	switch b.Shape() {
	case Own:
		return strings.ToLower(strings.Join(slices.Concat(b.states.own, b.states.packed), "\n"))
	case Page:
		return ""
	}
	return b.Text()
}

// Sentence returns the one text that explains the refusal to a person: the
// error's message, else its code or type; plain text as it is; empty for other
// shapes.
func (b Body) Sentence() string {
	switch b.Shape() {
	case Plain:
		return b.plain()
	case Own:
		return b.states.own[0]
	}
	return ""
}

// plain is the text of a body that is not JSON, or a single JSON string.
func (b Body) plain() string {
	if s, ok := decode(payload(b.raw)).(string); ok {
		return s
	}
	return strings.TrimSpace(b.raw)
}

// statements are the texts of an error: own in the order in which they explain
// it, packed those of another server's error inside.
type statements struct{ own, packed []string }

// messageKeys hold the sentence, identifierKeys the words for machines.
var (
	messageKeys    = []string{"message", "detail", "msg", "error_description", "error_msg", "status_msg"}
	identifierKeys = []string{"code", "type", "status", "reason"}
)

func statementsOf(v any) statements {
	var s statements
	switch v := v.(type) {
	case map[string]any:
		s.root(v)
	case []any:
		for _, e := range v {
			if o, ok := e.(map[string]any); ok {
				s.root(o)
			}
		}
	}
	return s
}

// root reads the outermost object. Its identifiers count only beside an error.
func (s *statements) root(o map[string]any) {
	if r, ok := o["response"].(map[string]any); ok && r["error"] != nil { // a failed response
		o = r
	}
	switch e := o["error"].(type) {
	case string:
		s.add(e)
	case map[string]any:
		s.fields(e)
	}
	if list, ok := o["errors"].([]any); ok {
		s.list(list)
	}
	if inner, ok := o["base_resp"].(map[string]any); ok {
		s.sentences(inner)
	}
	s.sentences(o)
	if len(s.own) > 0 {
		s.identifiers(o)
	}
}

// fields reads an error object.
func (s *statements) fields(o map[string]any) {
	s.sentences(o)
	s.identifiers(o)
	if list, ok := o["details"].([]any); ok {
		for _, d := range list {
			if detail, ok := d.(map[string]any); ok {
				if reason, ok := detail["reason"].(string); ok {
					s.add(reason)
				}
			}
		}
	}
	if meta, ok := o["metadata"].(map[string]any); ok { // an aggregator's upstream
		s.pack(meta["raw"])
	}
}

func (s *statements) list(list []any) {
	for _, e := range list {
		switch e := e.(type) {
		case string:
			s.add(e)
		case map[string]any:
			s.fields(e)
		}
	}
}

func (s *statements) sentences(o map[string]any) {
	for _, key := range messageKeys {
		switch v := o[key].(type) {
		case string:
			s.add(v)
		case []any: // a validator's list: what it found, never the input beside it
			for _, e := range v {
				if found, ok := e.(map[string]any); ok {
					if msg, ok := found["msg"].(string); ok {
						s.add(msg)
					}
				}
			}
		}
	}
}

func (s *statements) identifiers(o map[string]any) {
	for _, key := range identifierKeys {
		switch v := o[key].(type) {
		case string:
			s.add(v)
		case json.Number:
			s.add(v.String())
		}
	}
}

// add takes a text in: markup inside an error says nothing, and JSON inside is
// another server's error.
func (s *statements) add(text string) {
	t := strings.TrimSpace(text)
	switch {
	case t == "" || t[0] == '<':
	case t[0] == '{' || t[0] == '[':
		s.pack(t)
	default:
		s.own = append(s.own, t)
	}
}

// pack takes in the error of another server, as text or as JSON.
func (s *statements) pack(v any) {
	text, ok := v.(string)
	if !ok {
		return
	}
	inner := Parse([]byte(text))
	if found := inner.states; len(found.own) > 0 {
		s.packed = append(append(s.packed, found.own...), found.packed...)
	} else if inner.Shape() == Plain {
		s.packed = append(s.packed, text)
	}
}

// quotes maps an opening quotation mark to its closing one.
var quotes = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '‘': '’', '«': '»'}

// unquoted removes quoted parts. A quotation mark opens only where no letter is
// before it and closes only where none is behind: apostrophes stay.
func unquoted(s string) string {
	if !strings.ContainsAny(s, "\"'`“‘«") {
		return s
	}
	text := []rune(s)
	var out []rune
	for i := 0; i < len(text); i++ {
		end := 0
		if closing, ok := quotes[text[i]]; ok && (i == 0 || !wordRune(text[i-1])) {
			end = closingQuote(text, i+1, closing)
		}
		if end > 0 {
			out = append(out, '"', '"')
			i = end
			continue
		}
		out = append(out, text[i])
	}
	return string(out)
}

func closingQuote(text []rune, from int, closing rune) int {
	for i := from; i < len(text); i++ {
		if text[i] == closing && (i+1 == len(text) || !wordRune(text[i+1])) {
			return i
		}
	}
	return 0
}

func wordRune(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 0x7f
}
