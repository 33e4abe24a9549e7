package errbody

import (
	"strings"
	"testing"
)

func TestFieldsOfEveryDialect(t *testing.T) {
	for _, c := range []struct{ name, body, code, typ, message string }{
		{"anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, "", "overloaded_error", "busy"},
		{"openai", `{"error":{"message":"no","type":"tokens","code":"rate_limit_exceeded"}}`, "rate_limit_exceeded", "tokens", "no"},
		{"google in an array", `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m"}}]`, "429", "", "m"},
		{"failed response", `{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}`, "server_error", "", "x"},
		{"error as text", `{"error":"usage limit reached"}`, "", "", "usage limit reached"},
		{"detail", `{"detail":"not here"}`, "", "", "not here"},
		{"event frame", "event: error\r\ndata: {\"error\":{\"code\":\"c\"}}\r\n\r\n", "c", "", "event: error\r\ndata: {\"error\":{\"code\":\"c\"}}\r\n\r\n"},
		{"byte order mark", "\xef\xbb\xbf" + `{"error":{"code":"c","message":"m"}}`, "c", "", "m"},
		{"words", "no luck", "", "", "no luck"},
		{"cut JSON", `{"error":{"code":"c"`, "", "", `{"error":{"code":"c"`},
		{"nothing", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := Parse([]byte(c.body))
			if b.Code() != c.code || b.Type() != c.typ || b.Message() != c.message {
				t.Errorf("got %q %q %q", b.Code(), b.Type(), b.Message())
			}
		})
	}
}

func TestWordsShowWhatEscapesHide(t *testing.T) {
	b := Parse([]byte(`{"error":{"message":"{\"error_code\":1010}","note":"\u8bf7"}}`))
	for _, want := range []string{`"error_code":1010`, "请"} {
		if !strings.Contains(b.Words(), want) {
			t.Errorf("%q is not in %q", want, b.Words())
		}
	}
	if len(b.Objects()) != 3 {
		t.Errorf("%d objects, want the outer, the error and the packed one", len(b.Objects()))
	}
	if got := Parse([]byte("ÀB")).Text(); got != "àb" {
		t.Errorf("text %q", got)
	}
}

func TestBounds(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500)
	if n := len(Parse([]byte(deep)).Objects()); n != maxDepth+1 {
		t.Errorf("%d objects of a deep body", n)
	}
	wide := "[" + strings.Repeat("{},", 5000) + "{}]"
	if n := len(Parse([]byte(wide)).Objects()); n != maxObjects {
		t.Errorf("%d objects of a wide body", n)
	}
	if n := len(Parse([]byte(strings.Repeat("x", 1<<20))).Words()); n != maxHead {
		t.Errorf("%d bytes kept", n)
	}
	if b := Parse([]byte{0xff, 'a', 0xfe}); b.Words() != "\uFFFDa\uFFFD" || len(b.Objects()) != 0 {
		t.Errorf("broken bytes give %q", b.Words())
	}
}
