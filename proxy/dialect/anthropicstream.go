package dialect

import (
	"bytes"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// follow notes which block is open.
func (r *Reader) follow(kind string, e sse.Event) {
	switch kind {
	case "content_block_start":
		r.block.open, r.block.index = true, gjson.GetBytes(e.Data, "index").Int()
	case "content_block_stop":
		r.block.open = false
	}
}

func (anthropic) read(r *Reader, e sse.Event) Progress {
	kind := string(eventType(e))
	r.follow(kind, e)
	switch kind {
	case "message_start":
		r.said = r.said || says(gjson.GetBytes(e.Data, "message.content"))
		return Preamble
	case "content_block_start":
		return r.blockStart(e)
	case "content_block_delta":
		return blockDelta(e)
	case "content_block_stop":
		if r.calls { // a call without arguments is whole
			r.calls = false
			return Output
		}
		return Preamble
	case "message_delta":
		if gjson.GetBytes(e.Data, "delta.stop_reason").Str == "" {
			return Preamble
		}
		r.finished = true
		return Finish
	case "message_stop":
		r.done = true
		return Done
	case "error":
		return Failed
	}
	return Noise
}

func (r *Reader) blockStart(e sse.Event) Progress {
	block := gjson.GetBytes(e.Data, "content_block")
	kind := block.Get("type").Str
	thinks := kind == "thinking" || kind == "redacted_thinking"
	full := e.Cut || says(block)
	r.calls = !full && bytes.HasSuffix([]byte(kind), []byte("tool_use"))
	switch {
	case full && thinks:
		return Reasoning
	case full:
		return Output
	case kind == "text" || kind == "":
		return Preamble
	}
	return Working
}

func blockDelta(e sse.Event) Progress {
	delta := gjson.GetBytes(e.Data, "delta")
	kind := delta.Get("type").Str
	thinks := kind == "thinking_delta" || kind == "signature_delta"
	switch full := e.Cut || says(delta); {
	case full && thinks:
		return Reasoning
	case full:
		return Output
	case thinks:
		return Working
	}
	return Preamble
}

func (anthropic) readEnd(r *Reader, e sse.Event) Progress {
	switch kind := eventType(e); string(kind) {
	case "content_block_start", "content_block_stop":
		r.follow(string(kind), e)
	case "message_start", "message_delta", "message_stop", "error":
		return r.Read(e)
	}
	return Noise
}

func (anthropic) missing(r *Reader) []byte {
	return append(r.CloseBlock(), frame("message_stop", []byte(`{"type":"message_stop"}`))...)
}

// Delta implements Dialect: the rate is not watched, and words of an assistant at
// the end of a request are a prefill with rules of its own.
func (anthropic) Delta(sse.Event) (DeltaKind, string) { return NoDelta, "" }

func (anthropic) finish(data []byte) string { return gjson.GetBytes(data, "delta.stop_reason").Str }
