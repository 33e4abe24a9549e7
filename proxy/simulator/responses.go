package simulator

import "slices"

// encrypted stands for the reasoning that only the provider can read.
const encrypted = "Z0FBQUFBc2ltdWxhdG9y"

// incomplete returns why the response is not complete, or nil.
func (r reply) incomplete() any {
	switch r.stop {
	case "max_output_tokens", "max_tokens", "length":
		return obj{"reason", "max_output_tokens"}
	case "content_filter":
		return obj{"reason", "content_filter"}
	}
	return nil
}

func (r reply) responsesUsage() obj {
	u := r.usage
	in := u.Input + u.CacheRead + u.CacheWrite
	return obj{
		"input_tokens", in, "input_tokens_details",
		obj{"cached_tokens", u.CacheRead},
		"output_tokens", u.Output, "output_tokens_details",
		obj{"reasoning_tokens", u.Reasoning},
		"total_tokens", in + u.Output,
	}
}

// responsesObject is the response itself. An empty status is the final one.
func (r reply) responsesObject(status string, output arr) obj {
	var why, usage any
	if status == "" {
		status, usage, why = "completed", r.responsesUsage(), r.incomplete()
		if why != nil {
			status = "incomplete"
		}
	}
	return r.q.responseObject(status, nil, why, output, usage)
}

// responseObject is a response with all the fields that SDKs expect.
func (q *request) responseObject(status string, failure, incomplete any, output arr, usage any) obj {
	return obj{
		"id", q.id("resp_"), "object", "response", "created_at", q.now.Unix(), "status", status,
		"background", false, "error", failure, "incomplete_details", incomplete, "instructions", nil,
		"max_output_tokens", nil, "max_tool_calls", nil, "model", q.model, "output", output,
		"parallel_tool_calls", true, "previous_response_id", nil, "prompt_cache_key", nil,
		"reasoning",
		obj{"effort", nil, "summary", nil},
		"safety_identifier", nil, "service_tier", "default",
		"store", false, "temperature", 1, "text",
		obj{"format", obj{"type", "text"}, "verbosity", "medium"},
		"tool_choice", "auto", "tools",
		arr{},
		"top_logprobs", 0, "top_p", 1, "truncation", "disabled",
		"usage", usage, "user", nil, "metadata",
		obj{},
	}
}

func (r reply) reasoningItem(summary arr) obj {
	return obj{"id", r.q.id("rs_"), "type", "reasoning", "summary", summary, "encrypted_content", encrypted}
}

func (r reply) messageItem(status string, content arr) obj {
	return obj{"id", r.q.id("msg_"), "type", "message", "status", status, "role", "assistant", "content", content}
}

func (r reply) callItem(status, arguments string) obj {
	return obj{
		"id", r.q.id("fc_"), "type", "function_call", "status", status, "arguments", arguments,
		"call_id", r.q.id("call_"), "name", r.tool.Name,
	}
}

func outputText(t string) obj {
	return obj{"type", "output_text", "text", t, "annotations", arr{}, "logprobs", arr{}}
}

func summaryText(t string) obj { return obj{"type", "summary_text", "text", t} }

// responsesItems are the finished output items.
func (r reply) responsesItems() arr {
	items := arr{}
	if r.thinking != nil {
		items = append(items, r.reasoningItem(arr{summaryText(join(r.thinking))}))
	}
	if r.text != "" {
		items = append(items, r.messageItem("completed", arr{outputText(r.text)}))
	}
	if r.tool != nil {
		items = append(items, r.callItem("completed", r.tool.Arguments))
	}
	return items
}

// events writes Responses events, whose numbers count up.
type events struct {
	frames []frame
	index  int // of the output item
}

func (e *events) add(at role, typ string, fields ...any) {
	o := append(obj{"type", typ, "sequence_number", len(e.frames)}, fields...)
	e.frames = append(e.frames, frame{role: at, event: typ, data: text(o)})
}

// part opens and closes one part of an item around its deltas: names are the
// words of the event family, key is the part's own index field.
func (e *events) part(id, family, deltaType, key string, deltas []string, made func(string) obj) {
	at := []any{"item_id", id, "output_index", e.index, key, 0}
	with := func(more ...any) []any { return append(append([]any{}, at...), more...) }
	e.add(opening, "response."+family+".added", with("part", made(""))...)
	for _, d := range deltas {
		if deltaType == "output_text" {
			e.add(delta, "response.output_text.delta", with("delta", d, "logprobs", arr{})...)
			continue
		}
		e.add(delta, "response."+deltaType+".delta", with("delta", d)...)
	}
	done := with("text", join(deltas))
	if deltaType == "output_text" {
		done = append(done, "logprobs", arr{})
	}
	e.add(closing, "response."+deltaType+".done", done...)
	e.add(closing, "response."+family+".done", with("part", made(join(deltas)))...)
}

// responsesStream is the answer as events; the last one ends the stream, there
// is no [DONE].
func (r reply) responsesStream() []frame {
	e := &events{}
	started := r.responsesObject("in_progress", arr{})
	e.add(preamble, "response.created", "response", started)
	e.add(preamble, "response.in_progress", "response", started)
	items := r.responsesItems()
	item := func(open obj, inner func()) {
		e.add(opening, "response.output_item.added", "output_index", e.index, "item", open)
		inner()
		e.add(closing, "response.output_item.done", "output_index", e.index, "item", items[e.index])
		e.index++
	}
	if r.thinking != nil {
		item(r.reasoningItem(arr{}), func() {
			e.part(r.q.id("rs_"), "reasoning_summary_part", "reasoning_summary_text", "summary_index", r.thinking, summaryText)
		})
	}
	if r.text != "" {
		item(r.messageItem("in_progress", arr{}), func() {
			e.part(r.q.id("msg_"), "content_part", "output_text", "content_index", r.deltas, outputText)
		})
	}
	if r.tool != nil {
		item(r.callItem("in_progress", ""), func() {
			at := []any{"item_id", r.q.id("fc_"), "output_index", e.index}
			for _, d := range r.argumentDeltas() {
				e.add(delta, "response.function_call_arguments.delta", append(slices.Clip(at), "delta", d)...)
			}
			e.add(closing, "response.function_call_arguments.done", append(slices.Clip(at), "arguments", r.tool.Arguments)...)
		})
	}
	final := "response.completed"
	if r.incomplete() != nil {
		final = "response.incomplete"
	}
	e.add(closing, final, "response", r.responsesObject("", items))
	return e.frames
}
