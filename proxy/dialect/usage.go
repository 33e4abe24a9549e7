package dialect

import (
	"bytes"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// Usage is what an answer cost, in tokens, and why the model stopped. What the
// upstream does not tell is zero.
type Usage struct {
	Input      int64 // of the prompt, without what the cache served or stored
	Output     int64 // reasoning included
	CacheRead  int64
	CacheWrite int64
	Reasoning  int64
	Stop       string // the dialect's own word
}

// tailSize is how much of the end of a document is looked at for its usage,
// which every vendor writes behind the content.
const tailSize = 4 << 10

// Event takes what one event of a stream tells; p is what Read or ReadEnd said
// of it. Events without figures cost next to nothing.
func (u *Usage) Event(n Name, p Progress, e sse.Event) {
	switch n {
	case Anthropic:
		// A message_delta that finishes nothing yet may have figures, too.
		if p == Preamble || p == Finish {
			u.anthropic(gjson.GetBytes(e.Data, "message.usage"))
			u.anthropic(gjson.GetBytes(e.Data, "usage"))
			u.stop(gjson.GetBytes(e.Data, "delta.stop_reason"))
		}
	case Chat:
		if p == Finish {
			u.stop(gjson.GetBytes(e.Data, "choices.0.finish_reason"))
		}
		if at := lastObject(e.Data, usageKey); at >= 0 {
			u.chat(gjson.ParseBytes(e.Data[at:]))
		}
	case Responses:
		switch p {
		case Done:
			u.Stop = "completed"
			u.stop(gjson.GetBytes(e.Data, "response.incomplete_details.reason"))
			u.response(e)
		case Failed: // what it cost until then
			u.response(e)
		}
	}
}

func (u *Usage) response(e sse.Event) {
	end := e.Data
	if e.Cut {
		end = e.Tail
	}
	end = end[max(0, len(end)-tailSize):]
	if at := lastObject(end, usageKey); at >= 0 {
		u.responses(gjson.ParseBytes(end[at:]))
		return
	}
	u.responses(gjson.GetBytes(e.Data, "response.usage"))
}

// Document takes what a JSON answer tells.
func (u *Usage) Document(n Name, doc []byte) {
	var incomplete gjson.Result
	// A document that is torn tells what it can.
	_ = eachField(doc, func(key []byte, at, end, _ int) error {
		switch value := doc[at:end]; {
		case string(key) == "usage":
			u.figures(n, gjson.ParseBytes(value))
		case n == Anthropic && string(key) == "stop_reason", n == Responses && string(key) == "status":
			u.stop(gjson.ParseBytes(value))
		case n == Chat && string(key) == "choices":
			u.stop(gjson.GetBytes(value, "0.finish_reason"))
		case n == Responses && string(key) == "incomplete_details":
			incomplete = gjson.GetBytes(value, "reason")
		}
		return nil
	})
	u.stop(incomplete) // it says more than the status
}

// figures takes an object of figures.
func (u *Usage) figures(n Name, usage gjson.Result) {
	switch n {
	case Anthropic:
		u.anthropic(usage)
	case Chat:
		u.chat(usage)
	case Responses:
		u.responses(usage)
	}
}

// Head takes what the beginning of a long JSON answer tells.
func (u *Usage) Head(n Name, head []byte) {
	if n == Responses {
		head = head[:min(len(head), tailSize)]
		u.stop(gjson.GetBytes(head, "status"))
		u.stop(gjson.GetBytes(head, "incomplete_details.reason"))
	}
}

// Tail takes what the end of a JSON answer tells whose beginning is gone.
func (u *Usage) Tail(n Name, tail []byte) {
	if at := lastObject(tail, usageKey); at >= 0 {
		u.figures(n, gjson.ParseBytes(tail[at:]))
	}
	key := finishKey
	if n == Anthropic {
		key = stopKey
	}
	if at := lastValue(tail, key, '"'); at >= 0 {
		u.stop(gjson.ParseBytes(tail[at:]))
	}
}

var (
	usageKey = []byte(`"usage"`)
	stopKey  = []byte(`"stop_reason"`)
)

func (u *Usage) stop(r gjson.Result) {
	if r.Type == gjson.String && r.Str != "" && len(r.Str) <= 64 {
		u.Stop = r.Str
	}
}

// anthropic takes figures of the Messages API, of which later ones replace
// earlier ones.
func (u *Usage) anthropic(r gjson.Result) {
	count(&u.Input, r.Get("input_tokens"))
	count(&u.CacheRead, r.Get("cache_read_input_tokens"))
	count(&u.CacheWrite, r.Get("cache_creation_input_tokens"))
	count(&u.Output, r.Get("output_tokens"))
	count(&u.Reasoning, r.Get("output_tokens_details.thinking_tokens"))
}

func (u *Usage) chat(r gjson.Result) {
	count(&u.CacheRead, r.Get("prompt_tokens_details.cached_tokens"))
	count(&u.CacheWrite, r.Get("prompt_tokens_details.cache_write_tokens"))
	u.prompt(r.Get("prompt_tokens"))
	count(&u.Output, r.Get("completion_tokens"))
	count(&u.Reasoning, r.Get("completion_tokens_details.reasoning_tokens"))
}

func (u *Usage) responses(r gjson.Result) {
	count(&u.CacheRead, r.Get("input_tokens_details.cached_tokens"))
	u.prompt(r.Get("input_tokens"))
	count(&u.Output, r.Get("output_tokens"))
	count(&u.Reasoning, r.Get("output_tokens_details.reasoning_tokens"))
}

// prompt takes a count of input that includes the cache's part.
func (u *Usage) prompt(r gjson.Result) {
	count(&u.Input, r)
	if r.Type == gjson.Number && r.Int() > 0 {
		u.Input = max(u.Input-u.CacheRead-u.CacheWrite, 0)
	}
}

// most is more tokens than any answer has.
const most = 1 << 40

// count takes a figure. Figures only grow while an answer goes on: a zero that
// follows is a server that leaves the rest out.
func count(at *int64, r gjson.Result) {
	if n := r.Int(); r.Type == gjson.Number && n > 0 && n < most {
		*at = n
	}
}

// lastObject returns where the object begins that is the value of the last
// such key with an object, or -1. In JSON a key cannot stand inside a string:
// its quotes would be escaped.
func lastObject(data, key []byte) int { return lastValue(data, key, '{') }

// lastValue is lastObject for any first byte. It searches forwards, which is
// the quicker way although most matches are the last.
func lastValue(data, key []byte, first byte) int {
	found, from := -1, 0
	for {
		i := bytes.Index(data[from:], key)
		if i < 0 {
			return found
		}
		from += i + len(key)
		if v := skipSpace(data, from); v < len(data) && data[v] == ':' {
			if v = skipSpace(data, v+1); v < len(data) && data[v] == first {
				found = v
			}
		}
	}
}
