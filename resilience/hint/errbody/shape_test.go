package errbody

import (
	"strings"
	"testing"
)

// Words count only where the provider itself speaks (ruling 55): neither in a
// page nor where a request is repeated.
func TestShapesAndWhoseWords(t *testing.T) {
	for _, c := range []struct {
		name, body string
		shape      Shape
		own, said  string // words that must be there; a leading ! means absent
	}{
		{"error object", `{"error":{"message":"Key Bad","code":"c1","type":"t1","status":"S1"}}`, Own, "key bad|c1|t1|s1", "key bad"},
		{"error string", `{"code":"x","error":"Key bad"}`, Own, "key bad|x", "key bad"},
		{"a list", `[{"error":{"message":"Key bad","details":[{"reason":"R1"}]}}]`, Own, "key bad|r1", "key bad"},
		{"bare message", `{"message":"Key bad"}`, Own, "key bad", "key bad"},
		{"bare detail", `{"detail":"Key bad"}`, Own, "key bad", "key bad"},
		{"a validator's list", `{"detail":[{"msg":"found","input":"Key bad"}]}`, Own, "found|!key bad", "!key bad"},
		{"errors", `{"success":false,"errors":[{"code":7,"message":"Key bad"}]}`, Own, "key bad|7", "key bad"},
		{"a status beside", `{"base_resp":{"status_code":1004,"status_msg":"Key bad"}}`, Own, "key bad", "key bad"},
		{"a failed response", `{"type":"response.failed","response":{"error":{"code":"c1","message":"Key bad"}}}`, Own, "key bad|c1", "key bad"},
		{"an echo beside", `{"error":{"message":"no"},"request":{"prompt":"Key bad"}}`, Own, "no|!key bad", "!key bad"},
		{"an echo in quotes", `{"error":{"message":"value 'Key bad' isn't one of \"a\""}}`, Own, "isn't one of|!key bad", "key bad"},
		{"packed by an aggregator", `{"error":{"message":"no","metadata":{"raw":"{\"error\":{\"message\":\"Key bad\"}}"}}}`, Own, "no|!key bad", "key bad"},
		{"packed as text", `{"error":{"message":"no","metadata":{"raw":"Key bad"}}}`, Own, "no|!key bad", "key bad"},
		{"a page inside", `{"error":{"message":"<html>Key bad</html>","code":"c1"}}`, Own, "c1|!key bad", "!key bad"},
		{"foreign", `{"blocked":true,"why":"Key bad"}`, Foreign, "!key bad", "key bad"},
		{"a problem without detail", `{"title":"Key bad","status":403}`, Foreign, "!key bad", "key bad"},
		{"a page", "\xef\xbb\xbf \n<!doctype html><p>Key bad", Page, "!key bad", "!key bad"},
		{"plain", "Key bad", Plain, "key bad", "key bad"},
		{"a JSON string", `"Key bad"`, Plain, "key bad", "key bad"},
		{"a document", strings.Repeat("x ", maxPlain) + "Key bad", Plain, "!key bad", "key bad"},
		{"cut", `{"error":{"message":"Key bad`, Broken, "!key bad", "key bad"},
		{"nothing", " \r\n", Empty, "!key bad", "!key bad"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := Parse([]byte(c.body))
			if b.Shape() != c.shape {
				t.Errorf("shape %d, want %d", b.Shape(), c.shape)
			}
			for _, part := range []struct{ what, text, want string }{{"own", b.OwnWords(), c.own}, {"said", b.Said(), c.said}} {
				for word := range strings.SplitSeq(part.want, "|") {
					absent, found := strings.CutPrefix(word, "!")
					if strings.Contains(part.text, absent) == found {
						t.Errorf("%s words %q, want %q", part.what, part.text, word)
					}
				}
			}
		})
	}
}

// FuzzShape: whatever the bytes are, the own words are a part of what is said or
// of the text, and a page says nothing.
func FuzzShape(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"a 'b' c"}}`, `[{"error":"x"}]`, "<html>", "plain 'q", `{"error":{"metadata":{"raw":"{\"message\":\"m\"}"}}}`, "", `"s"`, `{"a":`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		b := Parse([]byte(body))
		switch b.Shape() {
		case Empty, Page, Foreign, Broken:
			if b.OwnWords() != "" || b.Sentence() != "" {
				t.Fatalf("own words %q of %q", b.OwnWords(), body)
			}
		case Own:
			if b.Said() == "" || b.Sentence() == "" {
				t.Fatalf("an error without words: %q", body)
			}
		}
		if b.Shape() == Page && b.Said() != "" {
			t.Fatalf("a page says %q", b.Said())
		}
	})
}
