package upstream

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"breakwater/proxy/control"
)

// A transport lives as long as a connection names its proxy; all calls by one
// proxy share it.
func TestTransportsOfProxies(t *testing.T) {
	c := New(Options{})
	defer c.Close()
	one, two := "http://one.example", "socks5://me:word@two.example"
	get := func(proxy string) *http.Transport {
		t.Helper()
		got, err := c.through(proxy)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	usual, first, second, direct := get(""), get(one), get(two), get(control.DirectProxy)
	if usual == first || first == second || direct == usual || get(one) != first || get(two) != second || get("") != usual {
		t.Error("ways are shared or made anew")
	}
	c.Keep([]string{one, control.DirectProxy})
	if get(one) != first || get(control.DirectProxy) != direct || get("") != usual {
		t.Error("a way in use was dropped")
	}
	if n := len(c.ways.Load().own); n != 2 {
		t.Errorf("%d ways are kept", n)
	}
	if get(two) == second {
		t.Error("a way that nobody names was kept")
	}
	c.Keep(nil)
	if n := len(c.ways.Load().own); n != 0 {
		t.Errorf("%d ways are kept", n)
	}
	for _, bad := range []string{"http://me:word@%zz", "proxy", "http://"} {
		if _, err := c.through(bad); err == nil || strings.Contains(err.Error(), "word") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Calls, changes of the roots and of the proxies may happen at once.
func TestWaysChangeUnderLoad(t *testing.T) {
	var seen atomic.Int32
	outbound := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		seen.Add(1)
		_, _ = w.Write([]byte("by proxy"))
	}))
	defer outbound.Close()
	c := New(Options{Proxy: func(*http.Request) (*url.URL, error) { t.Error("the environment was asked"); return nil, nil }})
	defer c.Close()
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			for range 50 {
				if got, err := askBy(t.Context(), c, "http://api.example.invalid", outbound.URL); got != "by proxy" || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
	for range 50 {
		c.Keep(nil)
		c.trust(nil)
	}
	done.Wait()
	if seen.Load() != 200 {
		t.Errorf("the proxy saw %d calls", seen.Load())
	}
}

func askBy(ctx context.Context, c *Client, base, proxy string) (string, error) {
	res, err := c.Do(ctx, Call{Method: http.MethodPost, BaseURL: base, Path: "/x", Header: http.Header{}, Body: []byte(`{}`), Proxy: proxy})
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	return string(raw), err
}

func BenchmarkThrough(b *testing.B) {
	c := New(Options{})
	for _, proxy := range []string{"", "socks5://me:word@two.example"} {
		b.Run(proxy, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.through(proxy); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
