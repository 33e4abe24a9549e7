package notify

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPlainLeavesNothingToRun(t *testing.T) {
	for in, want := range map[string]string{
		"Anthropic · work: expired": "Anthropic · work: expired",
		"$(calc) `whoami`":          "＄(calc) ’whoami’",
		`"@` + "\n; calc":           "’@\n; calc",
		"]]><x a='1'>&amp;":         "))›‹x a=’1’›+amp;",
		"a\\\"b\x00\x07":            "a/’b  ",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) is %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		got := plain(rapid.String().Draw(t, "text"))
		if i := strings.IndexAny(got, "$`'\"\\<>&[]\x00\r\t\x1b"); i >= 0 {
			t.Fatalf("%q has %q", got, got[i])
		}
	})
}
