package proxy

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
)

// A refused start names the address that is held, of each loopback family, and
// leaves the other one free.
func TestListenNamesTheAddressThatIsHeld(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			var lc net.ListenConfig
			held, err := lc.Listen(t.Context(), "tcp", net.JoinHostPort(host, "0"))
			if err != nil {
				t.Skip("this system lacks the address: ", err)
			}
			defer held.Close()
			port := held.Addr().(*net.TCPAddr).Port
			_, err = Listen(context.Background(), port)
			taken, ok := errors.AsType[*PortTakenError](err)
			if !ok || taken.Host != host || taken.Port != port {
				t.Fatalf("refused with %v", err)
			}
			if want := net.JoinHostPort(host, strconv.Itoa(port)); !strings.HasPrefix(err.Error(), want+" is held") {
				t.Errorf("%q does not name %s", err, want)
			}
			other := map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"}[host]
			free, err := lc.Listen(t.Context(), "tcp", net.JoinHostPort(other, strconv.Itoa(port)))
			if err != nil {
				t.Fatalf("half an address stayed open: %v", err)
			}
			_ = free.Close() // it was only a trial
		})
	}
}
