package simulator

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"breakwater/proxy/dialect"
	"breakwater/resilience/clock"
)

func TestStatusesCarryTheDialectsErrorBody(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	tests := []struct {
		status       int
		anthropic    string
		openAI, code string
	}{
		{status: 400, anthropic: "invalid_request_error", openAI: "invalid_request_error"},
		{status: 401, anthropic: "authentication_error", openAI: "invalid_request_error", code: "invalid_api_key"},
		{status: 402, anthropic: "billing_error", openAI: "insufficient_quota", code: "insufficient_quota"},
		{status: 403, anthropic: "permission_error", openAI: "invalid_request_error", code: "forbidden"},
		{status: 404, anthropic: "not_found_error", openAI: "invalid_request_error", code: "model_not_found"},
		{status: 413, anthropic: "request_too_large", openAI: "invalid_request_error", code: "request_too_large"},
		{status: 418, anthropic: "invalid_request_error", openAI: "invalid_request_error"},
		{status: 429, anthropic: "rate_limit_error", openAI: "requests", code: "rate_limit_exceeded"},
		{status: 500, anthropic: "api_error", openAI: "server_error", code: "server_error"},
		{status: 524, anthropic: "api_error", openAI: "server_error", code: "server_error"},
		{status: 529, anthropic: "overloaded_error", openAI: "server_error", code: "server_is_overloaded"},
	}
	for _, tt := range tests {
		for _, d := range spoken {
			t.Run(strconv.Itoa(tt.status)+" "+string(d.Traits().Name), func(t *testing.T) {
				alpha.Script(Status(tt.status).WithError(Error{Message: "said so"}))
				got := ask{dialect: d, stream: true}.send(t, c, alpha)
				if got.StatusCode != tt.status || got.Header.Get("Content-Type") != "application/json" {
					t.Fatalf("%d %v", got.StatusCode, got.Header)
				}
				typ := tt.openAI
				if d == dialect.Anthropic {
					typ = tt.anthropic
					if gjson.GetBytes(got.body, "request_id").Str != got.Header.Get("Request-Id") {
						t.Errorf("request ids differ: %s", got.body)
					}
				} else if code := gjson.GetBytes(got.body, "error.code").Str; code != tt.code {
					t.Errorf("code %q", code)
				}
				if e := gjson.GetBytes(got.body, "error"); e.Get("type").Str != typ || e.Get("message").Str != "said so" {
					t.Errorf("error %s", e.Raw)
				}
			})
		}
	}
}

func TestHeadersOfAStep(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s, c := start(t, Options{Clock: clock.NewFake(now)})
	alpha := s.Account("alpha")
	const unified = "Anthropic-Ratelimit-Unified-"
	tests := []struct {
		name string
		step Step
		want map[string]string
	}{
		{"seconds are rounded up", Status(429).WithRetryAfter(1500 * time.Millisecond), map[string]string{"Retry-After": "2"}},
		{"zero", Status(429).WithRetryAfter(0), map[string]string{"Retry-After": "0"}},
		{"date", Status(503).WithRetryAfterDate(time.Minute), map[string]string{"Retry-After": "Wed, 02 Jan 2030 03:05:05 GMT"}},
		{"milliseconds", Status(429).WithRetryAfterMs(250), map[string]string{"Retry-After-Ms": "250", "Retry-After": ""}},
		{"none", Status(429), map[string]string{"Retry-After": ""}},
		{
			"unified five hours", Status(429).WithUnified(UnifiedLimit{Status: "rejected", ResetIn: Duration(time.Hour)}),
			map[string]string{
				unified + "Status": "rejected", unified + "Reset": "1893557045", unified + "5h-Status": "rejected",
				unified + "5h-Reset": "1893557045", unified + "5h-Utilization": "1.0", unified + "7d-Status": "allowed",
				unified + "Representative-Claim": "five_hour", unified + "Overage-Disabled-Reason": "org_level_disabled",
			},
		},
		{
			"unified seven days on an answer", OK().WithUnified(UnifiedLimit{Status: "allowed_warning", Claim: "seven_day", ResetIn: Duration(time.Hour)}),
			map[string]string{unified + "7d-Status": "allowed_warning", unified + "5h-Status": "allowed", unified + "Representative-Claim": "seven_day"},
		},
		{
			"own", OK().WithHeader("x-should-retry", "false").WithHeader("request-id", ""),
			map[string]string{"X-Should-Retry": "false", "Request-Id": ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			alpha.Script(tt.step)
			got := ask{dialect: dialect.Anthropic}.send(t, c, alpha)
			for k, want := range tt.want {
				if v := got.Header.Get(k); v != want {
					t.Errorf("%s: %q, want %q", k, v, want)
				}
			}
		})
	}
}

func TestWholeBodies(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	tests := []struct {
		name   string
		step   Step
		status int
		ctype  string
		body   string
	}{
		{"empty", Empty(), 200, "text/event-stream; charset=utf-8", ""},
		{"html", HTML(), 200, "text/html; charset=utf-8", "<!doctype html>"},
		{"html error", Status(502).WithBody("text/html", "<h1>x</h1>"), 502, "text/html", "<h1>x</h1>"},
		{"case P28 blanks", Raw("application/json", "   "), 200, "application/json", "   "},
		{"case P23 torn letters", Raw("text/event-stream", "data: {\"t\":\"caf\xc3", "\xa9 \xf0\x9f", "\x99\x82\"}\n\n"), 200, "text/event-stream", "data: {\"t\":\"café 🙂\"}\n\n"},
		{"case P24 torn line ends", Raw("", "event: a\r\ndata:{\"x\":1}\r", "\n\r", "\ndata: {\"x\":2}\r\r"), 200, "text/event-stream; charset=utf-8", "event: a\r\ndata:{\"x\":1}\r\n\r\ndata: {\"x\":2}\r\r"},
		{"not bytes of text", Raw("application/octet-stream", "\x00\xff\xfe", "\x80"), 200, "application/octet-stream", "\x00\xff\xfe\x80"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			alpha.Script(tt.step)
			got := ask{dialect: dialect.Chat, stream: true}.send(t, c, alpha)
			if got.err != nil || got.StatusCode != tt.status || got.Header.Get("Content-Type") != tt.ctype {
				t.Fatalf("%v %v %v", got.err, got.StatusCode, got.Header)
			}
			if b := string(got.body); b != tt.body && (tt.name != "html" || !strings.HasPrefix(b, tt.body)) {
				t.Errorf("body %q", b)
			}
		})
	}
}

func TestFramingAndChunksDoNotChangeTheEvents(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	steps := map[string]Step{
		"one byte per write": OK().InChunks(1),
		"uneven":             OK().InChunks(7, 1, 64),
		"all at once":        OK().InChunks(1 << 20),
		"CRLF":               OK().CRLF(),
		"CRLF byte by byte":  OK().CRLF().InChunks(1),
		"no space":           {Kind: KindText, NoSpace: true},
	}
	for _, d := range spoken {
		for name, st := range steps {
			t.Run(string(d.Traits().Name)+" "+name, func(t *testing.T) {
				alpha.Script(st)
				got := ask{dialect: d, stream: true}.send(t, c, alpha)
				if text, _, _ := said(t, d, parseEvents(t, got.body)); text != hello {
					t.Errorf("said %q in %q", text, got.body)
				}
				if crlf := bytes.Contains(got.body, []byte("\r\n")); crlf != (st.Newline == "\r\n") {
					t.Errorf("CRLF %v in %q", crlf, got.body)
				}
				if st.NoSpace && bytes.Contains(got.body, []byte("data: ")) {
					t.Errorf("spaces in %q", got.body)
				}
			})
		}
	}
}

// writes counts the writes of a response.
type writes struct {
	header http.Header
	sizes  []int
	all    []byte
}

func (w *writes) Header() http.Header { return w.header }
func (w *writes) WriteHeader(int)     {}
func (w *writes) Flush()              {}
func (w *writes) Write(b []byte) (int, error) {
	w.sizes, w.all = append(w.sizes, len(b)), append(w.all, b...)
	return len(b), nil
}

// However raw bytes are cut, they arrive as they were given.
func TestRawBytesAreExact(t *testing.T) {
	s := New(Options{})
	rapid.Check(t, func(rt *rapid.T) {
		piece := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
		pieces := rapid.SliceOfN(piece, 0, 6).Draw(rt, "pieces")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 0, 4).Draw(rt, "sizes")
		s.Account("alpha").Script(Raw("text/event-stream", pieces...).InChunks(sizes...))
		w := &writes{header: http.Header{}}
		s.ServeHTTP(w, ask{dialect: dialect.Anthropic, stream: true}.request(t.Context(), accountPath("alpha")))
		if want := strings.Join(pieces, ""); string(w.all) != want {
			rt.Fatalf("sent %q, want %q", w.all, want)
		}
		if len(sizes) == 0 {
			if len(w.sizes) != len(pieces) {
				rt.Fatalf("%d writes for %d pieces", len(w.sizes), len(pieces))
			}
			return
		}
		for i, n := range w.sizes[:max(len(w.sizes)-1, 0)] {
			if n != sizes[i%len(sizes)] {
				rt.Fatalf("writes of %v, want %v in turn", w.sizes, sizes)
			}
		}
	})
}

func decode(t *testing.T, encoding string, b []byte) []byte {
	t.Helper()
	var r io.Reader
	var err error
	switch encoding {
	case "":
		return b
	case "gzip":
		r, err = gzip.NewReader(bytes.NewReader(b))
	case "br":
		r = brotli.NewReader(bytes.NewReader(b))
	case "zstd":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1)); err == nil {
			defer z.Close()
			r = z
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", encoding, err)
	}
	return out
}

func TestEncodings(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	tests := []struct {
		enc    Encoding
		accept string
		want   string
	}{
		{Gzip, "", "gzip"},
		{Brotli, "", "br"},
		{Zstd, "", "zstd"},
		{AsAccepted, "", ""},
		{AsAccepted, "gzip, deflate", "gzip"},
		{AsAccepted, "gzip, br;q=1", "br"},
		{AsAccepted, "gzip, deflate, br, zstd", "zstd"},
		{AsAccepted, "identity", ""},
	}
	for _, tt := range tests {
		for _, stream := range []bool{false, true} {
			for _, chunks := range [][]int{nil, {3}} {
				a := ask{dialect: dialect.Anthropic, stream: stream, header: http.Header{"Accept-Encoding": {tt.accept}}}
				alpha.Script(OK().Encoded(tt.enc).InChunks(chunks...))
				got := a.send(t, c, alpha)
				if e := got.Header.Get("Content-Encoding"); e != tt.want || got.err != nil {
					t.Fatalf("%v for %q: encoding %q, %v", tt.enc, tt.accept, e, got.err)
				}
				// Case P36: header and body agree.
				if n := got.ContentLength; !stream && n != int64(len(got.body)) {
					t.Errorf("content length %d for %d bytes", n, len(got.body))
				}
				plain := decode(t, tt.want, got.body)
				if !bytes.Contains(plain, []byte("alpha.")) {
					t.Errorf("%v: %q", tt, plain)
				}
			}
		}
	}
}

// Case P35: a compressed stream can be read as it comes.
func TestCompressedEventsAreFlushed(t *testing.T) {
	s, c := start(t, Options{})
	alpha := s.Account("alpha")
	for _, enc := range []Encoding{Gzip, Brotli, Zstd} {
		until := make(chan struct{})
		alpha.Script(Raw("text/event-stream", "data: 1\n\n", "data: 2\n\n").HoldAfter(1, until).Encoded(enc))
		resp, err := c.Do(ask{dialect: dialect.Chat, stream: true}.request(t.Context(), alpha.BaseURL()))
		if err != nil {
			t.Fatal(err)
		}
		var r io.Reader
		switch enc {
		case Gzip:
			r, err = gzip.NewReader(resp.Body)
		case Brotli:
			r = brotli.NewReader(resp.Body)
		default:
			r, err = zstd.NewReader(resp.Body, zstd.WithDecoderConcurrency(1))
		}
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 9)
		if _, err := io.ReadFull(r, first); err != nil || string(first) != "data: 1\n\n" {
			t.Errorf("%s: first %q, %v", enc, first, err)
		}
		close(until)
		if rest, err := io.ReadAll(r); err != nil || string(rest) != "data: 2\n\n" {
			t.Errorf("%s: rest %q, %v", enc, rest, err)
		}
		_ = resp.Body.Close()
	}
}

func TestValidateNamesWhatIsWrong(t *testing.T) {
	tests := map[string]Step{
		"unknown kind":       {Kind: "nonsense"},
		"unknown encoding":   OK().Encoded("lzma"),
		"status 0":           Status(0),
		"status 1000":        {Kind: KindText, Status: 1000},
		"no JSON":            CallTool("x", "{"),
		"unknown break":      {Kind: KindText, Break: &Break{Kind: "bang"}},
		"unknown keep-alive": OK().KeepAliveAt(0, "hum", time.Second, 1),
		"needs a pause":      OK().KeepAliveAt(0, "ping", 0, Forever),
		"at least one byte":  OK().InChunks(0),
		`dialect "gemini"`:   {Kind: KindText, When: &When{Dialect: "gemini"}},
		`dialect "Chat"`:     {Kind: KindText, When: &When{Dialect: "Chat"}},
	}
	for want, st := range tests {
		if err := st.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := Reset().Paced(1).InChunks(1).Encoded(Gzip).Validate(); err != nil {
		t.Error(err)
	}
}

// A server is only asked for codings that it has.
func TestEncodingsWithoutEncoderAreRefused(t *testing.T) {
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, `no encoder for "br"`) {
			t.Errorf("the script was not refused: %q", got)
		}
	}()
	New(Options{}).Account("alpha").Script(OK().Encoded(Gzip), OK().Encoded(AsAccepted), OK().Encoded(Brotli))
}
