package control

import (
	"net/url"
	"strings"
	"testing"

	"breakwater/proxy/catalog"
)

func TestNormalBaseURL(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"Q20 a path without version", "https://relay.example/anthropic", "https://relay.example/anthropic/v1"},
		{"Q20 with a slash", "https://relay.example/anthropic/", "https://relay.example/anthropic/v1"},
		{"Q20 the route of Messages", "https://relay.example/anthropic/v1/messages", "https://relay.example/anthropic/v1"},
		{"Q20 the route of Chat", "https://relay.example/anthropic/chat/completions", "https://relay.example/anthropic/v1"},
		{"Q20 with a query", "https://relay.example/anthropic/v1/messages?beta=true", "https://relay.example/anthropic/v1"},
		{"Q20 with blanks", "  https://relay.example/anthropic/v1/messages/ \n", "https://relay.example/anthropic/v1"},
		{"counting tokens", "https://h.example/v1/messages/count_tokens", "https://h.example/v1"},
		{"Responses in capitals", "https://h.example/V1/Responses", "https://h.example/V1"},
		{"the list of models", "http://127.0.0.1:11434/v1/models", "http://127.0.0.1:11434/v1"},
		{"a route alone", "https://h.example/chat/completions", "https://h.example/v1"},
		{"a version of its own", "https://api.z.ai/api/coding/paas/v4/chat/completions", "https://api.z.ai/api/coding/paas/v4"},
		{"a version before the end", "https://g.example/v1beta/openai/", "https://g.example/v1beta/openai"},
		{"a bare host", "https://h.example", "https://h.example/v1"},
		{"a bare host with a query", "https://h.example?key=1", "https://h.example/v1"},
		{"doubled slashes", "https://h.example//a//v1//", "https://h.example/a/v1"},
		{"a fragment", "https://h.example/v1#top", "https://h.example/v1"},
		{"quotes and a mark without width", "\u200b\"https://h.example/v1\"", "https://h.example/v1"},
		{"an escaped path", "https://h.example/a%2Fb/v1", "https://h.example/a%2Fb/v1"},
		{"a segment that only begins like a version", "https://h.example/v1x-y", "https://h.example/v1x-y/v1"},
		{"an address of the sixth version", "http://[::1]:8080/v1/", "http://[::1]:8080/v1"},
		{"empty", "  ", ""},
		{"no URL", "relay.example", "relay.example"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := NormalBaseURL(tt.in); got != tt.want {
				t.Errorf("%q became %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// Normalising twice changes nothing, and the place that a credential goes to is
// never another one.
func FuzzNormalBaseURL(f *testing.F) {
	for _, s := range []string{
		"https://relay.example/anthropic/v1/messages?x#y", "http://[::1]:80//a/'/", "https://u:p@h.example/%2F/v1/models/", "HTTPS://H.example/messages/messages",
		"https://h.example/v1/a'/", "https://h.example/>/models", "mailto:x", "https://h.example?/v1", "https://h/a b",
		"//0", "//00\"", "https://h\"", "https://h'/x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		once := NormalBaseURL(in)
		if again := NormalBaseURL(once); again != once {
			t.Fatalf("%q became %q, then %q", in, once, again)
		}
		// What surrounds a pasted address is no part of its host, though url.Parse
		// takes a quote for one.
		before, err := url.Parse(strings.TrimRight(in, "\"'`<>\u200b\u2060\ufeff \t\r\n"))
		if err != nil || before.Scheme == "" || before.Host == "" {
			return
		}
		after, err := url.Parse(once)
		if err != nil || after.Host != before.Host || after.Scheme != before.Scheme || after.User.String() != before.User.String() {
			t.Fatalf("%q leads elsewhere: %q %v", in, once, err)
		}
		if after.RawQuery != "" || after.Fragment != "" || strings.HasSuffix(once, "/") {
			t.Fatalf("%q keeps too much: %q", in, once)
		}
	})
}

func TestAKeyIsAskedForAgainAtAnotherHost(t *testing.T) {
	tests := []struct {
		name, provider, from, to string
		moves                    bool
	}{
		{"another host", "custom", "https://a.example/v1", "https://b.example/v1", true},
		{"another path", "custom", "https://a.example/v1", "https://a.example/x/v1", false},
		{"another port", "custom", "https://a.example/v1", "https://a.example:8443/v1", true},
		{"the port of the scheme", "custom", "https://a.example/v1", "https://a.example:443/v1", false},
		{"without TLS", "custom", "https://a.lan/v1", "http://a.lan/v1", true},
		{"capitals", "custom", "https://a.example/v1", "https://A.example/v1", false},
		{"from the provider's own", "openai", "", "https://a.example/v1", true},
		{"back to the provider's own", "openai", "https://a.example/v1", "", true},
		{"the provider's own, written out", "openai", "", "https://api.openai.com/v1", false},
		{"a host that the name only begins with", "openai", "", "https://api.openai.com.evil.example/v1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := catalog.Lookup(tt.provider)
			old := ConnectionRecord{Provider: tt.provider, BaseURL: tt.from}
			next := old
			next.BaseURL = tt.to
			if got := moves(old, next, p); got != tt.moves {
				t.Errorf("moves = %v", got)
			}
		})
	}
}
