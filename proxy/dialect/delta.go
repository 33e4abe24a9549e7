package dialect

import (
	"strings"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// DeltaKind says what an event adds to an answer.
type DeltaKind uint8

// The kinds.
const (
	NoDelta        DeltaKind = iota
	TextDelta                // text for the user
	ReasoningDelta           // thinking is under way
	ToolDelta                // a tool call is under way
	ItemEnd                  // what was under way is over
)

// Delta returns what an event of a chat or Responses stream adds to the
// answer, and its text. It parses the event, in contrast to Read.
func (n Name) Delta(e sse.Event) (DeltaKind, string) {
	switch n {
	case Chat:
		return chatDelta(e.Data)
	case Responses:
		return responsesDelta(string(eventType(e)), e.Data)
	}
	return NoDelta, ""
}

func chatDelta(data []byte) (DeltaKind, string) {
	choice := gjson.GetBytes(data, "choices.0")
	delta := choice.Get("delta")
	content := delta.Get("content").Str
	switch {
	case delta.Get("tool_calls.0").Exists(), delta.Get("function_call").IsObject():
		return ToolDelta, ""
	case content != "":
		return TextDelta, content
	case delta.Get("reasoning_content").Str != "", delta.Get("reasoning").Str != "", delta.Get("reasoning_details.0").Exists():
		return ReasoningDelta, ""
	case choice.Get("finish_reason").Str != "":
		return ItemEnd, ""
	}
	return NoDelta, ""
}

func responsesDelta(kind string, data []byte) (DeltaKind, string) {
	switch {
	case kind == "response.output_text.delta":
		return TextDelta, gjson.GetBytes(data, "delta").Str
	case strings.HasPrefix(kind, "response.reasoning"):
		return ReasoningDelta, ""
	case kind == "response.output_item.done":
		return ItemEnd, ""
	case kind == "response.output_item.added":
		switch gjson.GetBytes(data, "item.type").Str {
		case "message", "":
			return NoDelta, ""
		case "reasoning":
			return ReasoningDelta, ""
		}
		return ToolDelta, ""
	case strings.HasPrefix(kind, "response.function_call"), strings.HasSuffix(kind, "_call_arguments.delta"),
		strings.HasPrefix(kind, "response.custom_tool_call"):
		return ToolDelta, ""
	}
	return NoDelta, ""
}
