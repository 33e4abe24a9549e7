// Package halfclose tells a client that has closed only its sending side, and
// still reads, from one that has left.
package halfclose

import (
	"net"
	"net/netip"
)

// Reads reports whether the client of a connection, whose sending side has come
// to its end, still reads. From our end both look alike, a FIN and nothing else:
// HTTP allows the half, and every agent's abort is the whole. But clients of ours
// are on this machine, so that the system can be asked about their end of the
// connection. Where it cannot, the answer is no: a client that left must be
// noticed.
func Reads(c net.Conn) bool {
	if c == nil {
		return false
	}
	ours, ok := c.LocalAddr().(*net.TCPAddr)
	if !ok {
		return false
	}
	theirs, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return false
	}
	return reads(plain(theirs), plain(ours))
}

func plain(a *net.TCPAddr) netip.AddrPort {
	p := a.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port())
}
