package view

import (
	"net/url"
	"strings"
	"time"

	"breakwater/proxy/control"
)

// Outlet is the way of a connection's requests out of this machine.
type Outlet struct {
	Name, Host   string
	Way          string // directly, by a proxy, or as the environment says
	Address, Tip string // by which they left last, as far as it is known
}

// Outlets returns the ways out, in routing order, with the addresses that the
// newest requests tell.
func Outlets(s control.Snapshot, list []control.Activity, now time.Time) []Outlet {
	seen := map[string]*control.Activity{}
	for i := range list {
		if a := &list[i]; a.EgressIP != "" && seen[a.ConnectionID] == nil {
			seen[a.ConnectionID] = a
		}
	}
	out := make([]Outlet, len(s.Connections))
	for i, c := range s.Connections {
		out[i] = Outlet{Name: c.Name, Host: hostOf(c.BaseURL), Way: wayOut(c), Address: T("not known yet")}
		if a := seen[c.ID]; a != nil {
			out[i].Address, out[i].Tip = a.EgressIP, Ago(a.At, now)
		}
	}
	return out
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return base
	}
	return u.Host
}

// Listening returns the addresses at which the proxy takes requests, and its
// port, from the endpoint that clients are given.
func Listening(endpoint string) (addresses []string, port string) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Port() == "" {
		return nil, ""
	}
	port = u.Port()
	return []string{"127.0.0.1:" + port, "[::1]:" + port}, port
}

// TunnelCommand brings the proxy of another machine here.
func TunnelCommand(port string) string {
	return strings.ReplaceAll("ssh -N -L PORT:127.0.0.1:PORT user@host", "PORT", port)
}
