// Package upstream sends requests to providers: transport, headers,
// credentials and encodings.
package upstream

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
)

// Figures of the transport (stream sheet §6.1).
const (
	connectTimeout    = 30 * time.Second
	tlsTimeout        = 15 * time.Second
	idleTimeout       = 90 * time.Second
	pingAfter         = 15 * time.Second
	pingTimeout       = 15 * time.Second
	maxHeaderBytes    = 256 << 10
	maxIdlePerHost    = 64
	maxIdle           = 256
	keepAliveInterval = 30 * time.Second
)

// Client sends calls to providers. It keeps connections open between calls.
type Client struct {
	transport *http.Transport
}

// New returns a client that honours HTTP_PROXY, HTTPS_PROXY and NO_PROXY, but
// never sends a loopback address through a proxy (case P58).
func New() *Client {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: keepAliveInterval}
	return &Client{transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    tlsTimeout,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}}
}

// Close drops the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Call is one request to one provider.
type Call struct {
	Method     string
	Dialect    dialect.Name
	BaseURL    string // of the endpoint
	Path       string // below the base, "/messages"
	Query      string
	Header     http.Header // the client's
	Body       []byte      // nil for none
	Auth       catalog.Auth
	Credential catalog.CredentialKind
	Key        string
}

// Do sends the call and returns the answer with its body decoded. An error
// means that no answer came. The transport replays a call on a fresh
// connection only when it had written nothing of it.
func (c *Client) Do(ctx context.Context, call Call) (*http.Response, error) {
	u, err := url.Parse(call.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + call.Path
	u.RawQuery = joinQuery(u.RawQuery, call.Query)
	req := (&http.Request{
		Method: call.Method, URL: u, Host: u.Host, Header: requestHeader(call),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if call.Body != nil {
		// The whole body is at hand: a replay needs it, and passing the
		// client's body through would lose answers that come early.
		req.ContentLength = int64(len(call.Body))
		req.GetBody = func() (r readCloser, err error) { return body{bytes.NewReader(call.Body)}, nil }
		req.Body, _ = req.GetBody()
	}
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := decode(res); err != nil {
		_ = res.Body.Close()
		return nil, fmt.Errorf("answer encoding: %w", err)
	}
	return res, nil
}

func joinQuery(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "&" + b
}
