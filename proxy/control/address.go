package control

import (
	"net/netip"
	"net/url"
	"strings"
)

// hostOf returns the host and port of a URL.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// isLoopbackURL reports whether the address is this machine.
func isLoopbackURL(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	return LoopbackHost(u.Hostname())
}

// LoopbackHost reports whether a host name or address, without a port, is this
// machine. The whole name counts, never a part of it (case P48).
func LoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

var localNet = netip.MustParsePrefix("172.16.0.0/12")

// isLocalURL reports whether the address counts as a local backend (ruling
// 29): this machine, or the networks that containers get.
func isLocalURL(raw string) bool {
	if isLoopbackURL(raw) {
		return true
	}
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && localNet.Contains(ip)
}

// isPrivateHost reports whether a host name or address cannot be on the public
// internet: a credential may go there without TLS.
func isPrivateHost(host string) bool {
	host = strings.ToLower(host)
	if host == "localhost" || !strings.Contains(host, ".") && !strings.Contains(host, ":") ||
		strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".lan") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())
}

// checkNotUs refuses a connection that leads back to this very proxy.
func (s *Service) checkNotUs(r ConnectionRecord) error {
	ours, err := url.Parse(s.cfg.Endpoint)
	if err != nil {
		return nil
	}
	us := func(raw string) bool {
		theirs, err := url.Parse(raw)
		return raw != "" && err == nil && isLoopbackURL(raw) && theirs.Port() == ours.Port()
	}
	switch {
	case us(r.BaseURL):
		return Invalid("baseUrl", "this is Breakwater itself; give the address of a provider")
	case us(r.ProxyURL):
		return Invalid("proxyUrl", "this is Breakwater itself; give the address of an outbound proxy")
	}
	return nil
}
