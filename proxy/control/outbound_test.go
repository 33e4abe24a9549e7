package control

import (
	"errors"
	"strings"
	"testing"

	"breakwater/proxy/catalog"
)

func TestReadProxy(t *testing.T) {
	long := strings.Repeat("x", 256)
	tests := []struct {
		name, given   string
		address, full string // empty address: refused, unless given is empty
	}{
		{"nothing", "  ", "", ""},
		{"direct", " Direct ", "direct", "direct"},
		{"http", "http://Proxy.Example:3128/", "http://proxy.example:3128", "http://proxy.example:3128"},
		{"https without a port", "https://proxy.example", "https://proxy.example", "https://proxy.example"},
		{"SOCKS", "socks5://[2001:DB8::1]:1080", "socks5://[2001:db8::1]:1080", "socks5://[2001:db8::1]:1080"},
		{"SOCKS that looks names up", "socks5h://proxy.example", "socks5h://proxy.example", "socks5h://proxy.example"},
		{"a login", "http://me:wo%40rd@proxy.example:3128", "http://proxy.example:3128", "http://me:wo%40rd@proxy.example:3128"},
		{"a user alone", "http://me@proxy.example", "http://proxy.example", "http://me@proxy.example"},
		{"an empty login", "http://@proxy.example", "http://proxy.example", "http://proxy.example"},
		{"another scheme", "ftp://proxy.example", "", ""},
		{"no scheme", "proxy.example:3128", "", ""},
		{"no host", "http://:3128", "", ""},
		{"a port that is none", "http://proxy.example:99999", "", ""},
		{"a path", "http://proxy.example/way", "", ""},
		{"a query", "http://proxy.example?secret", "", ""},
		{"a slash in the password", "http://me:12/34secret@proxy.example", "", ""},
		{"a hash in the password", "http://me:12#34secret@proxy.example", "", ""},
		{"a percent sign in the password", "http://me:secret%zz@proxy.example", "", ""},
		{"a long password", "http://me:secret" + long + "@proxy.example", "", ""},
		{"a long address", "http://proxy.example/" + strings.Repeat("secret", 500), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readProxy(tt.given)
			refused := tt.address == "" && strings.TrimSpace(tt.given) != ""
			if (err != nil) != refused || !refused && (got.address != tt.address || got.full() != tt.full) {
				t.Errorf("got %q, %q, %v", got.address, got.full(), err)
			}
			if inv, ok := errors.AsType[*InvalidError](err); refused && (!ok || inv.Fields[0].Field != "proxyUrl" || strings.Contains(err.Error(), "secret")) {
				t.Errorf("the refusal is %v", err)
			}
		})
	}
}

// Whatever is given: what is stored holds no login, and reading it again
// changes nothing.
func FuzzReadProxy(f *testing.F) {
	for _, s := range []string{"", "direct", "http://a:b@h:1", "socks5://[::1]", "http://%40@h", "https://h/", "http://a:b@c:d@h", "http://@h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p, err := readProxy(raw)
		if err != nil {
			return
		}
		if strings.Contains(p.address, "@") {
			t.Fatalf("%q is stored as %q", raw, p.address)
		}
		again, err := readProxy(p.full())
		if err != nil || again.address != p.address || again.full() != p.full() {
			t.Fatalf("%q is read as %q, then as %q, %v", raw, p.full(), again.full(), err)
		}
	})
}

func TestProxyAfterAnEdit(t *testing.T) {
	const stored = "http://me:word@proxy.example:3128"
	tests := []struct {
		name, given string
		want        string
		fresh       bool
	}{
		{"the same address without the login", "http://proxy.example:3128", stored, true},
		{"another login", "http://me:other@proxy.example:3128", "http://me:other@proxy.example:3128", true},
		{"no login any more", "http://@proxy.example:3128", "http://proxy.example:3128", true},
		{"another port", "http://proxy.example:3129", "http://proxy.example:3129", true},
		{"another scheme", "socks5://proxy.example:3128", "socks5://proxy.example:3128", true},
		{"another host", "http://proxy.example.org:3128", "http://proxy.example.org:3128", true},
		{"none", "direct", "direct", true},
		{"as the environment says", "", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, fresh, err := (&Route{proxy: stored}).proxyAfter(&tt.given)
			if err != nil || got.full() != tt.want || fresh != tt.fresh {
				t.Errorf("got %q, %v, %v", got.full(), fresh, err)
			}
		})
	}
	if got, fresh, err := (&Route{proxy: stored}).proxyAfter(nil); err != nil || fresh || got.full() != stored {
		t.Errorf("without a change %q, %v, %v", got.full(), fresh, err)
	}
	if _, fresh, err := (&Route{proxy: "direct"}).proxyAfter(new("http://proxy.example")); err != nil || fresh {
		t.Errorf("no login before or after: %v, %v", fresh, err)
	}
}

// A key never goes in the clear through a proxy that lies elsewhere, and this
// very proxy is no way out.
func TestProxyFitsTheConnection(t *testing.T) {
	p, _ := catalog.Lookup("custom")
	s := &Service{cfg: Config{Endpoint: "http://127.0.0.1:7411"}}
	for _, tt := range []struct {
		name, base, proxy string
		ok                bool
	}{
		{"TLS through any proxy", "https://llm.example/v1", "http://proxy.example:3128", true},
		{"plain http through a near proxy", "http://10.0.0.7/v1", "http://10.0.0.1:3128", true},
		{"plain http through a far proxy", "http://10.0.0.7/v1", "http://proxy.example:3128", false},
		{"plain http on this machine", "http://127.0.0.1:8080/v1", "http://proxy.example:3128", true},
		{"plain http directly", "http://10.0.0.7/v1", "direct", true},
		{"ourselves", "https://llm.example/v1", "http://localhost:7411", false},
		{"another port of this machine", "https://llm.example/v1", "socks5://localhost:1080", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := ConnectionRecord{ID: "1", Provider: "custom", Name: "c", Credential: "none", Priority: 1, BaseURL: tt.base, ProxyURL: tt.proxy}
			err := errors.Join(checkRecord(rec, p, false, nil), s.checkNotUs(rec))
			if (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
