// Package client implements the facade over the management API and its event
// stream, for windows and the command line.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"breakwater/proxy/control"
)

const (
	readTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second // a keychain may ask its owner first
	drillTimeout = 3 * time.Minute
	testTimeout  = 40 * time.Second // the server's own limit is 30 s
	dialTimeout  = 3 * time.Second
	// maxAnswer is the largest answer in bytes that is read.
	maxAnswer = 32 << 20
)

// Options changes how a client behaves; the zero value is right for windows
// and the command line.
type Options struct {
	// MinRetry and MaxRetry bound the pause before the event stream is opened
	// again; zero means 250 ms and 5 s.
	MinRetry, MaxRetry time.Duration
	// Silence is how long the event stream may be silent before the server
	// counts as dead; zero means 75 s, two and a half heartbeats.
	Silence time.Duration
	// dial replaces the dialler in tests.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client is control.Facade over HTTP. It talks to this machine only, never
// through a proxy, and follows no redirect, so the token cannot leave. It is
// safe for use by several goroutines.
type Client struct {
	base  string
	token string
	opts  Options
	http  *http.Client
	err   error // of the URL; every call returns it
}

var _ control.Facade = (*Client)(nil)

// New returns a client of the management API at baseURL, an http URL whose
// host is a loopback address or localhost. With any other URL every call
// returns an error and nothing is sent.
func New(baseURL, token string, o Options) *Client {
	if o.MinRetry <= 0 {
		o.MinRetry = 250 * time.Millisecond
	}
	if o.MaxRetry <= 0 {
		o.MaxRetry = 5 * time.Second
	}
	if o.Silence <= 0 {
		o.Silence = 75 * time.Second
	}
	if o.dial == nil {
		o.dial = (&net.Dialer{Timeout: dialTimeout, Control: loopbackOnly}).DialContext
	}
	c := &Client{base: strings.TrimRight(baseURL, "/"), token: token, opts: o, err: checkURL(baseURL)}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy:               nil, // whatever the environment says
			DialContext:         o.dial,
			MaxIdleConnsPerHost: 2,
			IdleConnTimeout:     30 * time.Second,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// Close drops the idle connections. Subscriptions end with their own context.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return fmt.Errorf("management URL: %w", err)
	}
	switch {
	case u.Scheme != "http":
		return fmt.Errorf("management URL %q: want http", u.Redacted())
	case !control.LoopbackHost(u.Hostname()):
		return fmt.Errorf("management URL %q: not an address of this machine", u.Redacted())
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return fmt.Errorf("management URL %q: want scheme, host and port only", u.Redacted())
	}
	return nil
}

// loopbackOnly looks at the address that is really dialled: a hosts file may
// give localhost any meaning.
func loopbackOnly(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !ap.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%s is not an address of this machine", address)
	}
	return nil
}

// call sends one request and decodes its answer into out, unless that is nil.
func (c *Client) call(ctx context.Context, limit time.Duration, method, path string, in, out any) error {
	if c.err != nil {
		return c.err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	c.authorise(req.Header)
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return failure(ctx, method, path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return failure(ctx, method, path, err)
	}
	if resp.StatusCode/100 != 2 {
		return answerError(resp.StatusCode, data)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s %s: answer: %w", method, path, err)
	}
	return nil
}

func (c *Client) authorise(h http.Header) { h.Set("Authorization", "Bearer "+c.token) }

// failure wraps an error of the connection: who gave up, or ErrUnreachable.
func failure(ctx context.Context, method, path string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", method, path, ctx.Err())
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return fmt.Errorf("%w: %s %s: %w", ErrUnreachable, method, path, err)
}
