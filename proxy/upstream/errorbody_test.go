package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
)

// part is what an upstream sends of a body, and how long it waits before.
type part struct {
	after time.Duration
	text  string
}

// slowly sends the parts and then ends the body, or never where it stalls.
func slowly(ctx context.Context, parts []part, stalls bool) *io.PipeReader {
	r, w := io.Pipe()
	go func() {
		for _, p := range parts {
			select {
			case <-time.After(p.after):
			case <-ctx.Done():
				return
			}
			if _, err := io.WriteString(w, p.text); err != nil {
				return
			}
		}
		if !stalls {
			_ = w.Close()
		}
	}()
	return r
}

// drip is the text, one byte each time the pause is over.
func drip(text string, pause time.Duration) (parts []part) {
	for _, b := range []byte(text) {
		parts = append(parts, part{pause, string(b)})
	}
	return parts
}

func TestErrorBodyIsBounded(t *testing.T) {
	long := strings.Repeat("x", MaxErrorBody)
	zipped := string(compress(t, "gzip", `{"error":"busy"}`))
	for _, tt := range []struct {
		name, encoding string
		parts          []part
		stalls         bool
		want           string
		took           time.Duration
	}{
		{"whole at once", "", []part{{0, "busy"}}, false, "busy", 0},
		{"empty", "", nil, false, "", 0},
		{"nothing ever comes", "", nil, true, "", errorSilence},
		{"silence after a part", "", []part{{0, `{"error":`}}, true, `{"error":`, errorSilence},
		{"parts within the silence", "", []part{{1900 * time.Millisecond, "a"}, {1900 * time.Millisecond, "b"}}, false, "ab", 3800 * time.Millisecond},
		{"silence after parts", "", []part{{1900 * time.Millisecond, "a"}, {0, "b"}}, true, "ab", 3900 * time.Millisecond},
		{"the part that comes too late", "", []part{{0, "a"}, {2100 * time.Millisecond, "b"}}, false, "a", errorSilence},
		{"a drip without end", "", drip("abcdefgh", time.Second+time.Millisecond), true, "abcd", errorTotal},
		{"exactly as long as is read", "", []part{{0, long}}, true, long, 0},
		{"longer than is read", "", []part{{0, long + "y"}}, true, long, 0},
		{"compressed and whole", "gzip", []part{{0, zipped}}, false, `{"error":"busy"}`, 0},
		{"compressed and silent within its head", "gzip", []part{{0, zipped[:5]}}, true, "", errorSilence},
		{"compressed though nothing says so, and silent", "", []part{{0, zipped[:3]}}, true, "", errorSilence},
		{"compressed with zstd and silent", "zstd", []part{{0, "\x28\xb5\x2f\xfd"}}, true, "", errorSilence},
		{"an encoding nobody can read", "rot13", []part{{0, "ohfl"}}, true, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				res := &http.Response{StatusCode: 503, Header: http.Header{}, Body: slowly(t.Context(), tt.parts, tt.stalls)}
				if tt.encoding != "" {
					res.Header.Set("Content-Encoding", tt.encoding)
				}
				if err := decode(res); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if got := string(ErrorBody(res)); got != tt.want {
					t.Errorf("got %d bytes, %.40q; want %d", len(got), got, len(tt.want))
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				if got := string(ErrorBody(res)); got != tt.want || time.Since(began) != tt.took {
					t.Errorf("the second time: %.40q after %v", got, time.Since(began))
				}
			})
		})
	}
}

// A body that stalls is given up together with its connection, one that came in
// full leaves it to the next call.
func TestErrorBodyAndItsConnection(t *testing.T) {
	ended, stall := make(chan struct{}, 1), make(chan bool, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "busy") // the client is ours
		if <-stall {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			ended <- struct{}{}
		}
	}))
	defer srv.Close()
	dials := 0
	c := New(Options{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	defer c.Close()
	for i, stalls := range []bool{false, false, true, false} {
		stall <- stalls
		res, err := c.Do(t.Context(), Call{Method: http.MethodGet, BaseURL: srv.URL, Path: "/x", Credential: catalog.NoCredential})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(ErrorBody(res)); got != "busy" {
			t.Errorf("call %d: %q", i, got)
		}
		if stalls {
			<-ended
		}
	}
	if dials != 2 {
		t.Errorf("%d connections were opened, want 2", dials)
	}
}

func TestStatusesThatHTTPDoesNotHave(t *testing.T) {
	for _, tt := range []struct {
		line string
		want int // 0: no answer
	}{
		{"200 OK", 200}, {"299 Odd", 299}, {"304 Not Modified", 304}, {"499 Closed", 499}, {"599 Last", 599},
		{"000 Nothing", 0}, {"001 One", 0}, {"099 Almost", 0}, {"101 Switching Protocols", 0}, {"101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade", 0},
		{"600 More", 0}, {"999 Most", 0}, {"-1 Less", 0}, {"-10 Less", 0}, {"2000 Long", 0}, {"20 Short", 0}, {"2x0 Odd", 0}, {"", 0},
		{strings.Repeat("100 Continue\r\n\r\nHTTP/1.1 ", 3) + "200 OK", 200},
		{strings.Repeat("103 Early Hints\r\n\r\nHTTP/1.1 ", 20_000) + "200 OK", 0}, // more than all headers may be
		{strings.Repeat("199 Odd\r\n\r\nHTTP/1.1 ", 2) + "503 Busy", 503},
	} {
		t.Run(tt.line[:min(len(tt.line), 30)], func(t *testing.T) {
			c := New(Options{Dial: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go func() {
					_, _ = theirs.Read(make([]byte, 4<<10)) // the request, which is not looked at
					_, _ = io.WriteString(theirs, "HTTP/1.1 "+tt.line+"\r\nContent-Length: 2\r\n\r\n{}")
					_, _ = io.Copy(io.Discard, theirs) // until it is closed
					_ = theirs.Close()
				}()
				return ours, nil
			}})
			defer c.Close()
			res, err := c.Do(t.Context(), Call{Method: http.MethodPost, Dialect: dialect.Chat, BaseURL: "http://127.0.0.1:9", Path: "/x", Body: []byte("{}"), Credential: catalog.NoCredential})
			switch {
			case tt.want == 0 && err == nil:
				t.Errorf("the status %d is an answer", res.StatusCode)
				_ = res.Body.Close()
			case tt.want != 0 && err != nil:
				t.Error(err)
			case tt.want != 0:
				if res.StatusCode != tt.want {
					t.Errorf("status %d, want %d", res.StatusCode, tt.want)
				}
				_ = res.Body.Close()
			}
		})
	}
}

func TestDeflateInBothForms(t *testing.T) {
	plain := `{"text":"` + strings.Repeat("caf\u00e9 ", 5000) + `"}`
	for _, form := range []string{"zlib", "flate", "zlib stored", "flate stored"} {
		for _, text := range []string{plain, "{}", "", strings.Repeat("x", 0x1d78)} {
			raw := compress(t, form, text)
			got, err := DecodeAll("deflate", raw, 1<<20)
			if err != nil || string(got) != text {
				t.Errorf("%s of %d bytes: %d bytes, %v", form, len(text), len(got), err)
			}
			if got, err := DecodeAll("deflate, gzip", compress(t, "gzip", string(raw)), 1<<20); err != nil || string(got) != text {
				t.Errorf("%s within gzip: %d bytes, %v", form, len(got), err)
			}
			if _, err := DecodeAll("deflate", raw[:len(raw)-1], 1<<20); err == nil {
				t.Errorf("%s without its last byte passes for whole", form)
			}
		}
		if _, err := DecodeAll("deflate", compress(t, form, plain), 100); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s passes its limit: %v", form, err)
		}
	}
	// A bare stored block whose head looks like a zlib envelope.
	odd := append([]byte{0x78, 0x01, 0x00, 0xfe, 0xff, 'A'}, 0x01, 0x00, 0x00, 0xff, 0xff)
	if got, err := DecodeAll("deflate", odd, 10); err != nil || string(got) != "A" {
		t.Errorf("a stored block: %q, %v", got, err)
	}
}

func FuzzDeflate(f *testing.F) {
	f.Add([]byte("x\x9c"))
	f.Add([]byte{0x78, 0x01, 0x00, 0xfe, 0xff, 'A'})
	f.Add([]byte{3, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := DecodeAll("deflate", raw, 1<<16)
		if err == nil && len(got) > 1<<16 {
			t.Error("more than the limit")
		}
		for _, form := range []string{"zlib", "flate"} {
			back, err := DecodeAll("deflate", compress(t, form, string(raw)), 1<<20)
			if err != nil || !bytes.Equal(back, raw) {
				t.Errorf("%s: %q became %q, %v", form, raw, back, err)
			}
		}
	})
}
