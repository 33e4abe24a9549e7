package proxy

import (
	"fmt"

	"github.com/tidwall/gjson"

	"breakwater/proxy/dialect"
	"breakwater/proxy/sse"
)

// openBlock remembers the content block of an Anthropic stream that has been
// opened and not closed: a client whose stream ends inside one cannot use what
// it got (case P31).
type openBlock struct {
	open  bool
	index int64
}

// see follows the stream.
func (b *openBlock) see(d dialect.Name, e sse.Event) {
	if d != dialect.Anthropic {
		return
	}
	switch string(e.Name) {
	case "content_block_start":
		b.open, b.index = true, gjson.GetBytes(e.Data, "index").Int()
	case "content_block_stop":
		b.open = false
	}
}

// close returns the event that closes the open block, if there is one.
func (b *openBlock) close() []byte {
	if !b.open {
		return nil
	}
	b.open = false
	return fmt.Appendf(nil, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", b.index)
}
