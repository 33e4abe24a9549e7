package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// PortTakenError tells that another program holds the port on one of the
// loopback addresses.
type PortTakenError struct {
	Host string // 127.0.0.1 or ::1, the one that is held
	Port int
	Err  error
}

// Error names the address and what can be done.
func (e *PortTakenError) Error() string {
	return fmt.Sprintf("%s is held by another program; end that program, or choose another port with --port", net.JoinHostPort(e.Host, strconv.Itoa(e.Port)))
}

// Unwrap returns the system's error.
func (e *PortTakenError) Unwrap() error { return e.Err }

// Listen opens the port on both loopback addresses and on no other interface:
// "localhost" is ::1 for some clients and 127.0.0.1 for others (case P56). A
// system without IPv6 gets one listener. Port 0 takes any free one.
func Listen(ctx context.Context, port int) ([]net.Listener, error) {
	const host4, host6 = "127.0.0.1", "::1"
	var lc net.ListenConfig
	v4, err := lc.Listen(ctx, "tcp4", net.JoinHostPort(host4, strconv.Itoa(port)))
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, &PortTakenError{Host: host4, Port: port, Err: err}
		}
		return nil, fmt.Errorf("listen on %s: %w", host4, err)
	}
	if addr, ok := v4.Addr().(*net.TCPAddr); ok {
		port = addr.Port
	}
	v6, err := lc.Listen(ctx, "tcp6", net.JoinHostPort(host6, strconv.Itoa(port)))
	switch {
	case err == nil:
		return []net.Listener{v4, v6}, nil
	case errors.Is(err, syscall.EADDRINUSE):
		_ = v4.Close() // half an address would look like a fault of the client
		return nil, &PortTakenError{Host: host6, Port: port, Err: err}
	}
	return []net.Listener{v4}, nil
}
