package outcome

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCleanWords(t *testing.T) {
	long := strings.Repeat("é", 200)
	for name, c := range map[string]struct{ in, want string }{
		"plain":           {"OAuth is not allowed here.", "OAuth is not allowed here."},
		"empty":           {"", ""},
		"blanks only":     {" \t\r\n\u00a0\u3000", ""},
		"blanks collapse": {"  a \n\t b\u00a0\u00a0c  ", "a b c"},
		"control":         {"a\x00b\x1b[31mc\x7f\u0085d", "ab[31mc d"},
		"zero width":      {"a\u200bb\u200dc\ufeffd\u2060e", "abcde"},
		"direction":       {"a\u202eb\u2066c", "abc"},
		"fillers":         {"a\u3164b\u2800c\ufe0fd", "abcd"},
		"private use":     {"a\ue000b", "ab"},
		"broken bytes":    {"a\xffb\xc3", "ab"},
		"120 stay":        {long[:240], long[:240]},
		"121 are cut":     {long[:242], long[:238] + "…"},
		"cut on a blank":  {strings.Repeat("a", 118) + " bcd", strings.Repeat("a", 118) + "…"},
		"tail of blanks":  {strings.Repeat("a", 120) + "   ", strings.Repeat("a", 120)},
		"other scripts":   {"खाते  बंद", "खाते बंद"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CleanWords(c.in); got != c.want {
				t.Errorf("CleanWords(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func FuzzCleanWords(f *testing.F) {
	for _, s := range []string{"", "a  b", "a\u200b \u200bb", strings.Repeat("日本 ", 90), "\xff\x00\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := CleanWords(text)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxWords {
			t.Errorf("%q: %d characters", got, utf8.RuneCountInString(got))
		}
		if got != strings.TrimSpace(got) || strings.Contains(got, "  ") {
			t.Errorf("blanks left in %q", got)
		}
		if strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("control characters left in %q", got)
		}
		if again := CleanWords(got); again != got {
			t.Errorf("%q becomes %q when cleaned again", got, again)
		}
	})
}
