package dialect

import (
	"bytes"
	"math/bits"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

func (chat) read(r *Reader, e sse.Event) Progress {
	if bytes.HasPrefix(bytes.TrimSpace(e.Data), doneMark) {
		r.done = true
		return Done
	}
	if bytes.Contains(e.Data, errorKey) {
		if v := gjson.GetBytes(e.Data, "error"); v.Exists() && v.Type != gjson.Null && v.Raw != `""` {
			return Failed
		}
	}
	p, ends := Noise, false
	gjson.GetBytes(e.Data, "choices").ForEach(func(_, c gjson.Result) bool {
		seen, end := r.choice(c)
		p, ends = max(p, seen), ends || end
		return true
	})
	if e.Cut {
		p = max(p, Output)
		if lastValue(e.Tail, finishKey, '"') >= 0 {
			ends, r.ended = true, r.ended|r.begin(0)
		}
	}
	r.said = r.said || p.Commits()
	if ends && r.allEnded() {
		r.finished = true
		return Finish
	}
	return p
}

func (chat) readEnd(r *Reader, e sse.Event) Progress {
	if r.several || len(e.Data) < 512 && bytes.Contains(e.Data, doneMark) || bytes.Contains(e.Data, errorKey) || mayFinish(e) {
		if p := r.Read(e); p >= Finish {
			return p
		}
	}
	return Noise
}

// choice reads what a chunk adds to one choice, and whether that one ends.
func (r *Reader) choice(c gjson.Result) (p Progress, ends bool) {
	bit := r.begin(c.Get("index").Int())
	p = Preamble
	c.Get("delta").ForEach(func(key, value gjson.Result) bool {
		p = max(p, r.field(key.Str, value))
		return true
	})
	if f := c.Get("finish_reason"); f.Type == gjson.String && f.Str != "" {
		if r.calls { // a call without arguments is whole
			r.calls, r.said = false, true
		}
		r.ended |= bit
		return p, true
	}
	return p, false
}

// field reads one field of a delta.
func (r *Reader) field(key string, value gjson.Result) Progress {
	switch key {
	case "reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "thinking":
		switch {
		case says(value):
			return Reasoning
		case value.Type == gjson.String:
			return Working // an empty frame of thinking
		}
		return Noise
	case "tool_calls":
		p := Noise
		value.ForEach(func(_, call gjson.Result) bool {
			p = max(p, r.call(call))
			return true
		})
		return p
	case "function_call":
		if !value.IsObject() {
			return Noise
		}
		return r.call(value)
	}
	if !labels[key] && says(value) {
		return Output
	}
	return Noise
}

// call reads a piece of a tool call: its start, or arguments. The start of the
// next call ends the one before it.
func (r *Reader) call(c gjson.Result) Progress {
	if says(c) {
		r.calls = false
		return Output
	}
	if r.calls && c.Get("id").Str != "" {
		return Output
	}
	r.calls = true
	return Working
}

// mayFinish tells whether the chunk names a finish reason that is not null.
func mayFinish(e sse.Event) bool {
	return lastValue(e.Data, finishKey, '"') >= 0 || e.Cut && lastValue(e.Tail, finishKey, '"') >= 0
}

// allEnded reports whether every choice that has begun has told why it stopped.
func (r *Reader) allEnded() bool { return r.begun != 0 && r.begun&^r.ended == 0 }

// begin notes a choice.
func (r *Reader) begin(index int64) uint64 {
	bit := uint64(1) << uint(min(max(index, 0), 63))
	r.begun |= bit
	r.several = r.several || bits.OnesCount64(r.begun) > 1
	return bit
}

func (chat) missing(*Reader) []byte { return frame("", doneMark) }

// Delta implements Dialect.
func (chat) Delta(e sse.Event) (DeltaKind, string) {
	choice := gjson.GetBytes(e.Data, "choices.0")
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

func (chat) finish(data []byte) string { return gjson.GetBytes(data, "choices.0.finish_reason").Str }
