package dialect

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

func (responses) read(r *Reader, e sse.Event) Progress {
	kind := string(eventType(e))
	switch kind {
	case "response.created", "response.in_progress", "response.queued":
		return Preamble
	case "response.completed", "response.incomplete":
		r.said = r.said || e.Cut || says(gjson.GetBytes(e.Data, "response.output"))
		r.finished, r.done = true, true
		return Done
	case "response.failed", "error":
		return Failed
	case "response.output_item.added", "response.output_item.done":
		return item(e, kind == "response.output_item.done")
	}
	rest, ok := strings.CutPrefix(kind, "response.")
	if !ok {
		return Noise
	}
	full := e.Cut || adds(e.Data)
	switch {
	case strings.HasPrefix(rest, "reasoning"):
		if full {
			return Reasoning
		}
		return Working
	case full, strings.HasSuffix(rest, "_arguments.done"), strings.HasSuffix(rest, "_input.done"), strings.HasSuffix(rest, "_code.done"):
		return Output // a call whose arguments are over is whole
	case strings.Contains(rest, "_call.") || strings.HasPrefix(rest, "mcp_list_tools."):
		return Working // searching, generating, interpreting
	}
	return Preamble
}

// adds reports whether an event adds content to an item.
func adds(data []byte) bool {
	return slices.ContainsFunc(gjson.GetManyBytes(data, "delta", "text", "refusal", "part", "arguments", "input", "code", "annotation", "partial_image_b64"), says)
}

// item reads the begin or the end of an output item.
func item(e sse.Event, end bool) Progress {
	v := gjson.GetBytes(e.Data, "item")
	kind := v.Get("type").Str
	full := e.Cut || says(v)
	switch {
	case full && kind == "reasoning":
		return Reasoning
	case full:
		return Output
	case kind == "message" || kind == "":
		return Preamble
	case end && kind != "reasoning":
		return Output // a call without arguments
	}
	return Working
}

func (responses) readEnd(r *Reader, e sse.Event) Progress {
	switch string(eventType(e)) {
	case "error", "response.completed", "response.incomplete", "response.failed":
		return r.Read(e)
	}
	return Noise
}

// Delta implements Dialect.
func (responses) Delta(e sse.Event) (DeltaKind, string) {
	switch kind := string(eventType(e)); {
	case kind == "response.output_text.delta":
		return TextDelta, gjson.GetBytes(e.Data, "delta").Str
	case strings.HasPrefix(kind, "response.reasoning"):
		return ReasoningDelta, ""
	case kind == "response.output_item.done":
		return ItemEnd, ""
	case kind == "response.output_item.added":
		switch gjson.GetBytes(e.Data, "item.type").Str {
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

func (responses) finish(data []byte) string {
	return gjson.GetBytes(data, "response.incomplete_details.reason").Str
}
