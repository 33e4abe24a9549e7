package dialect

import (
	"fmt"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

// Reader follows the events of one answer: what each means for the request, and
// whether the answer is complete.
type Reader struct {
	d     Dialect
	said  bool // the model has said something
	calls bool // a tool call is open that has no arguments yet

	finished bool // the model has told why it stopped
	done     bool // the last event of the dialect came
	failed   bool

	block struct { // of content, that is open; Messages has them
		open  bool
		index int64
	}
	// choices, a bit for each index; Chat has them.
	begun, ended uint64
	several      bool // more than one choice was asked for
}

// NewReader returns a reader of an answer to a request for that many choices,
// which only the chat dialect knows.
func NewReader(d Dialect, choices int) Reader { return Reader{d: d, several: choices > 1} }

// Read says what the event means.
func (r *Reader) Read(e sse.Event) Progress {
	p := r.d.read(r, e)
	r.said = r.said || p.Commits()
	r.failed = r.failed || p == Failed
	return p
}

// ReadEnd is Read for a stream that is committed already: it tells Finish, Done
// and Failed apart from the rest, and costs next to nothing for the events in
// between.
func (r *Reader) ReadEnd(e sse.Event) Progress { return r.d.readEnd(r, e) }

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
	return r.d.missing(r)
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
