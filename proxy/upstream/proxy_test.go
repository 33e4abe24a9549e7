package upstream

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
)

// TestProxyHelper is a process with an environment of its own: the standard
// library reads the proxy variables once.
func TestProxyHelper(t *testing.T) {
	base := os.Getenv("UPSTREAM_TEST_BASE")
	if base == "" {
		t.Skip("it is started by TestOutboundProxy")
	}
	c := New(Options{})
	defer c.Close()
	got, err := ask(t.Context(), c, base)
	fmt.Printf("answer: %s, %v\n", got, err)
}

// Case P58: an upstream on this machine is reached directly, one elsewhere
// through the proxy of the environment.
func TestOutboundProxy(t *testing.T) {
	var seen atomic.Int32
	outbound := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		seen.Add(1)
		_, _ = w.Write([]byte("by proxy"))
	}))
	defer outbound.Close()
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("direct")) }))
	defer local.Close()
	port := local.URL[strings.LastIndex(local.URL, ":"):]
	for _, tt := range []struct {
		name, base, noProxy, want string
		proxied                   bool
	}{
		{"case P58 127.0.0.1", local.URL, "", "direct", false},
		{"case P58 localhost", "http://localhost" + port, "", "direct", false},
		{"case P58 a public upstream", "http://api.example.invalid", "", "by proxy", true},
		{"case P58 NO_PROXY", "http://api.example.invalid", "example.invalid", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen.Store(0)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxyHelper$", "-test.v")
			cmd.Env = append(os.Environ(), "UPSTREAM_TEST_BASE="+tt.base, "HTTP_PROXY="+outbound.URL, "http_proxy="+outbound.URL,
				"HTTPS_PROXY="+outbound.URL, "NO_PROXY="+tt.noProxy, "no_proxy="+tt.noProxy, "REQUEST_METHOD=")
			out, err := cmd.CombinedOutput()
			if err != nil || seen.Load() > 0 != tt.proxied {
				t.Fatalf("the proxy saw %d requests, %v: %s", seen.Load(), err, out)
			}
			if !strings.Contains(string(out), tt.want) {
				t.Errorf("got %s", out)
			}
		})
	}
}
