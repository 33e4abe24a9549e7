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
func (u *Usage) Event(d Dialect, p Progress, e sse.Event) { d.usageEvent(u, p, e) }

// Document takes what a JSON answer tells.
func (u *Usage) Document(d Dialect, doc []byte) {
	before := u.Stop
	u.Stop = ""
	// A document that is torn tells what it can.
	_ = eachField(doc, func(key []byte, at, end, _ int) error {
		if string(key) == "usage" {
			d.usageFigures(u, gjson.ParseBytes(doc[at:end]))
		} else {
			d.usageField(u, key, doc[at:end])
		}
		return nil
	})
	if u.Stop == "" {
		u.Stop = before
	}
}

// Head takes what the beginning of a long JSON answer tells.
func (u *Usage) Head(d Dialect, head []byte) { d.usageHead(u, head) }

// Tail takes what the end of a JSON answer tells whose beginning is gone.
func (u *Usage) Tail(d Dialect, tail []byte) {
	if at := lastObject(tail, usageKey); at >= 0 {
		d.usageFigures(u, gjson.ParseBytes(tail[at:]))
	}
	if at := lastValue(tail, d.Traits().stopKey, '"'); at >= 0 {
		u.stop(gjson.ParseBytes(tail[at:]))
	}
}

var usageKey = []byte(`"usage"`)

func (u *Usage) stop(r gjson.Result) {
	if r.Type == gjson.String && r.Str != "" && len(r.Str) <= 64 {
		u.Stop = r.Str
	}
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
