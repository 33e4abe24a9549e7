package simulator

import (
	"fmt"
	"math"
	"net/http"
	"strings"
)

// Forever, as a number of uses or a length of time, is without end.
const Forever = -1

// Places in an answer. A positive place n is after the nth delta, or after
// the last one when there are fewer.
const (
	BeforeHeaders = -2            // nothing has been sent
	AtStart       = -1            // after the headers, before the first event
	AfterPreamble = 0             // after message_start, response.in_progress and the like
	AtEnd         = math.MaxInt32 // after the last delta, before the closing events
)

// Kind is what a step answers with.
type Kind string

// The kinds of steps.
const (
	// KindAuto calls a tool when tools are offered and the body holds no tool
	// result yet, and answers with text otherwise. Real coding agents finish
	// a tool turn against it.
	KindAuto Kind = "auto"
	// KindAsked is KindAuto, but calls a tool only if the last thing the user
	// wrote asks for one ("run", "tool", "list", "file" …).
	KindAsked  Kind = "asked"
	KindText   Kind = "text"   // a text answer
	KindTool   Kind = "tool"   // a tool call
	KindBlank  Kind = "blank"  // a well-formed answer without content
	KindStatus Kind = "status" // an HTTP error status with the dialect's error body
	KindRaw    Kind = "raw"    // exactly these bytes
	KindEmpty  Kind = "empty"  // 200 and no body
	KindHTML   Kind = "html"   // 200 and a web page
)

var kinds = []Kind{KindAuto, KindAsked, KindText, KindTool, KindBlank, KindStatus, KindRaw, KindEmpty, KindHTML}

// Step is one scripted answer. Make one with OK, Status and so on and refine
// it with its methods, each of which returns a changed copy; or write it as
// JSON for the control interface. Every modifier works with every kind as far
// as it makes sense.
type Step struct {
	Kind  Kind   `json:"kind"`
	Times int    `json:"times,omitempty"` // uses; zero is one, Forever without end
	Note  string `json:"note,omitempty"`  // names it in records
	When  *When  `json:"when,omitempty"`  // the requests it is for; nil is any inference

	Text       string   `json:"text,omitempty"`       // empty: a sentence naming the account
	SplitBytes int      `json:"splitBytes,omitempty"` // bytes of text per delta; zero splits at words, negative not at all
	Thinking   []string `json:"thinking,omitempty"`   // deltas of reasoning before the answer; may be empty strings
	Tool       *Tool    `json:"tool,omitempty"`       // the call; nil picks one of the tools offered
	StopReason string   `json:"stopReason,omitempty"` // in the dialect's own word
	Usage      *Usage   `json:"usage,omitempty"`      // nil is counted from the text

	Status      int           `json:"status,omitempty"` // of the answer; zero is 200
	Header      http.Header   `json:"header,omitempty"`
	ContentType string        `json:"contentType,omitempty"`
	Body        string        `json:"body,omitempty"` // in place of the dialect's error body
	Error       *Error        `json:"error,omitempty"`
	RetryAfter  *RetryAfter   `json:"retryAfter,omitempty"`
	Unified     *UnifiedLimit `json:"unified,omitempty"`
	Pieces      []Piece       `json:"pieces,omitempty"` // of KindRaw, each one write

	Delay     Duration    `json:"delay,omitempty"`     // before the headers
	Pace      Duration    `json:"pace,omitempty"`      // before each delta, or each chunk if Chunks is set
	Stalls    []Stall     `json:"stalls,omitempty"`    // silences
	KeepAlive []KeepAlive `json:"keepAlive,omitempty"` // signs of life
	Break     *Break      `json:"break,omitempty"`     // how and where it breaks off

	Chunks   []int    `json:"chunks,omitempty"`   // sizes of the writes, in turn; nil is one write per event
	Newline  string   `json:"newline,omitempty"`  // of event streams; empty is "\n"
	NoSpace  bool     `json:"noSpace,omitempty"`  // no space after "data:"
	Encoding Encoding `json:"encoding,omitempty"` // content encoding

	holds []hold
}

// When limits a step to some requests; absent fields fit all.
type When struct {
	Route   Route  `json:"route,omitempty"`   // empty is inference
	Dialect string `json:"dialect,omitempty"` // the name of one
	Model   string `json:"model,omitempty"`   // a part of the model name
	Stream  *bool  `json:"stream,omitempty"`
	Tools   *bool  `json:"tools,omitempty"` // tools are offered
}

// Tool is a tool call. An empty name picks one of the tools offered; empty
// arguments are made from the tool's schema.
type Tool struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"` // a JSON object
}

// Usage are the token figures of an answer.
type Usage struct {
	Input      int `json:"input"` // without what the cache served
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Stall is a silence at a place of the answer; For may be Forever.
type Stall struct {
	After int      `json:"after"`
	For   Duration `json:"for"`
}

type hold struct {
	after int
	until <-chan struct{}
}

// KeepAlive sends a sign of life every so often at a place of the answer.
type KeepAlive struct {
	Form  string   `json:"form"` // ping, comment, blank, event, data, in_progress or empty_chunk
	After int      `json:"after"`
	Every Duration `json:"every,omitempty"`
	Count int      `json:"count"` // Forever without end
}

// Break is how an answer breaks off.
type Break struct {
	Kind  string `json:"kind"` // reset, cut, end or error
	After int    `json:"after"`
	// Bare makes the Responses error an "error" event in place of
	// "response.failed".
	Bare bool `json:"bare,omitempty"`
}

// The ways in which an answer breaks off.
const (
	BreakReset = "reset" // TCP reset
	BreakCut   = "cut"   // the connection is closed, the body is incomplete
	BreakEnd   = "end"   // the body ends cleanly, the closing events are missing
	BreakError = "error" // an error event, then the body ends; in JSON a 200 with an error body
)

// fits reports whether the step is for q.
func (s Step) fits(q *request) bool {
	w := s.When
	if w == nil {
		return q.route == RouteInference
	}
	route := w.Route
	if route == "" {
		route = RouteInference
	}
	return (route == RouteAny || route == q.route) &&
		(w.Dialect == "" || w.Dialect == string(q.dialect.Traits().Name)) &&
		strings.Contains(q.model, w.Model) &&
		(w.Stream == nil || *w.Stream == q.stream) &&
		(w.Tools == nil || *w.Tools == (len(q.tools) > 0))
}

// String names the step in records: its note, or its kind, its
// status, how it breaks off.
func (s Step) String() string {
	if s.Note != "" {
		return s.Note
	}
	t := string(s.Kind)
	if s.Kind == KindStatus {
		t = fmt.Sprintf("status %d", s.Status)
	}
	if s.Break != nil {
		t += ", " + s.Break.Kind
	}
	return t
}
