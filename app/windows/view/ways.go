package view

import (
	"net/url"
	"strings"

	"breakwater/proxy/control"
)

// The ways out of this machine that a connection may take.
const (
	WayUsual  = "usual" // as the environment says
	WayDirect = "direct"
	WayProxy  = "proxy"
)

// Ways returns the ways out in the order in which they are offered.
func Ways() []Option {
	return []Option{
		{ID: WayUsual, Word: T("As the environment says")}, {ID: WayDirect, Word: T("Directly")}, {ID: WayProxy, Word: T("Through a proxy")},
	}
}

// WayOf reads a stored proxyUrl: the way, and the address of its proxy.
func WayOf(proxyURL string) (way, address string) {
	switch proxyURL {
	case "":
		return WayUsual, ""
	case control.DirectProxy:
		return WayDirect, ""
	}
	return WayProxy, proxyURL
}

// ProxyURL is the reverse of WayOf. A proxy without an address gives what the
// facade refuses in words.
func ProxyURL(way, address string) string {
	switch way {
	case WayDirect:
		return control.DirectProxy
	case WayProxy:
		if address = strings.TrimSpace(address); address == "" {
			return "http://"
		}
		return address
	}
	return ""
}

// ProxyHint explains the address of a connection's proxy.
func ProxyHint(hasLogin bool) string {
	if hasLogin {
		return T("A user name and a password for it are stored. They stay as long as the address does.")
	}
	return T("Such as http://proxy.example:3128 or socks5://127.0.0.1:1080. A user name and a password in it are kept like the key.")
}

// wayOut tells in a few words how a connection's requests leave.
func wayOut(c control.Connection) string {
	u, err := url.Parse(c.BaseURL)
	if err == nil && control.LoopbackHost(u.Hostname()) {
		return T("stays on this machine")
	}
	switch way, address := WayOf(c.ProxyURL); way {
	case WayDirect:
		return T("directly")
	case WayProxy:
		return hostOf(address)
	}
	return T("as the environment says")
}
