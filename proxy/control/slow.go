package control

import (
	"net/netip"
	"net/url"

	"breakwater/resilience/claude"
	"breakwater/resilience/slow"
)

// Slow returns the targets that are asked last because they kept requests
// waiting in silence (ruling 69).
func (s *Service) Slow() *slow.Table { return &s.slow }

// InLane reports whether Claude's low-priority lane is active on the connection:
// its answers may take long.
func (s *Service) InLane(id string) bool {
	for _, l := range s.claude.lanes.Status(s.Now(), id) {
		if l.State == claude.LaneActive {
			return true
		}
	}
	return false
}

// sharedNet is the range that carriers and overlay networks use (RFC 6598).
var sharedNet = netip.MustParsePrefix("100.64.0.0/10")

// Nearby reports whether the connection's server is on this machine or a private
// network: a model there may load for minutes before its first byte.
func (r *Route) Nearby() bool { return r.nearby }

func isNearby(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	if isPrivateHost(u.Hostname()) {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && sharedNet.Contains(ip)
}

// slowUntil shows until when a connection's targets are asked last.
func (s *Service) slowUntil(r *Route, c *Connection) {
	for _, e := range s.slow.Snapshot(s.Now(), r.Record.ID) {
		c.Slow = append(c.Slow, SlowTarget{Model: e.Model, Until: *s.Real(e.Until)})
	}
}
