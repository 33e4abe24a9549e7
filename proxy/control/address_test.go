package control

import "testing"

func TestLoopbackHostIsAWholeName(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true,
		"localhost.evil.example": false, "127.0.0.1.evil.example": false, "127.evil.example": false,
		"10.0.0.1": false, "example.com": false, "": false,
	} {
		if got := LoopbackHost(host); got != want {
			t.Errorf("case P48 %q: got %v", host, got)
		}
	}
}
