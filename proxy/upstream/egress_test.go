package upstream

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func TestWayTo(t *testing.T) {
	for _, tt := range []struct {
		name, proxy, own, base string
		want                   Way
	}{
		{"this machine", "http://proxy.example:3128", "", "http://127.0.0.1:8080/v1", Way{Local: true}},
		{"by proxy", "http://proxy.example:3128", "", "https://api.example/v1", Way{Proxy: "proxy.example:3128"}},
		{"credentials are left out", "http://me:word@proxy.example:3128", "", "https://api.example/v1", Way{Proxy: "proxy.example:3128"}},
		{"usual port", "http://proxy.example", "", "https://api.example/v1", Way{Proxy: "proxy.example:80"}},
		{"usual port of TLS", "https://proxy.example", "", "https://api.example/v1", Way{Proxy: "proxy.example:443"}},
		{"usual port of SOCKS", "socks5://[2001:db8::1]", "", "https://api.example/v1", Way{Proxy: "[2001:db8::1]:1080"}},
		{"a proxy of its own", "http://proxy.example:3128", "socks5://me:word@own.example", "https://api.example/v1", Way{Proxy: "own.example:1080"}},
		{"none of its own", "http://proxy.example:3128", "direct", "https://api.example/v1", Way{}},
		{"this machine by a proxy of its own", "", "http://own.example", "http://[::1]:8080/v1", Way{Local: true}},
		{"straight", "", "", "https://api.example/v1", Way{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := New(Options{Proxy: func(*http.Request) (*url.URL, error) {
				if tt.proxy == "" {
					return nil, nil
				}
				return url.Parse(tt.proxy)
			}})
			defer c.Close()
			if got, err := c.WayTo(tt.base, tt.own); got != tt.want || err != nil {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestPublicAddress(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		answer string
		want   string // empty: an error
	}{
		{"text", 200, "192.0.2.7\n", "192.0.2.7"},
		{"JSON", 200, `{"ip": "2001:db8::7", "cc": "XX"}`, "2001:db8::7"},
		{"IPv4 in IPv6", 200, "::ffff:192.0.2.7", "192.0.2.7"},
		{"a page", 200, "<html>192.0.2.7</html>", ""},
		{"a name", 200, "host.example", ""},
		{"nothing", 200, "", ""},
		{"a zone", 200, "fe80::1%eth0", ""},
		{"an error", 503, "192.0.2.7", ""},
		{"a redirect", 302, "192.0.2.7", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.answer))
			}))
			defer srv.Close()
			c := New(Options{Proxy: func(*http.Request) (*url.URL, error) { t.Error("a proxy was asked for"); return nil, nil }})
			defer c.Close()
			got, err := c.PublicAddress(t.Context(), srv.URL)
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
