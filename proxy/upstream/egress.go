package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/tidwall/gjson"

	"breakwater/proxy/control"
)

// Way is how calls to a base URL leave this machine.
type Way struct {
	Local bool   // they stay on it
	Proxy string // host and port of the outbound proxy, without its credentials; empty when they go straight
}

// WayTo tells how calls to the base URL travel that name this Call.Proxy. It
// sends nothing.
func (c *Client) WayTo(base, proxy string) (Way, error) {
	u, err := url.Parse(base)
	if err != nil {
		return Way{}, fmt.Errorf("base URL: %w", err)
	}
	if control.LoopbackHost(u.Hostname()) {
		return Way{Local: true}, nil
	}
	choose := c.choose
	if proxy != "" {
		if choose, err = choice(proxy); err != nil {
			return Way{}, err
		}
	}
	p, err := choose(&http.Request{URL: u})
	if err != nil || p == nil {
		return Way{}, err
	}
	if p.Port() != "" {
		return Way{Proxy: p.Host}, nil
	}
	return Way{Proxy: net.JoinHostPort(p.Hostname(), usualPort(p.Scheme))}, nil
}

func usualPort(scheme string) string {
	switch scheme {
	case "https":
		return "443"
	case "socks5", "socks5h":
		return "1080"
	}
	return "80"
}

// straight marks the context of a call that goes through no outbound proxy.
type straight struct{}

// unlessStraight is an outbound proxy's choice with that exception, and with
// the one for this machine, which no proxy reaches (case P58).
func unlessStraight(choose chooser) chooser {
	return func(r *http.Request) (*url.URL, error) {
		if r.Context().Value(straight{}) != nil || control.LoopbackHost(r.URL.Hostname()) {
			return nil, nil
		}
		return choose(r)
	}
}

// maxProbe is how much of a probe's answer is read.
const maxProbe = 1 << 10

var errNoAddress = errors.New("the answer holds no IP address")

// PublicAddress asks the service at probeURL by which address this machine is
// seen. Nothing but the request itself is sent; the answer is an address as
// text, or JSON with a field "ip". No proxy is used and no redirect followed.
func (c *Client) PublicAddress(ctx context.Context, probeURL string) (string, error) {
	req, err := http.NewRequestWithContext(context.WithValue(ctx, straight{}, true), http.MethodGet, probeURL, nil)
	if err != nil {
		return "", fmt.Errorf("probe: %w", err)
	}
	res, err := c.ways.Load().usual.RoundTrip(req)
	if err != nil {
		return "", fmt.Errorf("probe: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // the answer was read or given up
	text, err := io.ReadAll(io.LimitReader(res.Body, maxProbe))
	if err != nil {
		return "", fmt.Errorf("probe: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("probe: status %d", res.StatusCode)
	}
	text = bytes.TrimSpace(text)
	if len(text) > 0 && text[0] == '{' {
		text = []byte(gjson.GetBytes(text, "ip").Str)
	}
	ip, err := netip.ParseAddr(string(text))
	if err != nil || ip.Zone() != "" {
		return "", errNoAddress
	}
	return ip.Unmap().String(), nil
}
