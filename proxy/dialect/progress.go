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
func (n Name) EventName(data []byte) string {
	if n != Anthropic && n != Responses {
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
func (n Name) LegitimatelyEmpty(data []byte) bool {
	var why string
	switch n {
	case Anthropic:
		why = gjson.GetBytes(data, "delta.stop_reason").Str
	case Chat:
		why = gjson.GetBytes(data, "choices.0.finish_reason").Str
	case Responses:
		why = gjson.GetBytes(data, "response.incomplete_details.reason").Str
	}
	return endsEmpty(why)
}

// endsEmpty reports whether an answer that ended for this reason may be empty.
func endsEmpty(why string) bool {
	switch why {
	case "max_tokens", "tool_use", "length", "tool_calls", "function_call", "content_filter", "refusal",
		"max_output_tokens", "stop_sequence", "pause_turn", "model_context_window_exceeded":
		return true
	}
	return false
}

// EmptyDocument reports whether a whole JSON answer says nothing although
// nothing explains it: no text, no call, no refusal, and not ended by a limit
// or a tool (case P30). Answers of other forms are never empty.
func (n Name) EmptyDocument(doc []byte) bool {
	switch n {
	case Anthropic:
		r := gjson.GetManyBytes(doc, "type", "content", "content.#", "stop_reason")
		return r[0].Str == "message" && r[1].IsArray() && r[2].Int() == 0 && !endsEmpty(r[3].Str)
	case Chat:
		r := gjson.GetManyBytes(doc, "choices.#", "choices.0.message", "choices.0.finish_reason")
		m := r[1]
		return r[0].Int() == 1 && m.IsObject() && m.Get("content").String() == "" && !m.Get("tool_calls.0").Exists() &&
			!m.Get("function_call").IsObject() && !m.Get("audio").IsObject() && m.Get("refusal").String() == "" && !endsEmpty(r[2].Str)
	case Responses:
		r := gjson.GetManyBytes(doc, "object", "status", "output", "output.#")
		return r[0].Str == "response" && r[1].Str == "completed" && r[2].IsArray() && r[3].Int() == 0
	}
	return false
}
