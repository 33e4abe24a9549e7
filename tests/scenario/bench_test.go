package scenario

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// BenchmarkProxy compares the product with a bare reverse proxy that reads the
// request body first, in one run: upstream and client cost the same in both,
// so the ratio is that of what each adds to a direct call.
//
//	go test ./tests/scenario -run XXX -bench Proxy
func BenchmarkProxy(b *testing.B) {
	upstream := httptest.NewServer(http.HandlerFunc(answer))
	defer upstream.Close()
	bare := httptest.NewServer(bareProxy(b, upstream.URL))
	defer bare.Close()
	k := Start(b)
	k.Add("alpha", "demo", func(in *control.ConnectionInput) { in.BaseURL = upstream.URL + "/v1" })
	small := NoStream(Messages)
	large := strings.Replace(small, `"hi"`, `"`+strings.Repeat("word ", 40_000)+`"`, 1)
	for _, load := range []struct{ name, body string }{{"json", small}, {"sse", Messages}, {"json200k", large}} {
		b.Run(load.name, func(b *testing.B) {
			direct, ref, ours := measure(b, load.body, upstream.URL, bare.URL, k.URL)
			b.ReportMetric(float64(ours-direct)/float64(ref-direct), "ratio")
			b.ReportMetric(float64((ref-direct)/time.Microsecond), "bare-µs")
			b.ReportMetric(float64((ours-direct)/time.Microsecond), "ours-µs")
		})
	}
}

// measure returns the time of one request to each of three addresses, asked in
// turn, so that a change in the machine's load meets all of them.
func measure(b *testing.B, body string, direct, ref, ours string) (d, r, o time.Duration) {
	b.Helper()
	buf := make([]byte, 32<<10)
	one := func(base string) time.Duration {
		began := time.Now()
		res, err := http.Post(base+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.CopyBuffer(io.Discard, res.Body, buf); err != nil || res.StatusCode != 200 {
			b.Fatal(res.Status, err)
		}
		_ = res.Body.Close()
		return time.Since(began)
	}
	for range 20 {
		one(direct)
		one(ref)
		one(ours)
	}
	for range b.N {
		d += one(direct)
		r += one(ref)
		o += one(ours)
	}
	n := time.Duration(b.N)
	return d / n, r / n, o / n
}

// answer is a quick upstream: a JSON document, or a stream of 32 deltas.
func answer(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	if !bytes.Contains(raw, []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn"}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	_, _ = io.WriteString(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n")
	for range 32 {
		_, _ = io.WriteString(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello \"}}\n\n")
		_ = flush.Flush()
	}
	_, _ = io.WriteString(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
}

// bareProxy is what a gateway with retries cannot do without: the standard
// library's reverse proxy with the request body read first.
func bareProxy(b *testing.B, to string) http.Handler {
	u, err := url.Parse(to)
	if err != nil {
		b.Fatal(err)
	}
	rp := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
		rp.ServeHTTP(w, r)
	})
}
