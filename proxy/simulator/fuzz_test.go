package simulator

import (
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Whatever a client sends, the answer is a well-formed document.
func FuzzRequestsAreAnsweredWithJSON(f *testing.F) {
	for _, d := range spoken {
		f.Add("/v1"+paths[d], ask{dialect: d, tools: true}.body())
		f.Add("/v1"+paths[d], ask{dialect: d, tools: true, result: true}.body())
	}
	f.Add("/v1/messages/count_tokens", `{"model":"m"}`)
	f.Add("/a//v1/responses", `{"model":1,"input":"hi","tools":{}}`)
	f.Add("/v1/messages", `{"model":"m","model":"n","messages":[{"role":"user","content":[[]]}],"tools":[{"function":{}}]}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost/", strings.NewReader(body))
		r.URL.Path = path
		name, rest := splitAccount(path)
		q := parseRequest(r, rest, []byte(body))
		q.account, q.stream = name, false
		a := New(Options{}).answer(q, Auto())
		var doc []byte
		for _, o := range compose(q, Auto(), a) {
			doc = append(doc, o.data...)
		}
		if !gjson.ValidBytes(doc) {
			t.Errorf("%d %s", a.status, doc)
		}
	})
}

// Deltas put together are the text, and none of them tears a letter.
func FuzzSplit(f *testing.F) {
	f.Add("Hello from the demo account.", 0)
	f.Add("caf\u00e9 \U0001f642", 1)
	f.Add("  two  spaces ", 0)
	f.Add("whole", -1)
	f.Fuzz(func(t *testing.T, s string, size int) {
		if !utf8.ValidString(s) {
			t.Skip()
		}
		parts := split(s, size)
		if strings.Join(parts, "") != s {
			t.Errorf("%q became %q", s, parts)
		}
		for _, p := range parts {
			if !utf8.ValidString(p) {
				t.Errorf("torn letter in %q", parts)
			}
			if size > 4 && len(p) > size {
				t.Errorf("%q is longer than %d", p, size)
			}
		}
	})
}
