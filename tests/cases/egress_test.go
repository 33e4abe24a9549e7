package cases

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/tests/scenario"
)

// provider answers as an upstream and as an outbound proxy; the key "used-up"
// is out of quota.
func provider(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.Header.Get("Authorization"), "used-up") {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"error":{"message":"Monthly usage limit reached."}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(s.Close)
	return s
}

// elsewhere adds a connection to a host that is not this machine.
func elsewhere(k *scenario.Kit, name, key string) {
	k.Helper()
	k.Add(name, "opencode-go", func(in *control.ConnectionInput) { in.BaseURL, in.APIKey = "http://10.255.0.1/v1", key })
}

// The address by which a connection leaves is its outbound proxy's, and stands
// in the log.
func TestEgressByProxy(t *testing.T) {
	out := provider(t)
	proxyURL, err := url.Parse(out.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxyURL.User = url.UserPassword("me", "secret")
	k := scenario.StartBehind(t, upstream.Options{Proxy: http.ProxyURL(proxyURL)})
	elsewhere(k, "alpha", "key-one")
	if a := k.Post("/v1/chat/completions", scenario.NoStream(scenario.Chat)); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if got, want := k.Last().EgressIP, proxyURL.Host; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// Cases 104 and 105: the limit of a provider that counts by address cools the
// siblings that leave by the same one, also those that were seen before a
// restart, and no terminal one.
func TestEgressSiblings(t *testing.T) {
	start := func(t *testing.T) *scenario.Kit {
		out := provider(t)
		proxyURL, err := url.Parse(out.URL)
		if err != nil {
			t.Fatal(err)
		}
		k := scenario.StartBehind(t, upstream.Options{Proxy: http.ProxyURL(proxyURL)})
		elsewhere(k, "beta", "key-two")
		elsewhere(k, "gamma", "key-three")
		for _, name := range []string{"beta", "gamma"} {
			if a := k.Post("/v1/chat/completions", strings.Replace(scenario.NoStream(scenario.Chat), "m1", name+"/m1", 1)); a.Status != 200 {
				t.Fatalf("%s: %d %s", name, a.Status, a.Body)
			}
		}
		elsewhere(k, "alpha", "used-up")
		return k
	}
	exhaust := func(k *scenario.Kit) {
		k.Post("/v1/chat/completions", strings.Replace(scenario.NoStream(scenario.Chat), "m1", "alpha/m1", 1))
	}
	t.Run("case 104 siblings by one proxy", func(t *testing.T) {
		k := start(t)
		exhaust(k)
		if a, b, c := k.CoolsFor("alpha"), k.CoolsFor("beta"), k.CoolsFor("gamma"); a == 0 || a != b || b != c {
			t.Errorf("they cool for %v, %v, %v", a, b, c)
		}
	})
	t.Run("case 104 after a restart", func(t *testing.T) {
		k := start(t)
		k.Last()
		k.Restart()
		exhaust(k)
		if a, b := k.CoolsFor("alpha"), k.CoolsFor("beta"); a == 0 || a != b {
			t.Errorf("they cool for %v, %v", a, b)
		}
	})
	t.Run("case 105 not known", func(t *testing.T) {
		out := provider(t)
		k := scenario.StartBehind(t, upstream.Options{Proxy: noProxy, Dial: dialTo(map[string]string{"10.255.0.1": out.URL})})
		elsewhere(k, "alpha", "used-up")
		elsewhere(k, "beta", "key-two")
		k.Post("/v1/chat/completions", scenario.NoStream(scenario.Chat))
		if a, b := k.CoolsFor("alpha"), k.CoolsFor("beta"); a == 0 || b != 0 {
			t.Errorf("they cool for %v, %v", a, b)
		}
	})
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

// dialTo sends what is meant for a host to a test server.
func dialTo(servers map[string]string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(address)
		return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(servers[host], "http://"))
	}
}

// Without a proxy the address comes from a probe, which is asked only when the
// user named one, at most every five minutes, and never waited for.
func TestEgressProbe(t *testing.T) {
	out := provider(t)
	var asked atomic.Int32
	gate, answered := make(chan struct{}), make(chan struct{}, 10)
	probe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header) > 2 || r.Header.Get("Authorization") != "" {
			t.Errorf("the probe got the headers %v", r.Header)
		}
		asked.Add(1)
		<-gate
		_, _ = io.WriteString(w, fmt.Sprintf(`{"ip":"192.0.2.%d"}`, asked.Load()))
		answered <- struct{}{}
	}))
	defer probe.Close()
	k := scenario.StartBehind(t, upstream.Options{Proxy: noProxy, Dial: dialTo(map[string]string{"10.255.0.1": out.URL, "10.255.0.2": probe.URL})})
	elsewhere(k, "alpha", "key-one")
	ask := func() string {
		t.Helper()
		if a := k.Post("/v1/chat/completions", scenario.NoStream(scenario.Chat)); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return k.Last().EgressIP
	}
	if got := ask(); got != "" || asked.Load() != 0 {
		t.Errorf("off by default: %q, asked %d times", got, asked.Load())
	}
	address := "http://10.255.0.2/"
	if _, err := k.Facade().EditSettings(t.Context(), control.SettingsPatch{EgressProbeURL: &address}); err != nil {
		t.Fatal(err)
	}
	ask() // is not kept waiting by the closed gate
	close(gate)
	await := func(want string) {
		t.Helper()
		<-answered
		k.Until("the address "+want, func() bool { return ask() == want })
	}
	await("192.0.2.1")
	k.Clock.Advance(5*time.Minute - time.Second)
	if got := ask(); got != "192.0.2.1" || asked.Load() != 1 {
		t.Errorf("within five minutes: %q, asked %d times", got, asked.Load())
	}
	k.Clock.Advance(time.Second)
	ask()
	await("192.0.2.2")
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	bad := "ftp://probe.example.invalid"
	if _, err := k.Facade().EditSettings(t.Context(), control.SettingsPatch{EgressProbeURL: &bad}); err == nil {
		t.Error("an address that no probe has was taken")
	}
}
