package dialect

import (
	"bytes"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// Progress says what an event of a stream means for the request.
type Progress uint8

// The meanings of an event.
const (
	// Noise is a ping, metadata or something unknown: no sign of life from the
	// model.
	Noise Progress = iota
	// Preamble opens an answer without saying anything yet: message_start,
	// response.created, a chunk that holds only the role.
	Preamble
	// Output is content: text, a tool call, a refusal. It is the commit point.
	Output
	// Reasoning is thinking: it is progress, and a commit point too, but no
	// answer.
	Reasoning
	// Finish tells why the model stopped; more may follow.
	Finish
	// Done ends a complete answer.
	Done
	// Failed is an error inside the stream.
	Failed
)

// Commits reports whether the client may see the stream from here on.
func (p Progress) Commits() bool { return p == Output || p == Reasoning }

// Read says what the event means in this dialect.
func (n Name) Read(e sse.Event) Progress {
	switch n {
	case Anthropic:
		return readAnthropic(eventType(e))
	case Responses:
		return readResponses(eventType(e), e.Data)
	default:
		return readChat(e.Data)
	}
}

// ReadEnd is Read for a stream that is committed already. In the chat dialect
// it only tells Done, Finish and Failed apart from the rest: it costs next to
// nothing for the events in between.
func (n Name) ReadEnd(e sse.Event) Progress {
	if n == Chat {
		if len(e.Data) < 512 || bytes.Contains(e.Data[:512], errorKey) || mayFinish(e.Data) {
			return readChatEnd(e.Data)
		}
		return Noise
	}
	return n.Read(sse.Event{Name: e.Name, Data: head(e.Data)})
}

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
	reasoningKind = []byte("response.reasoning")
	deltaKind     = []byte(".delta")
	responseKind  = []byte("response.")
	failedWord    = []byte(`response.failed`)

	errorKey  = []byte(`"error"`)
	finishKey = []byte(`"finish_reason"`)
	doneMark  = []byte("[DONE]")
)

func head(data []byte) []byte { return data[:min(len(data), 512)] }

// eventType returns the event's name, or the type in its data where a server
// leaves the name out.
func eventType(e sse.Event) []byte {
	if len(e.Name) > 0 {
		return e.Name
	}
	return []byte(gjson.GetBytes(e.Data, "type").Str)
}

func readAnthropic(kind []byte) Progress {
	switch string(kind) {
	case "message_start":
		return Preamble
	case "content_block_start", "content_block_delta":
		return Output
	case "message_delta":
		return Finish
	case "message_stop":
		return Done
	case "error":
		return Failed
	}
	return Noise
}

func readResponses(kind, data []byte) Progress {
	switch string(kind) {
	case "response.created", "response.in_progress", "response.queued":
		return Preamble
	case "response.completed", "response.incomplete":
		return Done
	case "response.failed", "error":
		return Failed
	case "response.output_item.added":
		// An empty message item is lifecycle; a call or a reasoning item says
		// something.
		switch gjson.GetBytes(data, "item.type").Str {
		case "message", "":
			return Preamble
		case "reasoning":
			return Reasoning
		}
		return Output
	}
	switch {
	case bytes.HasPrefix(kind, reasoningKind):
		return Reasoning
	case bytes.HasSuffix(kind, deltaKind), string(kind) == "response.output_item.done":
		return Output
	case bytes.HasPrefix(kind, responseKind):
		return Preamble
	}
	return Noise
}

func readChat(data []byte) Progress {
	if p := readChatEnd(data); p != Noise {
		return p
	}
	choice := gjson.GetBytes(data, "choices.0")
	if !choice.Exists() {
		return Noise
	}
	delta := choice.Get("delta")
	switch {
	case delta.Get("content").Str != "", delta.Get("tool_calls.0").Exists(),
		delta.Get("function_call").IsObject(), delta.Get("refusal").Str != "", delta.Get("audio").IsObject():
		return Output
	case delta.Get("reasoning_content").Str != "", delta.Get("reasoning").Str != "", delta.Get("reasoning_details.0").Exists():
		return Reasoning
	}
	return Preamble
}

// readChatEnd tells the end marks and errors of a chat stream.
func readChatEnd(data []byte) Progress {
	if bytes.HasPrefix(bytes.TrimSpace(data), doneMark) {
		return Done
	}
	if bytes.Contains(data, errorKey) {
		if e := gjson.GetBytes(data, "error"); e.Exists() && e.Type != gjson.Null {
			return Failed
		}
	}
	if mayFinish(data) {
		if f := gjson.GetBytes(data, "choices.0.finish_reason"); f.Type == gjson.String && f.Str != "" {
			return Finish
		}
	}
	return Noise
}

// mayFinish tells whether the chunk names a finish reason that is not null.
func mayFinish(data []byte) bool { return lastValue(data, finishKey, '"') >= 0 }

// Complete reports whether a stream that ended after this event was whole:
// OpenAI's chat streams of some servers stop after the finish reason without
// an end mark (case P27).
func (n Name) Complete(last Progress) bool {
	return last == Done || (n == Chat && last == Finish)
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
