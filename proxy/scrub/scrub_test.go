package scrub

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestScrub(t *testing.T) {
	const long = "sk-ant-api03-Xq7Lm2Vd9RtB4wZs8KpN"
	for _, tc := range []struct{ name, secret, text, want string }{
		{"twice", "sk-canary-1", "bad key sk-canary-1, sk-canary-1", "bad key [redacted], [redacted]"},
		{"another one", "sk-canary-1", "bad key sk-canary-2", "bad key sk-canary-2"},
		{"none", "", "bad key", "bad key"},
		{"too short to be one", "key", "a short key is a word, too", "a short key is a word, too"},
		{"whole", long, "bad key " + long + ".", "bad key [redacted]."},
		{"stars in the middle", long, "bad key sk-ant-api03-Xq7Lm2****8KpN", "bad key [redacted]****8KpN"},
		{"its end", long, "a key that ends in ZZs8KpN", "a key that ends in Z[redacted]"},
		{"five characters are left", long, "wZs8K", "wZs8K"},
		{"the vendor's prefix is left", long, "keys begin with sk-ant-api03-", "keys begin with sk-ant-api03-"},
		{"a broken line", long, "Xq7Lm2Vd9\nRtB4wZs8KpN", "[redacted]\n[redacted]"},
		{"an escape before it stays whole", "n" + long, `"\nnsk-ant-api03-Xq7Lm2Vd9"`, `"\n[redacted]"`},
		{"an escape that looks like its first letter", "nQq7Lm2Vd9RtB4wZs8KpN", `"\nQq7Lm2Vd9RtB4wZs8KpN"`, `"\n[redacted]"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := string(Text([]byte(tc.text), tc.secret)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// No part of a secret is left, wherever it stood, and nothing else is lost.
func TestScrubLeavesNoPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := "sk-test-" + rapid.StringMatching(`[A-Z0-9]{20,60}`).Draw(t, "secret")
		pieces := rapid.SliceOfN(rapid.StringMatching(`[abcdf "{}:,]{0,12}`), 1, 6).Draw(t, "pieces")
		var text strings.Builder
		for i, p := range pieces {
			if i > 0 {
				from := rapid.IntRange(0, len(secret)-1).Draw(t, "from")
				text.WriteString(secret[from:rapid.IntRange(from, len(secret)).Draw(t, "to")])
			}
			text.WriteString(p)
		}
		got := string(Text([]byte(text.String()), secret))
		part := secret[len("sk-test-"):]
		for i := range len(part) - scrubbedRun + 1 {
			if run := part[i : i+scrubbedRun]; strings.Contains(got, run) {
				t.Fatalf("%q is left in %q", run, got)
			}
		}
		at := 0
		for _, p := range pieces {
			i := strings.Index(got[at:], p)
			if i < 0 {
				t.Fatalf("%q is gone from %q", p, got)
			}
			at += i + len(p)
		}
	})
}

func FuzzScrub(f *testing.F) {
	f.Add("bad key sk-ant-api03-Xq7Lm2****8KpN", "sk-ant-api03-Xq7Lm2Vd9RtB4wZs8KpN")
	f.Fuzz(func(t *testing.T, text, secret string) {
		got := Text([]byte(text), secret)
		if len(secret) >= minScrubbed && Mentions(string(got), secret) && !strings.Contains("[redacted]", secret) {
			t.Errorf("Scrub(%q, %q) = %q", text, secret, got)
		}
	})
}

func TestHeadersOfARefusalLoseEveryPartOfTheSecret(t *testing.T) {
	const secret = "sk-ant-api03-Xq7Lm2Vd9RtB4wZs8KpN"
	refusal := map[string][]string{"X-Key": {"bad " + secret, "ends in ZZs8KpN"}, "X-Id": {"req_1"}}
	Header(refusal, secret)
	if refusal["X-Key"][0] != "bad [redacted]" || refusal["X-Key"][1] != "ends in Z[redacted]" || refusal["X-Id"][0] != "req_1" {
		t.Errorf("got %v", refusal)
	}
	answer := map[string][]string{"X-Key": {"bad " + secret, "ends in ZZs8KpN"}}
	Answer(answer, secret)
	if answer["X-Key"][0] != "bad [redacted]" || answer["X-Key"][1] != "ends in ZZs8KpN" {
		t.Errorf("got %v", answer)
	}
}
