package cases

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/simulator"
	"breakwater/proxy/upstream"
	"breakwater/tests/scenario"
)

// cloud starts a product whose connections alpha and beta have public addresses:
// a server nearby may take as long as it likes (ruling 69).
func cloud(t *testing.T, set string) (k *scenario.Kit, alpha, beta *simulator.Account) {
	t.Helper()
	var sim *url.URL
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(&httputil.ReverseProxy{ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(sim) }, FlushInterval: -1}).ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	roots := x509.NewCertPool()
	roots.AddCert(front.Certificate())
	k = scenario.StartBehind(t, upstream.Options{RootCAs: roots, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, front.Listener.Addr().String())
	}})
	alpha, beta = k.Sim.Account("alpha"), k.Sim.Account("beta")
	for _, a := range []*simulator.Account{alpha, beta} {
		u, err := url.Parse(a.BaseURL())
		if err != nil {
			t.Fatal(err)
		}
		sim = &url.URL{Scheme: u.Scheme, Host: u.Host}
		u.Scheme, u.Host = "https", a.Name()+".example.com"
		k.Add(a.Name(), "demo", func(in *control.ConnectionInput) { in.BaseURL = u.String() })
	}
	if _, err := k.Facade().EditResilience(t.Context(), json.RawMessage(set)); err != nil {
		t.Fatal(err)
	}
	return k, alpha, beta
}

const streamed = `{"model":"m","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`

// A first account that never sends headers costs its budget once, not at every
// step, and another one serves meanwhile (ruling 69).
func TestSilentTargetsAreLeftAndAskedLast(t *testing.T) {
	const soon = `{"failover":{"firstByteMs":1000}}`
	silent := simulator.OK("late").Delayed(30 * time.Second)
	t.Run("the next target answers, and the next request begins with it", func(t *testing.T) {
		k, alpha, _ := cloud(t, soon)
		alpha.Script(silent)
		if a := k.Post("/v1/messages", streamed); k.Last().ConnectionName != "beta" {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
		began := time.Now()
		if a := k.Post("/v1/messages", streamed); k.Last().ConnectionName != "beta" || time.Since(began) > 900*time.Millisecond {
			t.Errorf("got %d %s after %v", a.Status, a.Body, time.Since(began))
		}
		c := k.Connection("alpha")
		if c.State != control.StateServing || c.RateLimitedUntil != nil || len(c.Slow) != 1 || c.Slow[0].Model != "m" {
			t.Errorf("alpha is %s until %v, slow %v", c.State, c.RateLimitedUntil, c.Slow)
		}
		if b := k.Breaker("demo"); b.FailureCount != 0 {
			t.Errorf("the breaker counted %d failures", b.FailureCount)
		}
		k.Clock.Advance(2*time.Minute + time.Second)
		alpha.Script()
		if a := k.Post("/v1/messages", streamed); k.Last().ConnectionName != "alpha" {
			t.Errorf("after two minutes %d %s", a.Status, a.Body)
		}
		if c := k.Connection("alpha"); len(c.Slow) != 0 {
			t.Errorf("slow %v after an answer", c.Slow)
		}
	})
	t.Run("clearing the connection lifts it", func(t *testing.T) {
		k, alpha, _ := cloud(t, soon)
		alpha.Script(silent)
		k.Post("/v1/messages", streamed)
		if err := k.Facade().ClearCooldown(t.Context(), k.Connection("alpha").ID); err != nil {
			t.Fatal(err)
		}
		alpha.Script()
		if a := k.Post("/v1/messages", streamed); k.Last().ConnectionName != "alpha" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
	for _, tt := range []struct {
		name, set, body string
		alone           bool
	}{
		{"switched off", `{"failover":{"firstByteMs":1000,"slowDemotion":false}}`, streamed, false},
		{"a request that is not streamed", soon, strings.Replace(streamed, `"stream":true,`, "", 1), false},
		{"nobody else serves", soon, streamed, true},
	} {
		t.Run(tt.name+", the target may take longer", func(t *testing.T) {
			k, alpha, _ := cloud(t, tt.set)
			if tt.alone {
				if err := k.Facade().DeleteConnection(t.Context(), k.Connection("beta").ID); err != nil {
					t.Fatal(err)
				}
			}
			alpha.Script(simulator.OK("late").Delayed(1500 * time.Millisecond))
			if a := k.Post("/v1/messages", tt.body); k.Last().ConnectionName != "alpha" {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
		})
	}
	t.Run("a server nearby may take longer", func(t *testing.T) {
		k := scenario.Start(t)
		alpha, _ := k.Pair()
		if _, err := k.Facade().EditResilience(t.Context(), json.RawMessage(soon)); err != nil {
			t.Fatal(err)
		}
		alpha.Script(simulator.OK("late").Delayed(1500 * time.Millisecond))
		if a := k.Post("/v1/messages", streamed); k.Last().ConnectionName != "alpha" {
			t.Errorf("got %d %s", a.Status, a.Body)
		}
	})
}
