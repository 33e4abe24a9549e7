package dialect

import (
	"bytes"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// Progress says what an event of a stream means for the request.
type Progress uint8

// The meanings of an event, each saying more than the one before.
const (
	// Noise is a ping, metadata or something unknown: no sign of life from the
	// model.
	Noise Progress = iota
	// Preamble opens an answer without saying anything yet: message_start,
	// response.created, a chunk that holds only the role, an empty text block.
	Preamble
	// Working shows that the model is at work, although nothing came of it yet:
	// a tool call without arguments, a thinking block or frame without text. It
	// is progress, but no commit point (ruling 58).
	Working
	// Reasoning is thinking: it is progress, and a commit point too, but no
	// answer.
	Reasoning
	// Output is content: text, arguments of a tool call or its end, a refusal. It
	// is the commit point.
	Output
	// Finish tells why the model stopped; more may follow.
	Finish
	// Done ends a complete answer.
	Done
	// Failed is an error inside the stream.
	Failed
)

// Commits reports whether the client may see the stream from here on.
func (p Progress) Commits() bool { return p == Output || p == Reasoning }

// Alive reports whether the event shows that the model makes progress, which
// gives a stream its whole stall budget again (stream sheet, section 6.3).
func (p Progress) Alive() bool { return p == Working || p.Commits() }

// MayFail reports whether an event that has not ended yet looks like an error: the
// name says so, or the data so far.
func MayFail(e sse.Event) bool {
	switch string(e.Name) {
	case "error", "response.failed":
		return true
	}
	return bytes.Contains(e.Data, errorKey) || bytes.Contains(e.Data, failedWord)
}

var (
	failedWord = []byte(`response.failed`)
	errorKey   = []byte(`"error"`)
	finishKey  = []byte(`"finish_reason"`)
	doneMark   = []byte("[DONE]")
)

// eventType returns the event's name, or the type in its data where a server
// leaves the name out.
func eventType(e sse.Event) []byte {
	if len(e.Name) > 0 {
		return e.Name
	}
	return []byte(gjson.GetBytes(e.Data, "type").Str)
}

// maxEventName bounds the names that are given to events.
const maxEventName = 64

// EventName returns the name that belongs in front of an event with this data,
// or as much of it as has come, where the dialect has named events: vendors'
// parsers read no event without its name (case Q14). It is empty when the data
// has none.
func EventName(d Dialect, data []byte) string {
	if !d.Traits().NamedEvents {
		return ""
	}
	kind := gjson.GetBytes(data, "type").Str
	if len(kind) > maxEventName {
		return ""
	}
	for _, r := range kind {
		if r != '.' && r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return ""
		}
	}
	return kind
}

// LegitimatelyEmpty reports whether an answer without content may be right: the
// finish reason given in this event's data says that the limit or a tool ended
// it (case P30).
func LegitimatelyEmpty(d Dialect, data []byte) bool { return endsEmpty(d.finish(data)) }

// endsEmpty reports whether an answer that ended for this reason may be empty.
func endsEmpty(why string) bool {
	switch why {
	case "max_tokens", "tool_use", "length", "tool_calls", "function_call", "content_filter", "refusal",
		"max_output_tokens", "stop_sequence", "pause_turn", "model_context_window_exceeded":
		return true
	}
	return false
}
