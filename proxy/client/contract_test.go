package client_test

import (
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"breakwater/proxy/client"
	"breakwater/proxy/client/facadetest"
	"breakwater/proxy/control"
	"breakwater/proxy/events"
	"breakwater/proxy/rest"
)

const testToken = "test-token-0123456789"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve puts a facade behind the management API on a real socket and returns
// a client of it.
func serve(t *testing.T, f control.Facade) *client.Client {
	t.Helper()
	stream := events.New(f, nil)
	srv := httptest.NewServer(rest.New(rest.Options{Facade: f, Events: stream, Token: func() string { return testToken }}))
	c := client.New(srv.URL, testToken, client.Options{})
	t.Cleanup(func() {
		stream.Close()
		srv.Close()
		c.Close()
	})
	return c
}

// TestFacades holds every implementation to the one contract, itself and
// through the management API.
func TestFacades(t *testing.T) {
	for _, row := range []struct {
		name string
		make func(t *testing.T) control.Facade
	}{
		{"fake", func(*testing.T) control.Facade { return facadetest.New() }},
	} {
		t.Run(row.name, func(t *testing.T) { facadetest.Contract(t, row.make(t)) })
		t.Run(row.name+" over the API", func(t *testing.T) { facadetest.Contract(t, serve(t, row.make(t))) })
	}
}
