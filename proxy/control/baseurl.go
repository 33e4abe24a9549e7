package control

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
)

// apiRoutes are the paths below a base URL that people copy with it from a
// provider's pages (case Q20), the longest first.
var apiRoutes = []string{
	"/messages/count_tokens", "/chat/completions", "/completions", "/embeddings", "/messages", "/responses", "/models",
}

// versionSegment is a path segment that names an API's version: v1, v4, v1beta.
var versionSegment = regexp.MustCompile(`^v[0-9]+([a-z]+[0-9]*)?$`)

// NormalBaseURL returns a base URL as it is stored (case Q20): without blanks
// and quotes around it, query, fragment, doubled or final slashes and the routes
// that Breakwater appends itself, and with /v1 where the path names no version.
// Scheme and host stay as they are, and what is no URL is left to the check.
func NormalBaseURL(raw string) string {
	for range len(raw) {
		next := normalOnce(raw)
		if next == raw {
			break
		}
		raw = next // cutting one thing may bare another, a quote behind a slash
	}
	return raw
}

func normalOnce(raw string) string {
	text := strings.TrimFunc(raw, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || strings.ContainsRune("\"'`<>\u200b\u2060\ufeff", c)
	})
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return text
	}
	head, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	segments := strings.FieldsFunc(u.EscapedPath(), func(c rune) bool { return c == '/' })
	segments = withoutRoute(segments)
	if !slices.ContainsFunc(segments, isVersion) {
		segments = append(segments, "v1")
	}
	return head + "://" + rest[:end] + "/" + strings.Join(segments, "/")
}

func isVersion(segment string) bool { return versionSegment.MatchString(strings.ToLower(segment)) }

// withoutRoute cuts the known routes from the end of a path.
func withoutRoute(segments []string) []string {
	for {
		path := strings.ToLower("/" + strings.Join(segments, "/"))
		i := slices.IndexFunc(apiRoutes, func(route string) bool { return strings.HasSuffix(path, route) })
		if i < 0 {
			return segments
		}
		segments = segments[:len(segments)-strings.Count(apiRoutes[i], "/")]
	}
}

// Unversioned returns the base URL without the /v1 at its end, for servers that
// have none; ok is false where there is nothing else to try.
func Unversioned(base string) (plain string, ok bool) {
	plain, ok = strings.CutSuffix(base, "/v1")
	_, rest, found := strings.Cut(plain, "://")
	return plain, ok && found && strings.Contains(rest, "/") // of a bare host versioned() makes /v1 again
}

// origins returns scheme, host and port of each address that a connection uses,
// whatever dialects it is limited to.
func origins(rec ConnectionRecord, p catalog.Provider) []string {
	rec.Dialects = nil
	r := newRoute(rec, p, "")
	var out []string
	for _, d := range dialect.All {
		if e, ok := r.Endpoint(d); ok {
			out = append(out, origin(e.URL))
		}
	}
	return out
}

// origin returns scheme, host and port of an address, the port of the scheme
// where none is named. Plain http on the same host counts as another place.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	port := u.Port()
	switch {
	case port == "" && u.Scheme == "http":
		port = "80"
	case port == "":
		port = "443"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// moves reports whether an edit has a connection send its credential to a place
// that it was not given for.
func moves(old, next ConnectionRecord, p catalog.Provider) bool {
	if old.BaseURL == next.BaseURL {
		return false
	}
	before := origins(old, p)
	return slices.ContainsFunc(origins(next, p), func(o string) bool { return !slices.Contains(before, o) })
}

// errKeyOfAnotherHost asks for the key again: the stored one was given for
// another host, and following there silently would hand it to a stranger.
func errKeyOfAnotherHost(r ConnectionRecord) *InvalidError {
	field := "apiKey"
	if catalog.CredentialKind(r.Credential) == catalog.OAuthCredential {
		field = "refreshToken"
	}
	return Invalid(field, "the base URL leads to another host; give the key for it again")
}
