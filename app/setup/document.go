package setup

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// path is the way to a value: the names of its tables or objects and its own.
type path []string

func (p path) String() string { return strings.Join(p, ".") }

func (p path) within(top path) bool { return len(p) >= len(top) && slices.Equal(p[:len(top)], top) }

// splice replaces the bytes from at to end.
type splice struct {
	at, end int
	text    string
}

// step is a splice that was made: Len bytes at At stand where Old stood. The
// steps of an edit, undone in reverse order, give the former bytes.
type step struct {
	At     int    `json:"at"`
	Len    int    `json:"len"`
	Old    string `json:"old,omitempty"`
	Secret string `json:"secret,omitempty"` // the secret store's name of Old
}

// format is a language of settings files. Positions are found by our own
// scanners; what a text means is always read by the format's real parser.
type format interface {
	// tree returns what a text means.
	tree(b []byte) (map[string]any, error)
	// comments returns the comments of a text.
	comments(b []byte) []string
	// find returns where the value of a key stands.
	find(b []byte, p path) (at, end int, ok bool)
	// inserts returns ways to add a key, the best one first.
	inserts(b []byte, p path, plain string) [][]splice
	// removal takes a key, or all that stands below it, out.
	removal(b []byte, p path) []splice
	quote(plain string) string
}

var bom = []byte("\xef\xbb\xbf")

// editor changes one text, value by value. Each change is parsed and compared
// with the document that was intended, and undone when it is another one.
type editor struct {
	f     format
	bom   bool
	body  []byte
	tree  map[string]any
	steps []step
}

func edit(f format, text []byte) (*editor, error) {
	e := &editor{f: f, bom: bytes.HasPrefix(text, bom), body: bytes.Clone(bytes.TrimPrefix(text, bom))}
	var err error
	e.tree, err = f.tree(e.body)
	return e, err
}

// bytes returns the text, with the byte order mark it came with (Q22, Q23).
func (e *editor) bytes() []byte {
	if e.bom {
		return append(bytes.Clone(bom), e.body...)
	}
	return bytes.Clone(e.body)
}

// get returns a value as plain text; a list, number or table is none.
func (e *editor) get(p path) (string, bool) {
	s, ok := lookup(e.tree, p).(string)
	return s, ok
}

// has reports whether anything stands under a key.
func (e *editor) has(p path) bool { return lookup(e.tree, p) != nil }

// set writes a plain value. It returns what stood there, as written.
func (e *editor) set(p path, plain string) (old string, had bool, err error) {
	want, err := withValue(e.tree, p, plain)
	if err != nil {
		return "", false, err
	}
	if at, end, ok := e.f.find(e.body, p); ok {
		old = string(e.body[at:end])
		text := e.f.quote(plain)
		if old == "" && at > 0 && e.body[at-1] == ':' {
			text = " " + text // YAML's empty value
		}
		return old, true, e.apply([]splice{{at, end, text}}, want)
	}
	err = fmt.Errorf("%s is written in a form that cannot be edited", p)
	for _, way := range e.f.inserts(e.body, p, plain) {
		if err = e.apply(way, want); err == nil {
			return "", false, nil
		}
	}
	return "", false, err
}

// restore writes a value back as it stood before; it must mean the same as then.
func (e *editor) restore(p path, raw string) error {
	at, end, ok := e.f.find(e.body, p)
	if !ok {
		return fmt.Errorf("%s is written in a form that cannot be edited", p)
	}
	body := spliced(e.body, []splice{{at, end, raw}})
	after, err := e.f.tree(body)
	if err != nil {
		return unreadable(err)
	}
	want := without(e.tree, p)
	if !same(without(after, p), want) {
		return errUnintended
	}
	return e.apply([]splice{{at, end, raw}}, after)
}

// remove takes a key, or all that stands below it, out.
func (e *editor) remove(p path) error {
	out := e.f.removal(e.body, p)
	body := spliced(e.body, out)
	after, err := e.f.tree(body)
	if err != nil {
		return unreadable(err)
	}
	if !same(pruned(after, p), pruned(without(e.tree, p), p)) {
		return fmt.Errorf("%s is written in a form that cannot be taken out", p)
	}
	return e.apply(out, after)
}

// Reasons why an edit is refused.
var (
	errUnintended = errors.New("the edited file would not mean what was intended")
	errComments   = errors.New("a comment would be lost")
)

func unreadable(err error) error { return fmt.Errorf("the edited file could not be read: %w", err) }

// apply makes splices if the text then means what is wanted and keeps its
// comments.
func (e *editor) apply(list []splice, want map[string]any) error {
	body := spliced(e.body, list)
	got, err := e.f.tree(body)
	if err != nil {
		return unreadable(err)
	}
	if !same(got, want) {
		return errUnintended
	}
	if !contains(e.f.comments(body), e.f.comments(e.body)) {
		return errComments
	}
	for _, s := range ordered(list) {
		e.steps = append(e.steps, step{At: s.at, Len: len(s.text), Old: string(e.body[s.at:s.end])})
	}
	e.body, e.tree = body, got
	return nil
}

// ordered sorts splices from the end of the text to its beginning, so that the
// positions of those to come stay right.
func ordered(list []splice) []splice {
	out := slices.Clone(list)
	slices.Reverse(out) // of two at one place, the first to be made comes last
	sort.SliceStable(out, func(i, j int) bool { return out[i].at > out[j].at })
	return out
}

func spliced(b []byte, list []splice) []byte {
	for _, s := range ordered(list) {
		b = slices.Concat(b[:s.at], []byte(s.text), b[s.end:])
	}
	return b
}

// unstep makes the steps undone; it fails when they do not fit the text.
func unstep(body []byte, steps []step) ([]byte, bool) {
	for _, s := range slices.Backward(steps) {
		if s.At < 0 || s.Len < 0 || s.At+s.Len > len(body) {
			return nil, false
		}
		body = slices.Concat(body[:s.At], []byte(s.Old), body[s.At+s.Len:])
	}
	return body, true
}

// contains reports whether every text of part is in all, as often as there.
func contains(all, part []string) bool {
	count := map[string]int{}
	for _, s := range all {
		count[s]++
	}
	for _, s := range part {
		if count[s]--; count[s] < 0 {
			return false
		}
	}
	return true
}

// newline returns how the lines of a text end.
func newline(b []byte) string {
	if bytes.Contains(b, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// lineStart and lineEnd bound the line around a position; the end is behind
// the line break.
func lineStart(b []byte, at int) int { return bytes.LastIndexByte(b[:at], '\n') + 1 }

func lineEnd(b []byte, at int) int {
	if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(b)
}

// blank reports whether a text is only white space.
func blank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

// cut removes a statement: its whole line when nothing else stands there, and
// otherwise just itself, so that a comment behind it stays.
func cut(b []byte, at, end int) splice {
	from, to := lineStart(b, at), lineEnd(b, end)
	if blank(b[from:at]) && blank(b[end:to]) {
		if to == len(b) && from > 0 && !bytes.HasSuffix(b, []byte("\n")) {
			from-- // the text ends without a line break, as it did
			if from > 0 && b[from-1] == '\r' {
				from--
			}
		}
		return splice{at: from, end: to}
	}
	for end < len(b) && (b[end] == ' ' || b[end] == '\t') {
		end++
	}
	return splice{at: at, end: end}
}
