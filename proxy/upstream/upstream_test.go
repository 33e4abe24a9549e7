package upstream

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRequestHeader(t *testing.T) {
	client := http.Header{
		"Authorization": {"Bearer sk-ant-oat01-client"}, "X-Api-Key": {"client-key"}, "Cookie": {"a=b"},
		"Anthropic-Beta": {"one,two"}, "Anthropic-Version": {"2026-10-21"}, "User-Agent": {"claude-cli/2"},
		"X-Claude-Code-Session-Id": {"s1"}, "X-Codex-Turn-State": {"t"}, "X-Stainless-Retry-Count": {"0"},
		"X-Session-Id": {"a"}, "X-Codex-Session-Id": {"b"}, "X-Omniroute-Session": {"c"}, "X-Breakwater-Key": {"k"},
		"X-Omniroute-Lease-Owner": {"vlo_x"}, "Accept-Encoding": {"gzip, br"}, "Connection": {"keep-alive, X-Secret-Hop"},
		"X-Secret-Hop": {"1"}, "Content-Encoding": {"zstd"}, "Sec-Fetch-Site": {"none"}, "X-Forwarded-For": {"1.2.3.4"}, "Origin": {"http://x"},
	}
	before := client.Clone()
	tests := []struct {
		name string
		call Call
		want map[string]string // "" means absent
	}{
		{"API key in its own header", Call{Dialect: dialect.Anthropic, Auth: catalog.XAPIKey, Credential: catalog.KeyCredential, Key: "ours"}, map[string]string{"X-Api-Key": "ours", "Authorization": ""}},
		{"API key as a Bearer", Call{Dialect: dialect.Chat, Auth: catalog.Bearer, Credential: catalog.KeyCredential, Key: "ours"}, map[string]string{"X-Api-Key": "", "Authorization": "Bearer ours"}},
		{"pasted OAuth token", Call{Dialect: dialect.Anthropic, Auth: catalog.Bearer, Credential: catalog.TokenCredential, Key: "tok"}, map[string]string{"Authorization": "Bearer tok", "Anthropic-Beta": "one,two," + dialect.OAuthBeta}},
		{"passthrough sends the client's own", Call{Dialect: dialect.Anthropic, Auth: catalog.Bearer, Credential: catalog.PassthroughCredential}, map[string]string{"Authorization": "Bearer sk-ant-oat01-client", "X-Api-Key": ""}},
		{"no credential", Call{Dialect: dialect.Chat, Auth: catalog.Bearer, Credential: catalog.NoCredential, Key: "x"}, map[string]string{"Authorization": "", "X-Api-Key": ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.call.Header, tt.call.Body = client, []byte("{}")
			got := requestHeader(tt.call)
			for name, want := range tt.want {
				if got.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, got.Get(name), want)
				}
			}
			for _, name := range []string{"Cookie", "X-Session-Id", "X-Codex-Session-Id", "X-Omniroute-Session", "X-Breakwater-Key", "X-Omniroute-Lease-Owner", "X-Secret-Hop", "Connection", "Content-Encoding", "Sec-Fetch-Site", "X-Forwarded-For", "Origin"} {
				if got.Get(name) != "" {
					t.Errorf("%s goes upstream", name)
				}
			}
			for _, name := range []string{"User-Agent", "X-Claude-Code-Session-Id", "X-Codex-Turn-State", "X-Stainless-Retry-Count", "Anthropic-Version"} {
				if got.Get(name) != before.Get(name) {
					t.Errorf("%s became %q", name, got.Get(name))
				}
			}
			if !strings.HasPrefix(got.Get("Anthropic-Beta"), "one,two") || got.Get("Accept-Encoding") != "identity" {
				t.Errorf("betas %q, encoding %q", got.Values("Anthropic-Beta"), got.Get("Accept-Encoding"))
			}
		})
	}
	if got := requestHeader(Call{Header: http.Header{"User-Agent": {"curl/8"}}, UserAgent: "Own/1"}); got.Get("User-Agent") != "Own/1" {
		t.Error("the connection's own user agent is not sent: ", got)
	}
	if got := requestHeader(Call{Dialect: dialect.Anthropic, Header: http.Header{}}); got.Get("Anthropic-Version") != "2023-06-01" {
		t.Errorf("a client without a version sends %q", got.Get("Anthropic-Version"))
	}
	for name, values := range before {
		if !slices.Equal(client[name], values) {
			t.Errorf("the client's own %s changed to %q", name, client[name])
		}
	}
}

func TestDoJoinsAddressAndBody(t *testing.T) {
	var got *http.Request
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	}))
	defer srv.Close()
	c := New(Options{})
	defer c.Close()
	res, err := c.Do(t.Context(), Call{
		Method: "POST", BaseURL: srv.URL + "/api/v4/", Path: "/messages", Query: "beta=true", Header: http.Header{}, Body: []byte(`{"a":1}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if got.URL.Path != "/api/v4/messages" || got.URL.RawQuery != "beta=true" || string(body) != `{"a":1}` || got.ContentLength != 7 {
		t.Errorf("upstream saw %s?%s, %q, length %d", got.URL.Path, got.URL.RawQuery, body, got.ContentLength)
	}
}

// compress writes plain bytes in an encoding.
func compress(t *testing.T, encoding, plain string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	case "zlib":
		w = zlib.NewWriter(&b)
	case "zlib stored":
		w, _ = zlib.NewWriterLevel(&b, zlib.NoCompression) // the level exists
	case "flate":
		w, _ = flate.NewWriter(&b, flate.DefaultCompression)
	case "flate stored":
		w, _ = flate.NewWriter(&b, flate.NoCompression)
	default:
		return []byte(plain)
	}
	if _, err := io.WriteString(w, plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecodeAll(t *testing.T) {
	plain := strings.Repeat("breakwater ", 1000)
	for _, enc := range []string{"gzip", "br", "zstd", "identity"} {
		t.Run(enc, func(t *testing.T) {
			raw := compress(t, enc, plain)
			if got, err := DecodeAll(enc, raw, int64(len(plain))); err != nil || string(got) != plain {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if _, err := DecodeAll(enc, raw, int64(len(plain))-1); !errors.Is(err, ErrTooLarge) {
				t.Errorf("case P37 one byte over the limit: %v", err)
			}
			if enc == "identity" {
				return
			}
			if _, err := DecodeAll(enc, raw[:len(raw)-4], int64(len(plain))); err == nil {
				t.Error("case P37 a torn body was taken")
			}
		})
	}
	t.Run("two encodings", func(t *testing.T) {
		raw := compress(t, "gzip", string(compress(t, "br", plain)))
		if got, err := DecodeAll("br, gzip", raw, int64(len(plain))); err != nil || string(got) != plain {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	t.Run("unknown", func(t *testing.T) {
		if _, err := DecodeAll("lzma", nil, 1); !errors.Is(err, ErrEncoding) {
			t.Error(err)
		}
	})
}

func FuzzDecodeAll(f *testing.F) {
	f.Add("gzip", []byte("\x1f\x8b\x08"))
	f.Add("zstd", []byte("\x28\xb5\x2f\xfd"))
	f.Add("br", []byte("\x0b\x02\x80"))
	f.Fuzz(func(t *testing.T, encoding string, raw []byte) {
		const limit = 1 << 20
		if out, err := DecodeAll(encoding, raw, limit); err == nil && len(out) > limit {
			t.Fatalf("%d bytes came out", len(out))
		}
	})
}

func TestCopyAnswerHeader(t *testing.T) {
	dst := http.Header{}
	CopyAnswerHeader(dst, http.Header{
		"Request-Id": {"req_1"}, "X-Codex-Turn-State": {"t"}, "Retry-After": {"3"}, "Set-Cookie": {"a=b"},
		"Transfer-Encoding": {"chunked"}, "Connection": {"close"}, "Access-Control-Allow-Origin": {"*"},
	})
	for _, name := range []string{"Request-Id", "X-Codex-Turn-State", "Retry-After"} {
		if dst.Get(name) == "" {
			t.Errorf("%s is lost", name)
		}
	}
	for _, name := range []string{"Set-Cookie", "Transfer-Encoding", "Connection", "Access-Control-Allow-Origin"} {
		if dst.Get(name) != "" {
			t.Errorf("%s reaches the client", name)
		}
	}
}
