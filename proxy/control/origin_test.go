package control

import (
	"errors"
	"strings"
	"testing"
)

func TestAllowedOriginsThatCanMatchNothing(t *testing.T) {
	for _, o := range []string{
		"http://localhost:5173", "https://localhost", "https://app.example.com:8443", "http://127.0.0.1:3000", "http://[::1]:5173",
		"http://[2001:db8::1]", "http://[::ffff:7f00:1]:8080", "https://xn--bcher-kva.example", "http://my_host:1", "http://localhost.:5173",
		"http://a-b.c:65535", "https://h:80", "http://h:443", "http://4chan.example",
	} {
		if err := checkOrigins(&[]string{o}); err != nil {
			t.Errorf("%s was refused: %v", o, err)
		}
	}
	for o, why := range map[string]string{
		"":                           "begins with http",
		"null":                       "begins with http",
		"*":                          "begins with http",
		"localhost:5173":             "begins with http",
		"//localhost:5173":           "begins with http",
		"ftp://localhost":            "begins with http",
		"file://":                    "begins with http",
		"http://":                    "begins with http",
		"http://a b":                 "begins with http",
		" http://localhost:5173":     "begins with http",
		"http://localhost:5173 ":     "begins with http",
		"http://localhost:5173/":     "without a slash",
		"http://localhost:5173/app":  "without a slash",
		"http://localhost:5173?a=b":  "without a slash",
		"http://localhost:5173#top":  "without a slash",
		"http://u:hidden@localhost":  "no user name",
		"HTTP://localhost:5173":      "lower case",
		"http://Localhost:5173":      "lower case",
		"http://[2001:DB8::1]":       "lower case",
		"http://localhost:80":        "leave out port 80",
		"https://localhost:443":      "leave out port 443",
		"http://localhost:":          "port is a number",
		"http://localhost:0":         "port is a number",
		"http://localhost:05173":     "port is a number",
		"http://localhost:65536":     "port is a number",
		"http://localhost:*":         "begins with http",
		"http://*.example.com":       "wildcards",
		"http://*":                   "wildcards",
		"http://bücher.example":      "xn--",
		"http://a..b":                "plain name",
		"http://.a":                  "plain name",
		"http://a,http://b":          "without a slash",
		"http://a,b":                 "plain name",
		"http://127.1:80":            "leave out port 80",
		"http://127.1":               "four plain numbers",
		"http://2130706433":          "four plain numbers",
		"http://0x7f.0.0.0x1":        "four plain numbers",
		"http://127.0.0.01":          "four plain numbers",
		"http://[0:0:0:0:0:0:0:1]":   "shortest form",
		"http://[::ffff:127.0.0.1]":  "shortest form",
		"http://[fe80::1%25eth0]":    "shortest form",
		"http://[::1":                "begins with http",
		"https://localhost:5173\r\n": "begins with http",
	} {
		err := checkOrigins(&[]string{"http://localhost:1", o})
		var invalid *InvalidError
		if !errors.As(err, &invalid) || len(invalid.Fields) != 1 || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "entry 2") {
			t.Errorf("%q: got %v, want %q", o, err, why)
		} else if strings.Contains(err.Error(), "hidden") {
			t.Errorf("the error repeats a password: %v", err)
		}
	}
}

// Whatever is let through is an origin in the one form that browsers send.
func FuzzAllowedOrigins(f *testing.F) {
	for _, o := range []string{"http://localhost:5173", "https://[::1]", "http://127.0.0.1", "http://a/", "http://%41", "null"} {
		f.Add(o)
	}
	f.Fuzz(func(t *testing.T, o string) {
		if originFault(o) != "" {
			return
		}
		rest, http := strings.CutPrefix(o, "http://")
		rest, https := strings.CutPrefix(rest, "https://")
		if !http && !https || strings.Trim(rest, nameLetters+".:[]") != "" || rest == "" {
			t.Errorf("%q was let through", o)
		}
	})
}
