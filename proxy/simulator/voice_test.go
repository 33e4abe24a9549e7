package simulator

import (
	"net"
	"strings"
	"testing"

	"breakwater/proxy/dialect"
)

// A dialect without a voice is noticed at the start, not by a request that is
// answered in another's form.
func TestItStartsOnlyWithAVoiceForEachDialect(t *testing.T) {
	for _, d := range dialect.All {
		name := d.Traits().Name
		t.Run(string(name), func(t *testing.T) {
			v := voices[name]
			delete(voices, name)
			defer func() { voices[name] = v }()
			ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ln.Close() }() // it was not taken
			if err := New(Options{}).Serve(ln); err == nil || !strings.Contains(err.Error(), string(name)) {
				t.Errorf("started: %v", err)
			}
		})
	}
	if err := speaksAll(); err != nil {
		t.Error(err)
	}
}
