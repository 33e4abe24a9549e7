package cases

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

const (
	recoveryOn     = `{"streamRecovery":{"enabled":true}}`
	continuationOn = `{"streamRecovery":{"continueMidStream":true}}`
)

// An answer that breaks off before the client saw any of it is fetched again
// from the same account, where that is switched on (sheet §6.6).
func TestEarlyRecovery(t *testing.T) {
	cut := simulator.OK("one two three").CutAfter(1)
	for _, tt := range []struct {
		name     string
		on       bool
		steps    []simulator.Step
		requests int
		status   int
		text     string // in the answer
		absent   string
		broken   bool
	}{
		{"case 175 a reset, then a good one", true, []simulator.Step{simulator.OK("first").ResetAfter(1), simulator.OK("second")}, 2, 200, "second", "first", false},
		{"cut, end, reset before the headers, then a good one", true, []simulator.Step{cut, simulator.OK("first").EndAfter(1), simulator.Reset(), simulator.OK("fourth")}, 4, 200, "fourth", "one", false},
		{"an empty turn", true, []simulator.Step{simulator.Blank("end_turn"), simulator.OK("second")}, 2, 200, "second", "", false},
		{"case 176 what is held is delivered when the second try is refused", true, []simulator.Step{cut, simulator.Status(500)}, 2, 200, "one", "two", true},
		{"case 178 no more than four times", true, []simulator.Step{cut, cut, cut, cut, cut, simulator.OK("sixth")}, 5, 200, "one", "sixth", true},
		{"case 182 off by default", false, []simulator.Step{simulator.OK("first").ResetAfter(simulator.AfterPreamble), simulator.OK("second")}, 1, 502, "", "second", false},
		{"an error event is no broken stream", true, []simulator.Step{simulator.OK("one").ErrorAfter(1, simulator.Error{Type: "api_error", Message: "no"}), simulator.OK("second")}, 1, 502, "", "second", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			k.Add("alpha", "demo")
			alpha := k.Sim.Account("alpha")
			alpha.Script(tt.steps...)
			if tt.on {
				edit(t, k, recoveryOn)
			}
			a := k.Post("/v1/messages", scenario.Messages)
			if a.Status != tt.status || (a.Err != nil) != tt.broken {
				t.Fatalf("got %d, %v: %s", a.Status, a.Err, a.Body)
			}
			if !strings.Contains(a.Body, tt.text) || tt.absent != "" && strings.Contains(a.Body, tt.absent) || strings.Count(a.Body, "event: message_start") > 1 {
				t.Errorf("got %s", a.Body)
			}
			if n := len(alpha.Requests()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			last, c := k.Last(), k.Connection("alpha")
			if tt.status == 200 && !tt.broken && (last.Result != "answered" || c.Served != 1 || c.Failed != 0 || c.InFlight != 0) {
				t.Errorf("recorded %s; served %d, failed %d", last.Result, c.Served, c.Failed)
			}
		})
	}
}

// With another connection at hand it answers once the first has used up its
// tries.
func TestEarlyRecoveryFallsOver(t *testing.T) {
	k := scenario.Start(t)
	alpha, _ := k.Pair()
	edit(t, k, recoveryOn)
	alpha.Script(simulator.OK("one two").CutAfter(1).Always())
	a := k.Post("/v1/messages", scenario.Messages)
	if a.From() != "beta" || a.Err != nil || len(alpha.Requests()) != 5 {
		t.Errorf("got %d, %v after %d requests: %s", a.Status, a.Err, len(alpha.Requests()), a.Body)
	}
}

// Case 177: once the client has seen something, an error shows.
func TestNoReopenAfterTheHoldBack(t *testing.T) {
	t.Run("case 177", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		alpha := k.Sim.Account("alpha")
		edit(t, k, recoveryOn)
		alpha.Script(simulator.OK(strings.Repeat("word ", 20_000)).Split(-1).CutAfter(1), simulator.OK("second"))
		a := k.Post("/v1/messages", scenario.Messages)
		if a.Status != 200 || a.Err == nil || strings.Contains(a.Body, "second") || len(alpha.Requests()) != 1 {
			t.Errorf("got %d, %v, %d requests", a.Status, a.Err, len(alpha.Requests()))
		}
	})
}

// Cases 173 and 174: content is held for a moment, then everything goes out in
// order although nothing more comes.
func TestContentIsHeldBack(t *testing.T) {
	t.Run("cases 173 and 174", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		edit(t, k, recoveryOn)
		release := make(chan struct{})
		k.Sim.Account("alpha").Script(simulator.OK("one two three").HoldAfter(1, release))
		began := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.URL+"/v1/messages", strings.NewReader(scenario.Messages))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		if took := time.Since(began); took < 700*time.Millisecond {
			t.Errorf("the headers came after %v", took)
		}
		if got := readUntil(t, res.Body, "text_delta"); !strings.Contains(got, "event: message_start") {
			t.Errorf("got %s", got)
		}
		close(release)
		readUntil(t, res.Body, "message_stop")
	})
}

// Case 179: a client that leaves is not waited for.
func TestNoReopenForNobody(t *testing.T) {
	t.Run("case 179", func(t *testing.T) {
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		alpha := k.Sim.Account("alpha")
		edit(t, k, recoveryOn)
		alpha.Script(simulator.OK("one").StallAfter(1, simulator.Forever), simulator.OK("second"))
		c := k.Dial()
		if _, err := c.Write([]byte("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + strconv.Itoa(len(scenario.Messages)) + "\r\n\r\n" + scenario.Messages)); err != nil {
			t.Fatal(err)
		}
		if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool { return len(rs) == 1 }); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		if _, err := alpha.Await(t.Context(), func(rs []simulator.Request) bool { return !rs[0].CancelledAt.IsZero() }); err != nil {
			t.Fatal(err)
		}
		if a := k.Post("/v1/messages", scenario.Messages); a.Status != 200 || len(alpha.Requests()) != 2 {
			t.Errorf("got %d after %d requests", a.Status, len(alpha.Requests()))
		}
	})
}

// text puts the text of a chat or Responses stream together.
func textOf(body string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(body, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		b.WriteString(gjson.Get(data, "choices.0.delta.content").Str)
		if gjson.Get(data, "type").Str == "response.output_text.delta" {
			b.WriteString(gjson.Get(data, "delta").Str)
		}
	}
	return b.String()
}

// The rest of an answer that broke off in its middle is fetched and appended,
// where that is switched on.
func TestContinuation(t *testing.T) {
	const all = "The quick brown fox jumps over the lazy dog."
	broken := simulator.OK(all).CutAfter(5)
	for _, d := range []struct{ path, body, end, prefill string }{
		{"/v1/chat/completions", scenario.Chat, "data: [DONE]", "messages.1"},
		{"/v1/responses", scenario.Responses, "event: response.completed", "input.1"},
	} {
		for _, tt := range []struct {
			name     string
			on       bool
			steps    []simulator.Step
			requests int
			whole    bool
		}{
			{"it goes on", true, []simulator.Step{broken, simulator.OK("quick brown fox jumps over the lazy dog.")}, 2, true},
			{"other words, then it goes on", true, []simulator.Step{broken, simulator.OK("Something else."), simulator.Status(500), simulator.OK("brown fox jumps over the lazy dog.")}, 4, true},
			{"never the right words", true, []simulator.Step{broken, simulator.OK("jumps x").Always()}, 5, false},
			{"the continuation breaks too", true, []simulator.Step{broken.Always()}, 5, false},
			{"a tool call is under way", true, []simulator.Step{simulator.CallTool("f", `{"a":"bcdef"}`).CutAfter(2), simulator.OK(all)}, 1, false},
			{"off by default", false, []simulator.Step{broken, simulator.OK(all)}, 1, false},
		} {
			t.Run(d.path+" "+tt.name, func(t *testing.T) {
				k := scenario.Start(t)
				k.Add("alpha", "demo")
				alpha := k.Sim.Account("alpha")
				alpha.Script(tt.steps...)
				if tt.on {
					edit(t, k, continuationOn)
				}
				body := strings.Replace(d.body, `"stream":true`, `"stream":true,"tools":[{"type":"function","name":"f","function":{"name":"f"}}]`, 1)
				a := k.Post(d.path, body)
				rs := alpha.Requests()
				if len(rs) != tt.requests || (a.Err == nil) != tt.whole || strings.Contains(a.Body, d.end) != tt.whole {
					t.Fatalf("%d requests, %v: %s", len(rs), a.Err, a.Body)
				}
				if !tt.whole {
					return
				}
				if got := textOf(a.Body); got != all || strings.Count(a.Body, d.end) != 1 {
					t.Errorf("text %q in %s", got, a.Body)
				}
				if got := gjson.GetBytes(rs[1].Body, d.prefill+".content").Str; !strings.HasPrefix(all, got) || got == "" {
					t.Errorf("prefill %q in %s", got, rs[1].Body)
				}
				if last, c := k.Last(), k.Connection("alpha"); last.Result != "answered" || c.Served != 1 || c.Failed != 0 || last.OutputTokens == 0 && d.path == "/v1/responses" {
					t.Errorf("recorded %s, %+v, served %d, failed %d", last.Result, last.Usage, c.Served, c.Failed)
				}
			})
		}
	}
}
