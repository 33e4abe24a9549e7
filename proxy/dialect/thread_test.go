package dialect

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"breakwater/proxy/sse"
)

func thread(text string) *Thread {
	t := NewThread(Chat)
	t.See(sse.Event{Data: []byte(`{"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant"}}]}`)}, NoDelta, "")
	t.See(sse.Event{}, TextDelta, text)
	return t
}

func TestOverlapOfAContinuation(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	for _, tt := range []struct {
		name, sent, next, rest string
		ok                     bool
	}{
		{"the last words again", "one two three four", "two three four five", " five", true},
		{"eight characters are enough", "abcdefgh", "abcdefghi", "i", true},
		{"seven are not", "abcdefg", "abcdefgh", "", false},
		{"characters, not bytes", "\u00e9\u00e9\u00e9\u00e9", "\u00e9\u00e9\u00e9\u00e9!", "", false},
		{"eight of several bytes", "x\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9y", "y", true},
		{"nothing in common", "one two three", "something else", "", false},
		{"in common, but not at the beginning", "one two three", "so: one two three four", "", false},
		{"nothing more", "one two three", "one two three", "", true},
		{"the longest overlap counts", "ababababab", "ababababab!", "!", true},
		{"no more than 512 characters", long + "tail of it", (long + "tail of it")[498:] + "!", "!", true},
		{"more than that is no overlap", "y" + long[:600], "y" + long[:600] + "!", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rest, ok := thread(tt.sent).Rest(thread(tt.next))
			if rest != tt.rest || ok != tt.ok {
				t.Errorf("got %q, %v", rest, ok)
			}
		})
	}
	called := thread("one two three four")
	called.See(sse.Event{}, ToolDelta, "")
	if _, ok := thread("one two three").Rest(called); ok || called.Continuable() {
		t.Error("a tool call was continued")
	}
}

func TestRequestOfAContinuation(t *testing.T) {
	for _, tt := range []struct {
		n          Dialect
		body, path string
		ok         bool
	}{
		{Chat, `{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true}`, "messages.1", true},
		{Chat, `{"model":"m","messages":"x"}`, "", false},
		{Responses, `{"model":"m","input":"x"}`, "input.1", true},
		{Responses, `{"model":"m","input":[{"role":"user","content":"x"}]}`, "input.1", true},
		{Responses, `{"model":"m"}`, "", false},
	} {
		th := NewThread(tt.n)
		th.See(sse.Event{}, TextDelta, `say "hi"`)
		out, ok := th.Request([]byte(tt.body))
		if ok != tt.ok {
			t.Errorf("%s: %v", tt.body, ok)
		}
		if last := gjson.GetBytes(out, tt.path); ok && (last.Get("role").Str != "assistant" || last.Get("content").Str != `say "hi"`) {
			t.Errorf("%s became %s", tt.body, out)
		}
	}
}

// Case 181: what ends a stream.
// reads returns a reader that has read one event.
func reads(n Dialect, name, data string) *Reader {
	r := reading(n)
	r.Read(sse.Event{Name: []byte(name), Data: []byte(data)})
	return r
}

func TestTerminalMarkers(t *testing.T) {
	for _, tt := range []struct {
		n          Dialect
		name, data string
		want       bool
	}{
		{Chat, "", "[DONE]", true},
		{Anthropic, "message_stop", `{"type":"message_stop"}`, true},
		{Responses, "response.completed", `{"type":"response.completed"}`, true},
		{Chat, "", `{"choices":[{"delta":{"content":"x"}}]}`, false},
		{Anthropic, "message_delta", `{"type":"message_delta"}`, false},
		{Responses, "response.output_item.done", `{"type":"response.output_item.done"}`, false},
		{Anthropic, "", "", false},
	} {
		t.Run("case 181 "+string(tt.n.Traits().Name)+" "+tt.name+tt.data, func(t *testing.T) {
			if got := reads(tt.n, tt.name, tt.data).Complete(); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
