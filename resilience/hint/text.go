package hint

import (
	"regexp"
	"strings"
	"time"
)

// leadSpan are the words before a span, leadMoment those before a date. Both
// end where the value begins.
var (
	leadSpan = regexp.MustCompile(`(?i)\b(?:` +
		`(?:re)?try(?:\s+your\s+request)?(?:\s+again)?\s+(?:in|after)` +
		`|(?:will\s+)?(?:be\s+)?(?:resets?|resetting|renews?|refresh(?:es)?|available(?:\s+again)?|recovers?|unlocks?)\s+(?:in|after)` +
		`|wait(?:\s+for)?(?:\s+at\s+least)?` +
		`)\s*:?\s*(?:about\s+|approximately\s+|around\s+|~\s*)?`)
	leadMoment = regexp.MustCompile(`(?i)(?:\b(?:try\s+again\s+(?:at|after|on)|retry\s+(?:at|after)|(?:wait\s+)?until|resets?(?:\s+(?:at|on|time))?(?:\s+is)?|renews?\s+(?:at|on)|available(?:\s+again)?\s+(?:at|on))\s*:?\s*|(?:将在|将于|请在)\s*)`)
	isoMoment  = regexp.MustCompile(`(?i)^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?`)
	// Chinese puts the span before the verb: "30 秒后重试".
	spanAfter = regexp.MustCompile(`\d+(?:\.\d+)?\s*(?:秒钟?|分钟?|小时|天)(?:后|之后)`)
)

// maxLeads bounds how many places of one text are tried.
const maxLeads = 32

// fromText returns the first wait in the words, spans before dates before
// clock times.
func fromText(words string, in Input) (find, bool) {
	for _, at := range leadSpan.FindAllStringIndex(words, maxLeads) {
		rest := strings.ToLower(words[at[1]:])
		if d, n := scanSpan(rest); d > 0 {
			return find{wait: d, raw: cut(words, at[0], at[1]+n), source: SourceBody}, true
		}
	}
	if m := spanAfter.FindStringIndex(words); m != nil {
		if d, _ := scanSpan(words[m[0]:m[1]]); d > 0 {
			return find{wait: d, raw: words[m[0]:m[1]], source: SourceBody}, true
		}
	}
	zone := in.Zone
	if zone == nil {
		zone = time.UTC
	}
	for _, at := range leadMoment.FindAllStringIndex(words, maxLeads) {
		iso := isoMoment.FindString(words[at[1]:])
		if iso == "" {
			continue
		}
		if t, ok := parseDateIn(iso, zone); ok && t.After(in.Now) {
			return find{wait: t.Sub(in.Now), raw: cut(words, at[0], at[1]+len(iso)), source: SourceBody}, true
		}
	}
	return fromClock(words, in.Now, zone)
}

// cut slices s; lower-casing may change the length of letters outside ASCII,
// so the end is only nearly right and must stay within bounds.
func cut(s string, from, to int) string {
	return strings.ToValidUTF8(s[from:min(to, len(s))], "")
}
