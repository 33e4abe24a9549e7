package cases

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"breakwater/proxy/simulator"
	"breakwater/tests/scenario"
)

// What an upstream sends is what the client gets, byte for byte, whatever the
// dialect, the line ends, the comments and the chunks.
func TestStreamsPassByteForByte(t *testing.T) {
	streams := 2000
	if testing.Short() {
		streams = 200
	}
	k := scenario.Start(t)
	k.Add("alpha", "demo")
	alpha := k.Sim.Account("alpha")
	requests := map[string]string{"/v1/messages": scenario.Messages, "/v1/chat/completions": scenario.Chat, "/v1/responses": scenario.Responses}
	paths := []string{"/v1/messages", "/v1/chat/completions", "/v1/responses"}
	for seed := range uint64(streams) {
		r := rand.New(rand.NewPCG(seed, 1))
		path := paths[r.IntN(len(paths))]
		stream := randomStream(r, path)
		sizes := make([]int, 1+r.IntN(5))
		for i := range sizes {
			sizes[i] = 1 + r.IntN(1+r.IntN(400))
		}
		alpha.Script(simulator.Raw("text/event-stream", stream).InChunks(sizes...))
		a := k.Post(path, requests[path])
		if a.Status != 200 || a.Err != nil || a.Body != stream {
			t.Fatalf("seed %d, %s in chunks of %v: got %d, %v\n%q\nwant\n%q", seed, path, sizes, a.Status, a.Err, a.Body, stream)
		}
	}
	if c := k.Connection("alpha"); c.State != "serving" || c.Served != int64(streams) || c.Failed != 0 {
		t.Errorf("alpha is %s, served %d, failed %d", c.State, c.Served, c.Failed)
	}
}

// randomStream writes a whole answer of the path's dialect.
func randomStream(r *rand.Rand, path string) string {
	var b strings.Builder
	eol := []string{"\n", "\r", "\r\n"}[r.IntN(3)]
	space := []string{"", " "}[r.IntN(2)]
	put := func(name, data string) {
		for r.IntN(4) == 0 {
			b.WriteString(":" + strings.Repeat("c", r.IntN(40)) + eol + eol)
		}
		if name != "" {
			b.WriteString("event:" + space + name + eol)
		}
		if r.IntN(5) == 0 {
			b.WriteString("id: 7" + eol)
		}
		b.WriteString("data:" + space + data + eol + eol)
	}
	if r.IntN(4) == 0 {
		b.WriteString("\ufeff")
	}
	word := func() string { return []string{"hello ", "caf\u00e9 ", "\U0001F642", "a\\nb", ""}[r.IntN(5)] }
	n := 1 + r.IntN(30)
	switch path {
	case "/v1/messages":
		put("message_start", messageStart)
		put("content_block_start", blockStart)
		if r.IntN(3) == 0 {
			put("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":""}}`)
		}
		for range n {
			put("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}`, word()))
			if r.IntN(6) == 0 {
				put("ping", `{"type":"ping"}`)
			}
		}
		put("content_block_stop", `{"type":"content_block_stop","index":0}`)
		put("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`)
		put("message_stop", `{"type":"message_stop"}`)
	case "/v1/chat/completions":
		put("", `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
		for range n {
			put("", fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":null}]}`, word()))
		}
		if r.IntN(3) == 0 {
			put("", `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"w","arguments":"{\"a"}}]},"finish_reason":null}]}`)
			put("", `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\":1}"}}]},"finish_reason":null}]}`)
		}
		put("", `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
		if r.IntN(2) == 0 {
			put("", `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}`)
		}
		put("", "[DONE]")
	default:
		put("response.created", `{"type":"response.created","response":{"id":"r"}}`)
		if r.IntN(3) == 0 {
			put("response.output_item.added", `{"type":"response.output_item.added","item":{"type":"function_call","name":"w","arguments":""}}`)
			put("response.function_call_arguments.done", `{"type":"response.function_call_arguments.done","arguments":"{\"p\":1}"}`)
		}
		for range n {
			put("response.output_text.delta", fmt.Sprintf(`{"type":"response.output_text.delta","delta":"%s"}`, word()))
		}
		put("response.completed", `{"type":"response.completed","response":{"id":"r"}}`)
	}
	return b.String()
}
