package upstream

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

// answerOf is an answer without a Content-Encoding.
func answerOf(raw []byte, oneByte bool) *http.Response {
	var r io.Reader = bytes.NewReader(raw)
	if oneByte {
		r = iotest.OneByteReader(r)
	}
	return &http.Response{Header: http.Header{"Content-Length": {"7"}}, ContentLength: 7, Body: io.NopCloser(r)}
}

func TestBodiesThatDoNotNameTheirEncoding(t *testing.T) {
	plain := `{"choices":[` + strings.Repeat("1,", 50_000) + `1]}`
	for _, tt := range []struct {
		name, raw, want string
		decoded         bool
	}{
		{"gzip", string(compress(t, "gzip", plain)), plain, true},
		{"zstd", string(compress(t, "zstd", plain)), plain, true},
		{"plain", plain, plain, false},
		{"an event stream", "data: x\n\n", "data: x\n\n", false},
		{"empty", "", "", false},
		{"one byte of gzip", "\x1f", "\x1f", false},
		{"a bracket as in zstd", "(\xb5", "(\xb5", false},
		{"almost zstd", "\x28\xb5\x2f\xfe and more", "\x28\xb5\x2f\xfe and more", false},
	} {
		for _, oneByte := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				res := answerOf([]byte(tt.raw), oneByte)
				if err := decode(res); err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				if err != nil || string(got) != tt.want {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
				if _, kept := res.Header["Content-Length"]; kept == tt.decoded {
					t.Errorf("the length is kept: %v", kept)
				}
				if err := res.Body.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	t.Run("torn gzip", func(t *testing.T) {
		res := answerOf(compress(t, "gzip", plain)[:40], false)
		defer res.Body.Close()
		if err := decode(res); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(res.Body); err == nil {
			t.Error("a torn body reads without an error")
		}
	})
}
