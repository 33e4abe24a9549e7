package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"breakwater/proxy/control"
)

// maxIdleOwn bounds the idle connections of one outbound proxy: there may be as
// many proxies as connections.
const maxIdleOwn = 64

// chooser picks the outbound proxy of a request, nil for none.
type chooser = func(*http.Request) (*url.URL, error)

// ways are the transports in force. They are never changed, only replaced, so
// that a call finds its own without a lock.
type ways struct {
	roots *x509.CertPool             // nil: those of the system
	usual *http.Transport            // as the environment says
	own   map[string]*http.Transport // by the Call.Proxy of those that asked
}

// through returns the transport of a call that names this outbound proxy.
func (c *Client) through(proxy string) (*http.Transport, error) {
	w := c.ways.Load()
	if proxy == "" {
		return w.usual, nil
	}
	if t := w.own[proxy]; t != nil {
		return t, nil
	}
	choose, err := choice(proxy)
	if err != nil {
		return nil, err
	}
	c.change.Lock()
	defer c.change.Unlock()
	w = c.ways.Load()
	if t := w.own[proxy]; t != nil {
		return t, nil
	}
	next := *w
	next.own = maps.Clone(w.own)
	next.own[proxy] = c.transport(choose, w.roots, maxIdleOwn)
	c.ways.Store(&next)
	return next.own[proxy], nil
}

var errProxyURL = errors.New("the address of the outbound proxy is not one")

// choice reads a Call.Proxy that is not empty. Its error never repeats the
// address, which may hold a password.
func choice(proxy string) (chooser, error) {
	if proxy == control.DirectProxy {
		return func(*http.Request) (*url.URL, error) { return nil, nil }, nil
	}
	u, err := url.Parse(proxy)
	if err != nil || u.Host == "" {
		return nil, errProxyURL
	}
	return http.ProxyURL(u), nil
}

// transport makes a transport of one way.
func (c *Client) transport(choose chooser, roots *x509.CertPool, idle int) *http.Transport {
	t := c.plain()
	t.Proxy, t.MaxIdleConns = unlessStraight(choose), idle
	t.OnProxyConnectResponse = refusedByProxy
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return t
}

// Keep drops the transports of outbound proxies that are not among these, with
// their idle connections. Calls that are under way end as they began.
func (c *Client) Keep(proxies []string) {
	c.change.Lock()
	defer c.change.Unlock()
	next := *c.ways.Load()
	next.own = maps.Clone(next.own)
	var gone []*http.Transport
	for proxy, t := range next.own {
		if !slices.Contains(proxies, proxy) {
			gone = append(gone, t)
			delete(next.own, proxy)
		}
	}
	if len(gone) > 0 {
		c.ways.Store(&next)
	}
	for _, t := range gone {
		t.CloseIdleConnections()
	}
}

// trust puts other root certificates in force for all connections that are
// opened from now on; nil are the usual ones.
func (c *Client) trust(roots *x509.CertPool) {
	c.change.Lock()
	defer c.change.Unlock()
	old := c.ways.Load()
	c.ways.Store(&ways{roots: roots, usual: c.transport(c.choose, roots, maxIdle), own: map[string]*http.Transport{}})
	old.closeIdle()
}

// closeIdle drops the idle connections of every way.
func (w *ways) closeIdle() {
	w.usual.CloseIdleConnections()
	for _, t := range w.own {
		t.CloseIdleConnections()
	}
}

// ProxyError is an outbound proxy's refusal to let a call through.
type ProxyError struct{ Status int }

// Error names the status.
func (e *ProxyError) Error() string {
	return fmt.Sprintf("the outbound proxy answered with status %d", e.Status)
}

func refusedByProxy(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	return &ProxyError{res.StatusCode}
}

// ProxyFailed reports whether it was the outbound proxy that failed: it cannot
// be reached, or it refuses its login. Then nothing is known of the provider.
func ProxyFailed(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "proxyconnect" || ProxyDenied(err)
}

// ProxyDenied reports whether the outbound proxy refuses its login.
func ProxyDenied(err error) bool {
	if refused, ok := errors.AsType[*ProxyError](err); ok {
		return refused.Status == http.StatusProxyAuthRequired
	}
	op, ok := errors.AsType[*net.OpError](err)
	// The transport exports no error of its own for this.
	return ok && op.Op == "socks connect" && strings.Contains(err.Error(), "auth")
}
