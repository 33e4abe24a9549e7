package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// PortTakenError tells that another program holds the port.
type PortTakenError struct {
	Port int
	Err  error
}

// Error names the port and what can be done.
func (e *PortTakenError) Error() string {
	return fmt.Sprintf("port %d on 127.0.0.1 is held by another program; end that program, or choose another port with --port", e.Port)
}

// Unwrap returns the system's error.
func (e *PortTakenError) Unwrap() error { return e.Err }

// Listen opens the port on both loopback addresses and on no other interface:
// "localhost" is ::1 for some clients and 127.0.0.1 for others (case P56). A
// system without IPv6 gets one listener. Port 0 takes any free one.
func Listen(ctx context.Context, port int) ([]net.Listener, error) {
	var lc net.ListenConfig
	v4, err := lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, &PortTakenError{Port: port, Err: err}
		}
		return nil, fmt.Errorf("listen on 127.0.0.1: %w", err)
	}
	if addr, ok := v4.Addr().(*net.TCPAddr); ok {
		port = addr.Port
	}
	v6, err := lc.Listen(ctx, "tcp6", net.JoinHostPort("::1", strconv.Itoa(port)))
	switch {
	case err == nil:
		return []net.Listener{v4, v6}, nil
	case errors.Is(err, syscall.EADDRINUSE):
		_ = v4.Close() // half an address would look like a fault of the client
		return nil, &PortTakenError{Port: port, Err: err}
	}
	return []net.Listener{v4}, nil
}
