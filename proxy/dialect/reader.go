package dialect

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// Reader follows the events of one answer: what each means for the request, and
// whether the answer is complete.
type Reader struct {
	name  Name
	said  bool // the model has said something
	calls bool // a tool call is open that has no arguments yet

	finished bool // the model has told why it stopped
	done     bool // the last event of the dialect came
	failed   bool

	block struct { // of the Messages dialect, that is open
		open  bool
		index int64
	}
	// choices of the chat dialect, a bit for each index.
	begun, ended uint64
	several      bool // more than one choice was asked for
}

// Reader returns a reader of an answer to a request for that many choices,
// which only the chat dialect knows.
func (n Name) Reader(choices int) Reader { return Reader{name: n, several: choices > 1} }

// Read says what the event means.
func (r *Reader) Read(e sse.Event) Progress {
	var p Progress
	switch r.name {
	case Anthropic:
		p = r.message(string(eventType(e)), e)
	case Responses:
		p = r.response(string(eventType(e)), e)
	case Chat:
		p = r.chunk(e)
	}
	r.said = r.said || p.Commits()
	r.failed = r.failed || p == Failed
	return p
}

// ReadEnd is Read for a stream that is committed already: it tells Finish, Done
// and Failed apart from the rest, and costs next to nothing for the events in
// between.
func (r *Reader) ReadEnd(e sse.Event) Progress {
	if r.name == Chat {
		if r.several || len(e.Data) < 512 && bytes.Contains(e.Data, doneMark) || bytes.Contains(e.Data, errorKey) || mayFinish(e) {
			if p := r.Read(e); p >= Finish {
				return p
			}
		}
		return Noise
	}
	switch kind := eventType(e); string(kind) {
	case "content_block_start", "content_block_stop":
		r.follow(string(kind), e)
	case "message_start", "message_delta", "message_stop", "error",
		"response.completed", "response.incomplete", "response.failed":
		return r.Read(e)
	}
	return Noise
}

// Said reports whether the model has said anything.
func (r *Reader) Said() bool { return r.said }

// Finished reports whether the model has told why it stopped, for every choice.
func (r *Reader) Finished() bool { return r.finished }

// Complete reports whether the answer is whole if its stream ends here: once the
// finish was seen, only the dialect's last event may be missing (ruling 59,
// cases P27 and Q12).
func (r *Reader) Complete() bool { return !r.failed && (r.done || r.finished) }

// Missing returns what a complete answer whose stream has ended lacks: the end
// of an open block and the dialect's last event.
func (r *Reader) Missing() []byte {
	if r.done || !r.finished {
		return nil
	}
	switch r.name {
	case Anthropic:
		return append(r.CloseBlock(), frame("message_stop", []byte(`{"type":"message_stop"}`))...)
	case Chat:
		return frame("", doneMark)
	}
	return nil
}

// CloseBlock returns the event that closes the content block that is open, if
// there is one: a client whose stream ends inside a block cannot use what it got
// (case P31).
func (r *Reader) CloseBlock() []byte {
	if !r.block.open {
		return nil
	}
	r.block.open = false
	return frame("content_block_stop", fmt.Appendf(nil, `{"type":"content_block_stop","index":%d}`, r.block.index))
}

// follow notes which block is open.
func (r *Reader) follow(kind string, e sse.Event) {
	switch kind {
	case "content_block_start":
		r.block.open, r.block.index = true, gjson.GetBytes(e.Data, "index").Int()
	case "content_block_stop":
		r.block.open = false
	}
}

// message reads an event of the Messages dialect.
func (r *Reader) message(kind string, e sse.Event) Progress {
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

// labels are fields that name a thing and are none of its content.
var labels = map[string]bool{
	"type": true, "id": true, "index": true, "name": true, "role": true, "status": true, "format": true, "object": true,
	"call_id": true, "tool_use_id": true, "item_id": true, "caller": true, "server_name": true, "server_label": true,
	"namespace": true, "phase": true,
}

// says reports whether a value has content: text that is not empty or a figure,
// at any depth, in a field that is no label. Empty text, null, empty lists and
// objects are none (ruling 58).
func says(v gjson.Result) bool {
	switch {
	case v.Type == gjson.String:
		return v.Str != ""
	case v.Type == gjson.Number, v.Type == gjson.True:
		return true
	case !v.IsObject() && !v.IsArray():
		return false
	}
	found, object := false, v.IsObject()
	v.ForEach(func(key, value gjson.Result) bool {
		found = (!object || !labels[key.Str]) && says(value)
		return !found
	})
	return found
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
