package simulator

import "strings"

// fingerprint stands for the backend configuration that OpenAI names.
const fingerprint = "fp_simulator"

func join(s []string) string { return strings.Join(s, "") }

func (r reply) chatStop() string {
	switch {
	case r.stop != "":
		return r.stop
	case r.tool != nil:
		return "tool_calls"
	}
	return "stop"
}

func (r reply) chatUsage() obj {
	u := r.usage
	prompt := u.Input + u.CacheRead + u.CacheWrite
	return obj{
		"prompt_tokens", prompt, "completion_tokens", u.Output, "total_tokens", prompt + u.Output,
		"prompt_tokens_details",
		obj{"cached_tokens", u.CacheRead, "audio_tokens", 0},
		"completion_tokens_details",
		obj{
			"reasoning_tokens", u.Reasoning, "audio_tokens", 0,
			"accepted_prediction_tokens", 0, "rejected_prediction_tokens", 0,
		},
	}
}

// chatCompletion is the answer as one document.
func (r reply) chatCompletion() obj {
	msg := obj{"role", "assistant", "content", r.text, "refusal", nil, "annotations", arr{}}
	if r.thinking != nil {
		msg = append(msg, "reasoning_content", join(r.thinking))
	}
	if r.tool != nil {
		msg[3] = nil
		msg = append(msg, "tool_calls", arr{r.chatCall("", r.tool.Arguments, true)})
	}
	return obj{
		"id", r.q.id("chatcmpl-"), "object", "chat.completion", "created", r.q.now.Unix(), "model", r.q.model,
		"choices",
		arr{obj{"index", 0, "message", msg, "logprobs", nil, "finish_reason", r.chatStop()}},
		"usage", r.chatUsage(), "service_tier", "default", "system_fingerprint", fingerprint,
	}
}

// chatCall is a tool call or a fragment of one. Only the first fragment
// carries id, type and name (case P41).
func (r reply) chatCall(index any, arguments string, first bool) obj {
	call := obj{}
	if index != "" {
		call = append(call, "index", index)
	}
	if !first {
		return append(call, "function", obj{"arguments", arguments})
	}
	return append(call, "id", r.q.id("call_"), "type", "function",
		"function", obj{"name", r.tool.Name, "arguments", arguments})
}

// chatChunk makes a chunk; every one has the same id. usage is null in all
// but the last one if the request wants it, and absent otherwise.
func (r reply) chatChunk(at role, choices arr, usage any) frame {
	c := obj{
		"id", r.q.id("chatcmpl-"), "object", "chat.completion.chunk", "created", r.q.now.Unix(), "model", r.q.model,
		"service_tier", "default", "system_fingerprint", fingerprint, "choices", choices,
	}
	if r.q.includeUsage {
		c = append(c, "usage", usage)
	}
	return frame{role: at, data: text(c)}
}

func (r reply) chatDelta(at role, d obj, finish any) frame {
	return r.chatChunk(at, arr{obj{"index", 0, "delta", d, "logprobs", nil, "finish_reason", finish}}, nil)
}

// chatStream is the answer as chunks and the [DONE] line.
func (r reply) chatStream() []frame {
	fs := []frame{r.chatDelta(preamble, obj{"role", "assistant", "content", "", "refusal", nil}, nil)}
	for _, t := range r.thinking {
		fs = append(fs, r.chatDelta(delta, obj{"reasoning_content", t}, nil))
	}
	for _, t := range r.deltas {
		fs = append(fs, r.chatDelta(delta, obj{"content", t}, nil))
	}
	if r.tool != nil {
		fs = append(fs, r.chatDelta(opening, obj{"tool_calls", arr{r.chatCall(0, "", true)}}, nil))
		for _, t := range r.argumentDeltas() {
			fs = append(fs, r.chatDelta(delta, obj{"tool_calls", arr{r.chatCall(0, t, false)}}, nil))
		}
	}
	fs = append(fs, r.chatDelta(closing, obj{}, r.chatStop()))
	if r.q.includeUsage {
		fs = append(fs, r.chatChunk(closing, arr{}, r.chatUsage()))
	}
	return append(fs, frame{role: closing, data: []byte("[DONE]")})
}
