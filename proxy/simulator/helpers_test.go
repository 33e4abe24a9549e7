package simulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"breakwater/proxy/dialect"
	"breakwater/proxy/simulator/compress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spoken are the dialects with a voice of their own.
var spoken = []dialect.Dialect{dialect.Anthropic, dialect.Chat, dialect.Responses}

var paths = map[dialect.Dialect]string{
	dialect.Anthropic: "/messages",
	dialect.Chat:      "/chat/completions",
	dialect.Responses: "/responses",
}

// start returns a listening server with a client that has no connections of
// other tests.
func start(t *testing.T, opts Options) (*Server, *http.Client) {
	t.Helper()
	opts.Encoders = map[Encoding]func(io.Writer) Encoder{Brotli: compress.Brotli, Zstd: compress.Zstd}
	s := New(opts)
	if err := s.Start(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, &http.Client{Transport: tr}
}

// pipes is a listener in memory, for tests whose time is a bubble's.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.done)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// startInBubble is start without sockets, to be called in a synctest bubble.
func startInBubble(t *testing.T) (*Server, *http.Client) {
	t.Helper()
	p, s := newPipes(), New(Options{})
	if err := s.Serve(p); err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DialContext: p.dial, DisableCompression: true}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, &http.Client{Transport: tr}
}

// ask describes a request of a client.
type ask struct {
	dialect dialect.Dialect
	stream  bool
	tools   bool
	result  bool // a tool result is in the history
	usage   bool // stream_options.include_usage
	prompt  string
	header  http.Header
}

const toolSchema = `{"type":"object","required":["command","description","timeout","env","args","mode"],"properties":{` +
	`"command":{"type":"string"},"description":{"type":"string"},"timeout":{"type":["integer","null"]},` +
	`"env":{"type":"object","required":["a.b"],"properties":{"a.b":{"type":"boolean"}}},"args":{"type":"array"},"mode":{"enum":["fast","slow"]}}}`

func (a ask) body() string {
	prompt := a.prompt
	if prompt == "" {
		prompt = "Say hi."
	}
	var tools, turns, extra string
	switch a.dialect {
	case dialect.Anthropic:
		tools = `{"type":"web_search_20250305","name":"web_search"},{"name":"Read","input_schema":{"type":"object"}},{"name":"Bash","input_schema":` + toolSchema + `}`
		turns = `"messages":[{"role":"user","content":[{"type":"text","text":%q},{"type":"text","text":"<system-reminder>run tools</system-reminder>"}]}`
		if a.result {
			turns += `,{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"hi"}]}`
		}
		extra = `"max_tokens":64,`
	case dialect.Chat:
		tools = `{"type":"function","function":{"name":"Read","parameters":{"type":"object"}}},{"type":"function","function":{"name":"bash","parameters":` + toolSchema + `}}`
		turns = `"messages":[{"role":"system","content":"run tools"},{"role":"user","content":%q}`
		if a.result {
			turns += `,{"role":"tool","tool_call_id":"t","content":"hi"}`
		}
		if a.usage {
			extra = `"stream_options":{"include_usage":true},`
		}
	case dialect.Responses:
		tools = `{"type":"web_search"},{"type":"namespace","name":"n","tools":[]},{"type":"function","name":"shell","parameters":` + toolSchema + `}`
		turns = `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":%q}]}`
		if a.result {
			turns += `,{"type":"function_call_output","call_id":"t","output":"hi"}`
		}
	}
	if !a.tools {
		tools = ""
	}
	return fmt.Sprintf(`{"model":"m-1","stream":%t,%s"tools":[%s],`+turns+`]}`, a.stream, extra, tools, prompt)
}

func (a ask) request(ctx context.Context, base string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+paths[a.dialect], strings.NewReader(a.body()))
	if err != nil {
		panic(err)
	}
	maps.Copy(r.Header, a.header)
	r.Header.Set("Content-Type", "application/json")
	return r
}

// answered is what a client got: the response, its body and how reading it
// ended.
type answered struct {
	*http.Response
	body []byte
	err  error // of sending or of reading
}

func (a ask) send(t *testing.T, c *http.Client, acc *Account) answered {
	t.Helper()
	resp, err := c.Do(a.request(t.Context(), acc.BaseURL()))
	if err != nil {
		return answered{err: err}
	}
	body, err := io.ReadAll(resp.Body)
	return answered{Response: resp, body: body, err: errors.Join(err, resp.Body.Close())}
}

// event is one event of a stream as a client parses it.
type event struct {
	name string
	data string
}

func parseEvents(t *testing.T, body []byte) []event {
	t.Helper()
	var out []event
	text := strings.ReplaceAll(string(body), "\r\n", "\n")
	for block := range strings.SplitSeq(text, "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "event":
				e.name = value
			case "data":
				e.data += value
			case "":
			default:
				t.Fatalf("unknown line %q", line)
			}
		}
		if e.data != "" {
			out = append(out, e)
		}
	}
	return out
}

// said collects text, reasoning and tool arguments from a stream the way the
// vendors' SDKs do.
func said(t *testing.T, d dialect.Dialect, events []event) (text, thinking, args string) {
	t.Helper()
	for _, e := range events {
		if e.data == "[DONE]" {
			continue
		}
		if !gjson.Valid(e.data) {
			t.Fatalf("event is no JSON: %s", e.data)
		}
		g := gjson.Parse(e.data)
		switch d {
		case dialect.Anthropic:
			text += g.Get("delta.text").Str
			thinking += g.Get("delta.thinking").Str
			args += g.Get("delta.partial_json").Str
		case dialect.Chat:
			text += g.Get("choices.0.delta.content").Str
			thinking += g.Get("choices.0.delta.reasoning_content").Str
			args += g.Get("choices.0.delta.tool_calls.0.function.arguments").Str
		case dialect.Responses:
			switch e.name {
			case "response.output_text.delta":
				text += g.Get("delta").Str
			case "response.reasoning_summary_text.delta":
				thinking += g.Get("delta").Str
			case "response.function_call_arguments.delta":
				args += g.Get("delta").Str
			}
		}
	}
	return text, thinking, args
}

// outline names the events of a stream, runs of the same one marked once.
func outline(d dialect.Dialect, events []event) string {
	var names []string
	for _, e := range events {
		n := e.name
		g := gjson.Parse(e.data)
		switch {
		case e.data == "[DONE]":
			n = "[DONE]"
		case d == dialect.Anthropic && n == "content_block_start":
			n += "(" + g.Get("content_block.type").Str + ")"
		case d == dialect.Anthropic && n == "content_block_delta":
			n = g.Get("delta.type").Str
		case d == dialect.Responses && strings.HasPrefix(n, "response.output_item."):
			n += "(" + g.Get("item.type").Str + ")"
		case d == dialect.Chat:
			n = chunkName(g)
		}
		n = strings.TrimPrefix(n, "response.")
		if len(names) == 0 || names[len(names)-1] != n {
			names = append(names, n)
		}
	}
	return strings.Join(names, " ")
}

func chunkName(g gjson.Result) string {
	if g.Get("error").Exists() {
		return "error"
	}
	c := g.Get("choices.0")
	switch {
	case !c.Exists():
		return "usage"
	case c.Get("finish_reason").Str != "":
		return "finish(" + c.Get("finish_reason").Str + ")"
	case c.Get("delta.role").Exists():
		return "role"
	case c.Get("delta.tool_calls").Exists():
		return "call"
	case c.Get("delta.reasoning_content").Exists():
		return "thinking"
	}
	return "content"
}
