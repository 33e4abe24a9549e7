package outcome

import (
	"strings"
	"unicode"
)

// maxWords is how many characters of a refusal's words are kept.
const maxWords = 120

// CleanWords makes a refusal's own words fit to be stored and shown: control
// and invisible characters are removed, runs of blanks become one space and
// at most 120 characters remain, the last an ellipsis when some were cut off.
// Keys are not removed here; the caller does so first.
func CleanWords(text string) string {
	var b strings.Builder
	kept, blank := 0, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			blank = kept > 0
			continue
		case r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r):
			continue
		case invisible(r):
			continue
		}
		if blank {
			b.WriteByte(' ')
			kept, blank = kept+1, false
		}
		b.WriteRune(r)
		kept++
		if kept > maxWords {
			return cut(b.String())
		}
	}
	return b.String()
}

// invisible reports a character that counts as graphic yet shows nothing:
// fillers, variation selectors and the braille blank.
func invisible(r rune) bool {
	return unicode.Is(unicode.Variation_Selector, r) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || r == '\u2800'
}

// cut shortens a text of more than maxWords characters to maxWords with an
// ellipsis.
func cut(text string) string {
	runes := []rune(text)
	return strings.TrimRight(string(runes[:maxWords-1]), " ") + "…"
}
