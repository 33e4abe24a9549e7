package cases

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"breakwater/proxy"
	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// Case P34: a client that stays and does not read is cut after the write
// deadline; its upstream is told and its place is free.
func TestClientThatStopsReading(t *testing.T) {
	limits := proxy.DefaultLimits()
	limits.Write = 300 * time.Millisecond
	t.Run("case P34", func(t *testing.T) {
		told := make(chan int, 1)
		delta := []byte(event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+strings.Repeat("x", 64<<10)+`"}}`))
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, event("message_start", messageStart)+event("content_block_start", blockStart))
			sent := 0
			for sent < 50<<20 && r.Context().Err() == nil {
				n, err := w.Write(delta)
				if sent += n; err != nil {
					break
				}
			}
			<-r.Context().Done()
			told <- sent
		}))
		defer up.Close()
		k := scenario.StartWith(t, limits)
		k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = up.URL + "/v1" })
		c := k.Dial()
		if _, err := c.Write([]byte("POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + strconv.Itoa(len(scenario.Messages)) + "\r\n\r\n" + scenario.Messages)); err != nil {
			t.Fatal(err)
		}
		select {
		case sent := <-told:
			if sent >= 50<<20 {
				t.Errorf("all %d bytes were taken", sent)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("the upstream was not told")
		}
		awaitIdle(t, k, "alpha")
		if c := k.Connection("alpha"); c.State != "serving" || c.Failed != 0 || k.Breaker("demo").FailureCount != 0 {
			t.Errorf("alpha is %s, failed %d", c.State, c.Failed)
		}
	})
}

// awaitIdle waits until a connection has no request in flight.
func awaitIdle(t *testing.T, k *scenario.Kit, name string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); k.Connection(name).InFlight > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests are still in flight", k.Connection(name).InFlight)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// Case P56: both loopback addresses are served on the one port, and no other
// interface.
func TestBothLoopbacks(t *testing.T) {
	t.Run("case P56", func(t *testing.T) {
		listeners, err := proxy.Listen(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range listeners {
			if host, _, _ := strings.Cut(strings.TrimPrefix(l.Addr().String(), "["), "]"); !strings.HasPrefix(host, "127.0.0.1:") && host != "::1" {
				t.Errorf("it listens on %s", l.Addr())
			}
			_ = l.Close()
		}
		if len(listeners) == 1 {
			t.Skip("this system has no IPv6")
		}
		k := scenario.Start(t)
		k.Add("alpha", "demo")
		for _, host := range []string{"127.0.0.1", "[::1]", "localhost"} {
			res, err := http.Post(strings.Replace(k.URL, "127.0.0.1", host, 1)+"/v1/messages", "application/json", strings.NewReader(scenario.Messages))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != 200 {
				t.Errorf("%s answers %d", host, res.StatusCode)
			}
		}
	})
}

// Cases P24, P40 and P41: what other gateways lose or double passes here as it
// came, whatever the chunks.
func TestAwkwardStreamsPass(t *testing.T) {
	call := func(item int, args string) string {
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":%q}}]},"finish_reason":null}]}`+"\n\n", item, args)
	}
	opened := func(item int, id string) string {
		return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"w","arguments":"{\"ci"}}]},"finish_reason":null}]}`+"\n\n", item, id)
	}
	toolEnd := `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	callAdded := event("response.output_item.added", `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"w","arguments":""}}`)
	callDone := event("response.function_call_arguments.done", `{"type":"response.function_call_arguments.done","item_id":"f","arguments":"{\"p\":1}"}`)
	completed := event("response.completed", `{"type":"response.completed","response":{"id":"r"}}`)
	for _, tt := range []struct {
		name, path, body string
		pieces           []string
	}{
		{"case P24 line ends torn apart", "/v1/chat/completions", scenario.Chat, []string{
			"event: a\r\ndata:{\"x\":1}\r", "\n\r", "\ndata: {\"x\":2}\r\r",
			"data:{\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\r", "\n\r", "\ndata: [DONE]\r\r",
		}},
		{"case P40 arguments in the final event only", "/v1/responses", scenario.Responses, []string{callAdded, callDone, completed}},
		{"case P40 arguments in both", "/v1/responses", scenario.Responses, []string{
			callAdded,
			event("response.function_call_arguments.delta", `{"type":"response.function_call_arguments.delta","item_id":"f","delta":"{\"p\""}`),
			event("response.function_call_arguments.delta", `{"type":"response.function_call_arguments.delta","item_id":"f","delta":":1}"}`),
			callDone, completed,
		}},
		{"case P41 fragments without an id", "/v1/chat/completions", scenario.Chat, []string{opened(0, "c1"), call(0, `ty":"Os`), call(0, `lo"}`), toolEnd}},
		{"case P41 two calls interleaved", "/v1/chat/completions", scenario.Chat, []string{
			opened(0, "c1"), opened(1, "c2"), call(1, `ty":"Be`), call(0, `ty":"Os`), call(1, `rgen"}`), call(0, `lo"}`), toolEnd,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := scenario.Start(t)
			k.Add("alpha", "demo")
			alpha := k.Sim.Account("alpha")
			want := strings.Join(tt.pieces, "")
			for _, step := range []simulator.Step{
				simulator.Raw("text/event-stream", tt.pieces...), simulator.Raw("text/event-stream", want).InChunks(1),
			} {
				alpha.Script(step)
				a := k.Post(tt.path, tt.body)
				if a.Status != 200 || a.Err != nil || !bytes.Equal([]byte(a.Body), []byte(want)) {
					t.Errorf("got %d, %v: %q", a.Status, a.Err, a.Body)
				}
			}
		})
	}
}
