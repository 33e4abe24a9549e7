// Package dialect knows what differs between the wire dialects that clients
// and providers speak.
package dialect

import (
	"strings"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// Name names a wire dialect in the database, in JSON and in logs.
type Name string

// Dialect is one wire dialect: all that differs between it and the others. An
// implementation has no state of its own; what must be remembered of one answer
// is in the Reader, Thread, Usage and assembler that its methods are given. The
// rest of the program never asks which dialect it has.
//
// A dialect whose answers can be continued implements resumer as well.
type Dialect interface {
	// Traits returns the dialect's facts, which never change.
	Traits() *Traits
	requests
	refusals
	events
	documents
	figures
	// history returns how the dialect keeps what an account has sealed (ruling 61).
	history() history
}

// requests is how a dialect writes and changes a request.
type requests interface {
	// Ask writes the smallest request that puts the question.
	Ask(q Question) []byte
	// addSystem puts a system turn behind those that there are.
	addSystem(d *editor, text string)
	// standing returns what the conversation itself holds of the part that stays
	// the same from turn to turn.
	standing(raw []byte) []byte
}

// refusals is how a dialect says that there is no answer.
type refusals interface {
	// ErrorBody writes the refusal as a JSON body.
	ErrorBody(r Refusal) []byte
	// ErrorEvent writes the refusal as the event that ends a broken stream.
	ErrorEvent(r Refusal) []byte
}

// events is how a dialect reads and ends a stream.
type events interface {
	// read says what an event means; the Reader notes what was said and failed.
	read(r *Reader, e sse.Event) Progress
	// readEnd is read for a stream that is committed: it tells Finish, Done and
	// Failed apart from the rest, and costs next to nothing for the events in
	// between.
	readEnd(r *Reader, e sse.Event) Progress
	// missing returns what a complete answer lacks whose stream has ended without
	// the last event.
	missing(r *Reader) []byte
	// Delta returns what an event adds to the answer, and its text. It parses the
	// event, in contrast to read. A dialect whose rate of output is not watched
	// and whose answers are not continued returns NoDelta.
	Delta(e sse.Event) (DeltaKind, string)
	// finish returns the reason for the end that an event's data names.
	finish(data []byte) string
}

// documents is how a dialect reads and writes whole JSON answers.
type documents interface {
	// assembler returns what makes the answer of an event stream.
	assembler() assembler
	// stream writes an answer as events; usage tells that the client asked for
	// figures at the end. It returns false when the document is no complete
	// answer.
	stream(m *made, root gjson.Result, usage bool) bool
	// FailureIn returns the event that a stream would have ended with in place of
	// this answer, nil when the answer names no failure.
	FailureIn(doc []byte) []byte
	// AnswerText returns the text of an answer, empty when it has none.
	AnswerText(doc []byte) string
	// CallsTool reports whether an answer calls a tool.
	CallsTool(doc []byte) bool
	// EmptyDocument reports whether an answer says nothing although nothing
	// explains it: no text, no call, no refusal, and not ended by a limit or a
	// tool (case P30). Answers of other forms are never empty.
	EmptyDocument(doc []byte) bool
	// Unfinished reports whether an answer says that it is not complete.
	Unfinished(doc []byte) bool
	// tokens returns how many tokens an answer has, and how many of them were
	// thinking; zero where the dialect does not say.
	tokens(doc []byte) (all, thought int64)
}

// figures is where a dialect has what an answer cost and why it ended.
type figures interface {
	// usageEvent takes the figures of one event; p is what read said of it.
	usageEvent(u *Usage, p Progress, e sse.Event)
	// usageFigures takes an object of figures.
	usageFigures(u *Usage, r gjson.Result)
	// usageField takes a top-level field of a document besides the figures.
	usageField(u *Usage, key, value []byte)
	// usageHead takes the beginning of a long document.
	usageHead(u *Usage, head []byte)
}

// Traits are the facts of a dialect.
type Traits struct {
	Name  Name
	Title string // for people
	// Routes are served below a base URL; the first asks for an answer.
	Routes []Route
	// Version is the header that each request needs, with the value for clients
	// that send none; the zero value is none. Clients of the dialect are known by it.
	Version Header
	// Login is the capability that a request with an OAuth token needs, added to
	// those that the client lists in this header; the zero value is none.
	Login Header
	// ListQuery is the query by which all of a list of models comes at once; empty
	// where it does anyway.
	ListQuery string

	// Turns is the field of a request that holds the conversation.
	Turns string
	// Limits are the fields that bound the output; the last is set where the
	// client gives none.
	Limits []string
	// Background tells that a request can ask to be run in the background.
	Background bool
	// ToolLimit tells that the usual limit on the number of tools holds before a
	// provider has refused a request for it.
	ToolLimit bool

	// NamedEvents tells that clients read no event without its name, which is the
	// type in its data (case Q14).
	NamedEvents bool
	// Rated tells that the rate of output is watched, by Delta.
	Rated bool
	// SlowElsewhere tells that providers other than the dialect's own are slower
	// to begin a stream (stream sheet §6.2).
	SlowElsewhere bool

	// stopKey is the quoted field that names the reason for the end.
	stopKey []byte
}

// Route is a path that a dialect is served at.
type Route struct {
	Path string // below a base URL, "/messages"
	// Probe marks requests whose failure says nothing about a connection (ruling
	// 38).
	Probe bool
	// Socket tells that clients try a WebSocket there first.
	Socket bool
}

// Header is a header with its one value, in the form of an http.Header. Requests
// share the slice; it must not be changed in place.
type Header struct {
	Name   string
	Values []string
}

// Value returns the value, empty where there is no header.
func (h Header) Value() string {
	if len(h.Values) == 0 {
		return ""
	}
	return h.Values[0]
}

// Question is a small request of our own.
type Question struct {
	Model, Words string
	Stream       bool
	// MaxOutput bounds the answer in tokens, as far as the dialect allows so few;
	// 0 sets no bound where the dialect needs none.
	MaxOutput int64
}

// The dialects that are served.
var (
	Anthropic Dialect = anthropic{} // Anthropic Messages, POST /v1/messages
	Chat      Dialect = chat{}      // OpenAI Chat Completions, POST /v1/chat/completions
	Responses Dialect = responses{} // OpenAI Responses, POST /v1/responses
)

// All lists the dialects in the order in which they are shown.
var All = []Dialect{Anthropic, Chat, Responses}

// Of returns the dialect of a name; ok is false when there is none.
func Of(n Name) (d Dialect, ok bool) {
	for _, d := range All {
		if d.Traits().Name == n {
			return d, true
		}
	}
	return nil, false
}

// Names lists the names of the dialects in the order of All.
func Names() []string {
	out := make([]string, len(All))
	for i, d := range All {
		out[i] = string(d.Traits().Name)
	}
	return out
}

// Choice lists the names for people who have to choose one.
func Choice() string {
	names := Names()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Suggested returns the dialect that a request outside the routes is most likely
// from: the one whose route is in the path or whose header is there. ok is false
// when nothing suggests one.
func Suggested(path string, header func(name string) string) (d Dialect, ok bool) {
	for _, d := range All {
		t := d.Traits()
		if t.Version.Name != "" && header(t.Version.Name) != "" {
			return d, true
		}
		for _, r := range t.Routes {
			if strings.Contains(path, r.Path) {
				return d, true
			}
		}
	}
	return nil, false
}

// plain is what most dialects do not have.
type plain struct{}

func (plain) standing([]byte) []byte     { return nil }
func (plain) FailureIn([]byte) []byte    { return nil }
func (plain) Unfinished([]byte) bool     { return false }
func (plain) usageHead(*Usage, []byte)   {}
func (plain) missing(*Reader) []byte     { return nil }
func (plain) tokens([]byte) (a, b int64) { return 0, 0 }
