package i18n

import "breakwater/proxy/control"

// pageWords are what the core says in place of a page's own words (ruling 56).
// They are the product's, so they are translated and not quoted.
const pageWords = "a web page came instead of an answer"

// Why returns why a connection is in its state in the refusal's own words
// (ruling 62), in quotes; empty when there are none, or when the state tells all.
func Why(c control.Connection) string {
	words := c.Words
	switch {
	case c.State == control.StateNeedsAttention && c.NeedsAttention != nil:
		words = c.NeedsAttention.Words
	case c.Reason == "not_api":
		return T(pageWords)
	}
	if words = Line(words); words == "" || words == pageWords {
		return ""
	}
	return T("“%s”", words)
}
