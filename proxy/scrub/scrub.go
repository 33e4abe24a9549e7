// Package scrub takes secrets out of what an upstream wrote before it goes on to
// a client, the log or the store (case P50).
package scrub

import (
	"bytes"
	"regexp"
	"strings"
)

const (
	// minScrubbed is the length from which a secret is more than a word that
	// may stand in a text by chance.
	minScrubbed = 8
	// longSecret is the length from which its parts are no chance either, and
	// scrubbedRun how many characters in a row are one (case P50).
	longSecret  = 20
	scrubbedRun = 6
	// vendorSegment is the longest segment of a vendor's prefix, as in
	// "sk-ant-api03-", which is no secret.
	vendorSegment = 5
)

var redacted = []byte("[redacted]")

// Text takes a secret out of what an upstream wrote: some repeat it in their
// error messages, whole or with stars in its middle, and clients show and log
// them. It returns the text itself where there is nothing to take out.
func Text(text []byte, secret string) []byte {
	switch {
	case len(secret) < minScrubbed:
		return text
	case len(secret) < longSecret:
		if !bytes.Contains(text, []byte(secret)) {
			return text
		}
		return bytes.ReplaceAll(text, []byte(secret), redacted)
	}
	prefix := vendorPrefix(secret)
	var out []byte
	done := 0
	for i := 0; i+scrubbedRun <= len(text); {
		at := strings.Index(secret[prefix:], string(text[i:i+scrubbedRun]))
		if at < 0 {
			i++
			continue
		}
		from, to := longest(text, i, done, secret, prefix+at)
		out = append(append(out, text[done:from]...), redacted...)
		done, i = to, to
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// masked is a secret that the upstream itself has masked: "sk-ab****yz". Its ends
// are fragments of a key.
var masked = regexp.MustCompile(`[^\s"'(]*\*{2,}[^\s"')]*`)

// Words takes the secret, also one that the upstream has masked, out of a
// refusal's words as they are stored and shown.
func Words(words, secret string) string {
	return masked.ReplaceAllLiteralString(string(Text([]byte(words), secret)), string(redacted))
}

// Header takes the secret out of the headers of a refusal, which may be handed
// on: the values are changed in place.
func Header(h map[string][]string, secret string) {
	for _, values := range h {
		for i, v := range values {
			values[i] = string(Text([]byte(v), secret))
		}
	}
}

// Answer does the same for the headers of an answer, which are only searched for
// the whole secret: every answer passes here.
func Answer(h map[string][]string, secret string) {
	for _, values := range h {
		for i, v := range values {
			if Mentions(v, secret) {
				values[i] = string(Text([]byte(v), secret))
			}
		}
	}
}

// Mentions reports, at little cost, whether a text may hold the whole secret.
func Mentions(text, secret string) bool {
	if len(secret) < minScrubbed || len(text) < len(secret) {
		return false
	}
	return strings.Contains(text, secret)
}

// longest returns the longest run of the secret around text[i], which equals
// secret[at], and not before text[first]. A letter behind a backslash belongs to
// the backslash.
func longest(text []byte, i, first int, secret string, at int) (from, to int) {
	from, to = i, i+scrubbedRun
	for end := at + scrubbedRun; to < len(text) && end < len(secret) && text[to] == secret[end]; end++ {
		to++
	}
	for at > 0 && from > first && text[from-1] == secret[at-1] {
		from--
		at--
	}
	if from > 0 && text[from-1] == '\\' {
		from++
	}
	return from, to
}

func vendorPrefix(secret string) int {
	n := 0
	for {
		i := strings.IndexAny(secret[n:], "-_")
		if i < 0 || i > vendorSegment || len(secret)-n-i-1 < minScrubbed {
			return n
		}
		n += i + 1
	}
}
