// Package upstream sends requests to providers: transport, headers,
// credentials and encodings.
package upstream

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
)

// Figures of the transport (stream sheet §6.1).
const (
	connectTimeout    = 30 * time.Second
	tlsTimeout        = 15 * time.Second
	idleTimeout       = 60 * time.Second // ruling 67
	pingAfter         = 15 * time.Second
	pingTimeout       = 15 * time.Second
	maxHeaderBytes    = 256 << 10
	maxIdlePerHost    = 64
	maxIdle           = 256
	keepAliveInterval = 30 * time.Second
	// readBuffer takes what has piled up of a quick stream in one go.
	readBuffer = 8 << 10
)

// Client sends calls to providers. It keeps connections open between calls.
type Client struct {
	plain   func() *http.Transport // what all transports have in common
	choose  chooser                // the environment's outbound proxy
	base    *x509.CertPool         // the usual roots; nil: those of the system
	ways    atomic.Pointer[ways]
	change  sync.Mutex // of ways
	ahead   func() time.Duration
	idle    func(time.Duration) time.Duration
	clock   skew
	targets sync.Map // of place to target: there are as many as connections
}

// place is an endpoint with a path below it.
type place struct{ base, path string }

// target is where the calls to a place go.
type target struct {
	url   *url.URL
	local bool // it lies on this machine
}

// target returns where a call goes.
func (c *Client) target(at place) (*target, error) {
	if known, ok := c.targets.Load(at); ok {
		return known.(*target), nil //nolint:forcetypeassert,nolintlint // the map holds nothing else
	}
	u, err := url.Parse(at.base)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	if err := extend(u, at.path); err != nil {
		return nil, err
	}
	to := &target{u, control.LoopbackHost(u.Hostname())}
	c.targets.Store(at, to)
	return to, nil
}

// Options are what a Client may be given; zero values are the usual ones.
type Options struct {
	// ConnectTimeout is how long a connection may take to come about; negative
	// is without limit.
	ConnectTimeout time.Duration
	// IdleTimeout is how long a connection is kept open without a call.
	IdleTimeout time.Duration
	// PingAfter is how long an HTTP/2 connection may be silent before it is
	// asked whether it lives, PingTimeout how long the answer may take.
	PingAfter, PingTimeout time.Duration
	RootCAs                *x509.CertPool // nil: those of the system
	// Proxy chooses an outbound proxy; nil reads HTTP_PROXY, HTTPS_PROXY and
	// NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)
	// Ahead tells how far the wall clock has run ahead of the monotonic one; nil
	// measures it.
	Ahead func() time.Duration
	// Idle corrects how long a reused connection lay idle; nil believes the
	// transport.
	Idle func(measured time.Duration) time.Duration
	// Dial opens the connections; nil dials as usual.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// New returns a client that honours the outbound proxy of the environment, but
// never sends a loopback address through it (case P58).
func New(o Options) *Client {
	c := &Client{plain: o.plain, choose: o.Proxy, base: o.RootCAs, ahead: o.Ahead, idle: o.Idle}
	if c.choose == nil {
		c.choose = http.ProxyFromEnvironment
	}
	if c.ahead == nil {
		c.ahead = measured
	}
	c.ways.Store(&ways{roots: c.base, usual: c.transport(c.choose, c.base, maxIdle), own: map[string]*http.Transport{}})
	return c
}

// connect is how long a connection may take to come about; 0 is without limit,
// as in a dialer.
func (o Options) connect() time.Duration { return max(0, cmp.Or(o.ConnectTimeout, connectTimeout)) }

// plain makes a transport that knows no proxy and no roots of its own.
func (o Options) plain() *http.Transport {
	connect, handshake := o.connect(), tlsTimeout
	if connect > 0 {
		handshake = min(handshake, connect)
	}
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: connect, KeepAlive: keepAliveInterval, Control: noticeSilence}).DialContext
	}
	return &http.Transport{
		DialContext:            measuredDial(dial),
		TLSHandshakeTimeout:    handshake,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        cmp.Or(o.IdleTimeout, idleTimeout),
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         readBuffer,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: cmp.Or(o.PingAfter, pingAfter), PingTimeout: cmp.Or(o.PingTimeout, pingTimeout),
		},
	}
}

// Close drops the idle connections.
func (c *Client) Close() { c.ways.Load().closeIdle() }

// Call is one request to one provider.
type Call struct {
	Method  string
	Dialect dialect.Dialect
	BaseURL string // of the endpoint
	Path    string // below the base, "/messages"
	Query   string
	Header  http.Header // the client's
	// Own reports whether a text holds a credential of Breakwater's: no header
	// or parameter of the client's that does is sent on (ruling 33). Nil knows none.
	Own        func(string) bool
	Body       []byte // nil for none
	Auth       catalog.Auth
	Credential catalog.CredentialKind
	Key        string
	// Proxy is the outbound proxy with its login, or control.DirectProxy for
	// none; empty goes as the environment says. It is ignored on the way to this
	// machine (case P58).
	Proxy string
	// UserAgent is sent in place of the client's, where it is not empty.
	UserAgent string
	// Last is set after all other headers and replaces what they say.
	Last http.Header
	// Via counts the Breakwaters that this request has passed on this machine.
	Via int
	// Repeated is called before the request is sent again (ruling 67); nil does
	// nothing.
	Repeated func(Lost)
}

// ViaHeader carries Call.Via from one Breakwater to the next on the same
// machine, so that a circle of them ends. It never leaves the machine.
const ViaHeader = "X-Breakwater-Via"

// Do sends the call and returns the answer with its body decoded. An error
// means that no answer came. A call whose connection was lost is sent again
// once, on a fresh connection, under the conditions of ruling 67.
func (c *Client) Do(ctx context.Context, call Call) (*http.Response, error) {
	to, err := c.target(place{call.BaseURL, call.Path})
	if err != nil {
		return nil, err
	}
	u := *to.url
	u.RawQuery = joinQuery(u.RawQuery, call.foreignQuery())
	if c.clock.jumped(c.ahead()) {
		// What was open before the machine slept is dead, and does not know.
		c.ways.Load().closeIdle()
	}
	header := requestHeader(call)
	if to.local {
		header[ViaHeader] = []string{strconv.Itoa(call.Via + 1)}
		call.Proxy = ""
	}
	t, err := c.through(call.Proxy)
	if err != nil {
		return nil, err
	}
	res, err := c.send(ctx, t, func(ctx context.Context) *http.Request { return request(ctx, &u, header, call) }, call.Repeated)
	if err != nil {
		return nil, err
	}
	err = hasStatus(res)
	if err == nil {
		err = decode(res)
	}
	if err != nil {
		_ = res.Body.Close() // there is nothing in it for us
		return nil, err
	}
	return res, nil
}

func request(ctx context.Context, u *url.URL, header http.Header, call Call) *http.Request {
	req := (&http.Request{
		Method: call.Method, URL: u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if call.Body != nil {
		// Without GetBody the transport never sends a body again on conditions of
		// its own: whether that is done is decided here (ruling 67).
		req.ContentLength = int64(len(call.Body))
		req.Body = inMemory(call.Body)
	}
	return req
}

// inMemory returns a body in the one form that the transport knows to be at
// hand: headers and body then leave in one packet.
func inMemory(raw []byte) readCloser { return io.NopCloser(bytes.NewReader(raw)) }

// extend appends a path, which may hold escapes, to the base URL.
func extend(u *url.URL, path string) error {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if plain != path {
		u.RawPath = strings.TrimSuffix(u.EscapedPath(), "/") + path
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + plain
	return nil
}

func joinQuery(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "&" + b
}
