package halfclose

import (
	"errors"
	"net"
	"runtime"
	"testing"
	"time"
)

// pair returns both ends of a connection.
func pair(t *testing.T, network, address string) (ours net.Conn, theirs *net.TCPConn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), network, address)
	if err != nil {
		t.Skipf("no %s here: %v", network, err)
	}
	defer func() { _ = l.Close() }()
	c, err := new(net.Dialer).DialContext(t.Context(), network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if ours, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = ours.Close(), c.Close() })
	return ours, c.(*net.TCPConn) //nolint:forcetypeassert // of a TCP network
}

func TestReads(t *testing.T) {
	half := runtime.GOOS == "linux" // the others do not say
	for network, address := range map[string]string{"tcp4": "127.0.0.1:0", "tcp6": "[::1]:0"} {
		for name, tc := range map[string]struct {
			do   func(c *net.TCPConn) error
			want bool
		}{
			"nothing closed":        {func(*net.TCPConn) error { return nil }, false},
			"sending side closed":   {(*net.TCPConn).CloseWrite, half},
			"receiving side closed": {(*net.TCPConn).CloseRead, false},
			"both sides closed":     {func(c *net.TCPConn) error { return errors.Join(c.CloseRead(), c.CloseWrite()) }, false},
			"both, the other order": {func(c *net.TCPConn) error { return errors.Join(c.CloseWrite(), c.CloseRead()) }, false},
			"closed":                {(*net.TCPConn).Close, false},
			"closed after a half":   {func(c *net.TCPConn) error { return errors.Join(c.CloseWrite(), c.Close()) }, false},
			"reset":                 {func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }, false},
			"closed with a linger":  {func(c *net.TCPConn) error { return errors.Join(c.SetLinger(3), c.Close()) }, false},
		} {
			t.Run(network+" "+name, func(t *testing.T) {
				ours, theirs := pair(t, network, address)
				if err := tc.do(theirs); err != nil {
					t.Fatal(err)
				}
				if got := Reads(ours); got != tc.want {
					t.Errorf("Reads is %v", got)
				}
			})
		}
	}
}

// A client that is about to close is never taken for one that reads, however
// soon after its FIN it is looked at.
func TestReadsAtTheMomentOfTheEnd(t *testing.T) {
	for range 300 {
		ours, theirs := pair(t, "tcp4", "127.0.0.1:0")
		go func() { _ = theirs.Close() }()
		if n, err := ours.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Fatalf("read %d, %v", n, err)
		}
		if Reads(ours) {
			t.Fatal("a client that closes was taken for one that reads")
		}
	}
}

func TestReadsOfOtherConnections(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	ours, theirs := pair(t, "tcp4", "127.0.0.1:0")
	_, _ = theirs.Close(), ours.Close()
	for name, c := range map[string]net.Conn{"none": nil, "a pipe": a, "both ends closed": ours} {
		if Reads(c) {
			t.Errorf("%s reads", name)
		}
	}
}

func BenchmarkReads(b *testing.B) {
	l, err := new(net.ListenConfig).Listen(b.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.DialTimeout("tcp4", l.Addr().String(), time.Second)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ours, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = ours.Close() }()
	for b.Loop() {
		Reads(ours)
	}
}
