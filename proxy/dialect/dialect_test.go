package dialect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"breakwater/proxy/sse"
)

// Names that are stored or typed lead to their dialect, any other to none.
func TestOf(t *testing.T) {
	for _, d := range All {
		if got, ok := Of(d.Traits().Name); !ok || got != d {
			t.Errorf("%s leads to %T, %v", d.Traits().Name, got, ok)
		}
	}
	for _, n := range []Name{"", "Chat", "chat ", "openai", "gemini", "chat\x00", "messages"} {
		if got, ok := Of(n); ok || got != nil {
			t.Errorf("%q leads to %T", n, got)
		}
	}
}

// Every dialect says what is asked of all: what is added to All is checked here at
// once.
func TestTraitsAreWhole(t *testing.T) {
	names, paths := map[Name]bool{}, map[string]bool{}
	for _, d := range All {
		x := d.Traits()
		t.Run(string(x.Name), func(t *testing.T) {
			if x.Name == "" || names[x.Name] || string(x.Name) != strings.ToLower(string(x.Name)) {
				t.Errorf("the name %q is none, or taken", x.Name)
			}
			names[x.Name] = true
			if x.Title == "" || x.Turns == "" || len(x.Limits) == 0 || len(x.stopKey) == 0 || len(x.Routes) == 0 || x.Routes[0].Probe {
				t.Errorf("incomplete: %+v", x)
			}
			for _, r := range x.Routes {
				if !strings.HasPrefix(r.Path, "/") || paths[r.Path] {
					t.Errorf("the route %q is none, or taken", r.Path)
				}
				paths[r.Path] = true
			}
			for _, h := range []Header{x.Version, x.Login} {
				if (h.Name == "") != (h.Value() == "") || len(h.Values) > 1 {
					t.Errorf("half a header: %+v", h)
				}
			}
			if _, resumes := d.(resumer); resumes && !x.Rated {
				if kind, _ := d.Delta(sse.Event{Data: []byte(`{}`)}); kind != NoDelta {
					t.Error("an empty event adds something")
				}
			}
		})
	}
}

// A question is a request that the proxy itself reads: model, words and stream
// are found in it, and a system turn and a bound can be added.
func TestQuestionsAreRequests(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.SampledFrom(All).Draw(rt, "dialect")
		q := Question{
			Model: rapid.StringMatching(`[a-z0-9/.<>&-]{1,20}`).Draw(rt, "model"), Words: rapid.StringMatching(`[ -~\n]{1,40}`).Draw(rt, "words"),
			Stream: rapid.Bool().Draw(rt, "stream"), MaxOutput: rapid.Int64Range(0, 100).Draw(rt, "most"),
		}
		raw := d.Ask(q)
		b, err := ReadBody(raw)
		if err != nil || b.Model != q.Model || b.Stream != q.Stream {
			rt.Fatalf("%s reads as %+v, %v", raw, b, err)
		}
		c := NewContent(d, raw)
		if c.FirstUser() != q.Words {
			rt.Errorf("%s asks %q", raw, c.FirstUser())
		}
		if got := c.MaxOutput(); q.MaxOutput > 0 && (got < q.MaxOutput || got > max(q.MaxOutput, leastOutput)) {
			rt.Errorf("%s asks for %d tokens", raw, got)
		}
		out, err := Apply(d, raw, Edit{System: "be brief", User: "other", MaxOutput: 200})
		if err != nil || !json.Valid(out) || NewContent(d, out).FirstUser() != "other" || !strings.Contains(string(NewContent(d, out).StablePrefix()), "be brief") {
			rt.Errorf("%s became %s, %v", raw, out, err)
		}
		if got := NewContent(d, out).MaxOutput(); got == 0 || got > 200 {
			rt.Errorf("%s asks for %d tokens", out, got)
		}
	})
}

// The error event that ends a stream is a failure to every reader of the dialect,
// under the name that its clients need.
func TestErrorEventsAreFailures(t *testing.T) {
	for _, d := range All {
		for _, status := range []int{400, 429, 503} {
			raw := d.ErrorEvent(Refusal{Status: status, Type: TypeFor(status), Code: "c", Message: "a <message>\nof two lines"})
			var events []sse.Event
			var scan sse.Scanner
			scan.Feed(raw, func(e sse.Event) bool { events = append(events, e); return true })
			if len(events) != 1 {
				t.Fatalf("%T %d: %d events in %q", d, status, len(events), raw)
			}
			r := NewReader(d, 1)
			if e := events[0]; r.Read(e) != Failed || r.ReadEnd(e) != Failed || !MayFail(e) || string(e.Name) != EventName(d, e.Data) {
				t.Errorf("%T %d: no failure, or a wrong name: %q", d, status, raw)
			}
			if !gjson.ValidBytes(d.ErrorBody(Refusal{Status: status})) {
				t.Errorf("%T %d: the body is no JSON", d, status)
			}
		}
	}
}

// Requests outside the routes are given the form that their path or their header
// suggests.
func TestSuggested(t *testing.T) {
	for _, tt := range []struct {
		path, header string
		want         Dialect
	}{
		{"/v1/messages/batches", "", Anthropic},
		{"/v2/anything", "Anthropic-Version", Anthropic},
		{"/v1/responses/r1/input_items", "", Responses},
		{"/v1/chat/completions/c1", "", Chat},
		{"/v1/embeddings", "", nil},
		{"/", "Authorization", nil},
		{"", "", nil},
	} {
		got, ok := Suggested(tt.path, func(name string) string {
			if name == tt.header {
				return "x"
			}
			return ""
		})
		if got != tt.want || ok != (tt.want != nil) {
			t.Errorf("%s with %q suggests %T", tt.path, tt.header, got)
		}
	}
}

// A dialect whose answers cannot be continued has no thread.
func TestThreads(t *testing.T) {
	for d, want := range map[Dialect]bool{Anthropic: false, Chat: true, Responses: true} {
		if got := NewThread(d) != nil; got != want {
			t.Errorf("%T: a thread %v", d, got)
		}
	}
}
