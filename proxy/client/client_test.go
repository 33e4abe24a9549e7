package client

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
	"breakwater/proxy/rest"
)

func TestOnlyThisMachineIsAccepted(t *testing.T) {
	for raw, ok := range map[string]bool{
		"http://127.0.0.1:7411":       true,
		"http://127.0.0.1:7411/":      true,
		"http://127.9.9.9:1":          true,
		"http://[::1]:7411":           true,
		"http://localhost:7411":       true,
		"https://127.0.0.1:7411":      false,
		"http://192.168.1.2:7411":     false,
		"http://localhost.evil.test":  false,
		"http://127.0.0.1.evil.test":  false,
		"http://[::ffff:10.0.0.1]:80": false,
		"http://user@127.0.0.1:7411":  false,
		"http://127.0.0.1:7411/v1":    false,
		"http://127.0.0.1:7411?x=1":   false,
		"127.0.0.1:7411":              false,
		"":                            false,
		"http://%zz":                  false,
	} {
		t.Run(raw, func(t *testing.T) {
			dialled := false
			c := New(raw, "t", Options{dial: func(context.Context, string, string) (net.Conn, error) {
				dialled = true
				return nil, errors.New("test: no network")
			}})
			_, err := c.Snapshot(t.Context())
			if dialled != ok || errors.Is(err, ErrUnreachable) != ok {
				t.Errorf("dialled %v, %v; want %v", dialled, err, ok)
			}
			if ok {
				return
			}
			if _, err := c.Subscribe(t.Context()); err == nil {
				t.Error("subscribed")
			}
			if err := c.ReorderConnections(t.Context(), nil); err == nil {
				t.Error("an order of nothing is taken")
			}
		})
	}
}

func TestTheDialledAddressIsCheckedToo(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"93.184.216.34:80": false, "0.0.0.0:80": false, "nonsense": false,
	} {
		if err := loopbackOnly("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v, want ok %v", address, err, ok)
		}
	}
}

func TestNoProxyAndNoRedirect(t *testing.T) {
	asked := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer other.Close()
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	c := New(srv.URL, "t", Options{})
	defer c.Close()
	if c.http.Transport.(*http.Transport).Proxy != nil {
		t.Error("the client asks the environment for a proxy")
	}
	var se *StatusError
	if err := c.SetPaused(t.Context(), true); !errors.As(err, &se) || se.Status != http.StatusTemporaryRedirect {
		t.Errorf("got %v, want the redirect as an error", err)
	}
	if asked != 0 {
		t.Error("the redirect was followed")
	}
}

func TestErrorsComeBack(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		body   string
		check  func(error) bool
	}{
		{"fields", 400, `{"error":{"message":"Invalid request","details":[{"field":"name","message":"taken"},{"field":"apiKey","message":"needed"}]}}`, func(err error) bool {
			inv, ok := errors.AsType[*control.InvalidError](err)
			return ok && cmp.Equal(inv.Fields, []control.FieldError{{Field: "name", Message: "taken"}, {Field: "apiKey", Message: "needed"}})
		}},
		{"not found", 404, `{"error":{"code":"NOT_FOUND","message":"Not found"}}`, func(err error) bool { return errors.Is(err, control.ErrNotFound) }},
		{"no desktop", 409, `{"error":{"code":"NO_DESKTOP","message":"x"}}`, func(err error) bool { return errors.Is(err, control.ErrNoDesktop) }},
		{"another 404", 404, `not ours`, status(404)},
		{"another conflict", 409, `{"error":{"code":"OTHER","message":"x"}}`, status(409)},
		{"unauthorised", 401, `{"error":{"code":"AUTH_001","message":"Authentication required"}}`, Unauthorised},
		{"forbidden", 403, `{"error":{"message":"Invalid management token"}}`, Unauthorised},
		{"internal", 500, `{"error":{"code":"INTERNAL","message":"Internal error"}}`, func(err error) bool {
			return status(500)(err) && strings.Contains(err.Error(), "Internal error") && !Unauthorised(err)
		}},
		{"no JSON in a good answer", 200, `<html>`, func(err error) bool { return err != nil && !errors.Is(err, ErrUnreachable) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			}))
			defer srv.Close()
			c := New(srv.URL, "t", Options{})
			defer c.Close()
			if _, err := c.Settings(t.Context()); !tc.check(err) {
				t.Errorf("got %#v", err)
			}
		})
	}
}

func status(want int) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*StatusError](err)
		return ok && e.Status == want
	}
}

func TestNobodyThereAndGivingUp(t *testing.T) {
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(hang)
		<-r.Context().Done()
	}))
	c := New(srv.URL, "t", Options{})
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-hang
		cancel()
	}()
	if _, err := c.Snapshot(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want the caller's own end", err)
	}
	srv.Close()
	_, err := c.Snapshot(t.Context())
	if !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v, want ErrUnreachable", err)
	}
	if strings.Contains(err.Error(), "Bearer") {
		t.Errorf("the error tells the credential: %v", err)
	}
}

// Everything that the contract does not reach, because it needs a desktop, a
// demo or a provider.
func TestTheRestOfTheFacade(t *testing.T) {
	fake := facadetest.New()
	fake.Desktop = true
	fake.Panel = &control.Demo{Faults: []control.Fault{{ConnectionID: "c1", Kind: "none"}}, Kinds: []string{"none"}, Speed: 1}
	fake.Tested = control.TestResult{Valid: true, StatusCode: 200, Diagnosis: control.Diagnosis{Type: "ok"}}
	srv := httptest.NewServer(rest.New(rest.Options{Facade: fake, Token: func() string { return "t" }}))
	defer srv.Close()
	c := New(srv.URL+"/", "t", Options{})
	defer c.Close()
	ctx := t.Context()

	conn, err := c.AddConnection(ctx, control.ConnectionInput{Provider: "custom", Name: "a/b c", BaseURL: "http://127.0.0.1:1", Models: []string{"*"}, Inactive: true})
	if err != nil || conn.Active || conn.BaseURL != "http://127.0.0.1:1" {
		t.Fatalf("added %+v, %v", conn, err)
	}
	if res, err := c.TestConnection(ctx, conn.ID); err != nil || !cmp.Equal(res, fake.Tested) {
		t.Errorf("tested %+v, %v", res, err)
	}
	if err := c.ShowWindow(ctx, "activity"); err != nil {
		t.Error(err)
	}
	if err := c.Quit(ctx); err != nil {
		t.Error(err)
	}
	fault := control.Fault{ConnectionID: "c1", Kind: "rate_limit", RetryAfterSeconds: 60, Count: 2}
	d, err := c.EditDemo(ctx, control.DemoPatch{Faults: []control.Fault{fault}, Speed: new(60.0), AdvanceMs: 5})
	if err != nil || d.Speed != 60 || !cmp.Equal(d.Faults, []control.Fault{fault}) {
		t.Errorf("demo %+v, %v", d, err)
	}
	if again, err := c.Demo(ctx); err != nil || !cmp.Equal(again, d) {
		t.Errorf("demo %+v, %v", again, err)
	}
	fake.Change(func(s *control.Snapshot) { s.Breakers = []control.Breaker{{State: "OPEN"}, {State: "CLOSED"}} })
	if n, err := c.ResetBreakers(ctx); err != nil || n != 2 {
		t.Errorf("reset %d, %v", n, err)
	}
	for id := int64(1); id <= 4; id++ {
		fake.AddActivity(control.Activity{ID: id, Result: "failed", Trace: []control.Step{{ConnectionID: []string{"x", "y"}[id%2]}}})
	}
	got, err := c.Activity(ctx, control.ActivityQuery{Before: 4, Limit: 1, ConnectionID: "y", FailedOnly: true})
	if err != nil || len(got) != 1 || got[0].ID != 3 {
		t.Errorf("activity %+v, %v", got, err)
	}
	if want := []string{"AddConnection", "TestConnection", "ShowWindow", "Quit", "EditDemo", "EditDemo", "ResetBreakers", "Activity"}; !cmp.Equal(fake.Calls(), want) {
		t.Errorf("calls %v, want %v", fake.Calls(), want)
	}
}
