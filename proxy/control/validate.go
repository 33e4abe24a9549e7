package control

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
)

// Bounds of a connection's fields (settings sheet §2.10).
const (
	maxName     = 200
	maxModel    = 300
	maxModels   = 200
	maxKey      = 16 << 10
	maxPriority = 100_000
	maxURL      = 2000

	maxTimeoutMs    = 86_400_000
	maxOrganization = 128
)

// problems collects what is wrong with an input.
type problems struct{ fields []FieldError }

func (p *problems) add(field, format string, args ...any) {
	p.fields = append(p.fields, FieldError{field, fmt.Sprintf(format, args...)})
}

func (p *problems) err() error {
	if len(p.fields) == 0 {
		return nil
	}
	return &InvalidError{Fields: p.fields}
}

// checkRecord validates a whole connection; others are the ones it must not
// clash with, hasKey whether a credential is stored or given.
func checkRecord(r ConnectionRecord, p catalog.Provider, hasKey bool, others []*Route) error {
	var bad problems
	checkName(&bad, r, others)
	checkCredential(&bad, r, p, hasKey)
	checkLogin(&bad, r, p, hasKey)
	checkURL(&bad, r, p)
	checkProxy(&bad, r)
	for _, d := range r.Dialects {
		if known, ok := dialect.Of(dialect.Name(d)); !ok {
			bad.add("dialects", "%q is no dialect; use %s", d, dialect.Choice())
		} else if _, ok := p.Endpoint(known); !ok {
			bad.add("dialects", "%s does not speak %s", p.Name, known.Traits().Title)
		}
	}
	if len(r.DefaultModel) > maxModel || strings.ContainsFunc(r.DefaultModel, unicode.IsControl) {
		bad.add("defaultModel", "at most %d characters, no control characters", maxModel)
	}
	if len(r.Models) > maxModels {
		bad.add("models", "at most %d patterns", maxModels)
	}
	for _, m := range r.Models {
		if m == "" || len(m) > maxModel {
			bad.add("models", "each pattern has 1 to %d characters", maxModel)
			break
		}
	}
	if r.Priority < 1 || r.Priority > maxPriority {
		bad.add("priority", "1 to %d", maxPriority)
	}
	if (r.LowPriorityMode || r.AutoLimitReset) && !isClaude(p) {
		bad.add("lowPriorityMode", "only Claude subscription connections have the low-priority lane and the limit reset")
	}
	if r.TimeoutMs < 0 || r.TimeoutMs > maxTimeoutMs {
		bad.add("timeoutMs", "1 to %d milliseconds, or 0 for the usual time", maxTimeoutMs)
	}
	if len(r.OrganizationUUID) > maxOrganization || strings.ContainsFunc(r.OrganizationUUID, unicode.IsControl) {
		bad.add("organizationUUID", "at most %d characters, no control characters", maxOrganization)
	}
	return bad.err()
}

func checkName(bad *problems, r ConnectionRecord, others []*Route) {
	switch {
	case r.Name == "":
		bad.add("name", "must not be empty")
	case len(r.Name) > maxName:
		bad.add("name", "at most %d characters", maxName)
	case strings.ContainsRune(r.Name, '/') || unreadable(r.Name):
		bad.add("name", "must not contain a slash, control characters or signs that nobody sees")
	}
	for _, o := range others {
		if o.Record.ID != r.ID && strings.EqualFold(o.Record.Name, r.Name) {
			bad.add("name", "another connection has this name")
			return
		}
	}
}

func checkCredential(bad *problems, r ConnectionRecord, p catalog.Provider, hasKey bool) {
	kind := catalog.CredentialKind(r.Credential)
	if !slices.Contains(p.Credentials, kind) {
		names := make([]string, len(p.Credentials))
		for i, c := range p.Credentials {
			names[i] = string(c)
		}
		bad.add("credential", "%s takes %s", p.Name, strings.Join(names, " or "))
		return
	}
	if (kind == catalog.KeyCredential || kind == catalog.TokenCredential) && !hasKey {
		bad.add("apiKey", "a key is needed")
	}
}

// checkKey validates a credential's form. It never repeats the credential.
func checkKey(key string) error {
	switch {
	case len(key) > maxKey:
		return Invalid("apiKey", "at most %d characters", maxKey)
	case strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c == 0x7f || c > 0xff }):
		return Invalid("apiKey", "must not contain spaces, line breaks or special characters")
	}
	return nil
}

func checkURL(bad *problems, r ConnectionRecord, p catalog.Provider) {
	if r.BaseURL == "" {
		if p.Custom {
			bad.add("baseUrl", "a base URL is needed, such as https://llm.example.com/v1")
		}
		return
	}
	u, err := url.Parse(r.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || len(r.BaseURL) > maxURL:
		bad.add("baseUrl", "must be a URL that begins with http:// or https://")
	case !validPort(u):
		bad.add("baseUrl", "the port is a number from 1 to 65535")
	case u.User != nil:
		bad.add("baseUrl", "must not hold a user name or password")
	case u.RawQuery != "" || u.Fragment != "":
		bad.add("baseUrl", "must not hold a query or a fragment")
	case u.Scheme == "http" && !isPrivateHost(u.Hostname()):
		bad.add("baseUrl", "plain http is only allowed on this machine and in private networks; use https")
	case catalog.CredentialKind(r.Credential) == catalog.PassthroughCredential && !isLoopbackURL(r.BaseURL):
		// Ruling 34: the client's own login goes to the provider's own host
		// and nowhere else; only this machine may stand in for it.
		bad.add("baseUrl", "a passthrough connection always goes to the provider's own host")
	}
}

// validPort reports whether the URL names no port or one that exists.
func validPort(u *url.URL) bool {
	p := u.Port()
	if p == "" {
		return true
	}
	n, err := strconv.Atoi(p)
	return err == nil && n >= 1 && n <= 65535
}

func isClaude(p catalog.Provider) bool { return p.ID == "claude" }

// Bounds of the product's settings.
const (
	minActivityLimit = 100
	maxActivityLimit = 1_000_000
)

// Bounds of what is kept of the windows' tables.
const (
	maxTables     = 30
	maxColumns    = 30
	maxColumnName = 40
	maxColumnSize = 4000
)

func checkWindows(bad *problems, s Settings) {
	if s.TextScale < 80 || s.TextScale > 200 {
		bad.add("textScale", "80 to 200")
	}
	fits := len(s.Tables) <= maxTables
	for name, columns := range s.Tables {
		fits = fits && len(name) <= maxColumnName && len(columns) <= maxColumns
		for _, c := range columns {
			fits = fits && len(c.Key) <= maxColumnName && c.Width >= 0 && c.Width <= maxColumnSize
		}
	}
	if !fits {
		bad.add("tables", "at most %d tables of %d columns, each up to %d wide", maxTables, maxColumns, maxColumnSize)
	}
}

// unreadable reports whether a name holds what misleads the eye: control
// characters, those that turn the direction of the text, and those without
// width. The joiners that some scripts need are fine between others.
func unreadable(name string) bool {
	hidden := func(c rune) bool {
		return unicode.IsControl(c) || c == unicode.ReplacementChar || unicode.Is(unicode.Bidi_Control, c) ||
			c == '\u200b' || c == '\u2060' || c == '\ufeff' || c == '\u2028' || c == '\u2029'
	}
	seen := func(c rune) bool { return unicode.IsGraphic(c) && !unicode.IsSpace(c) }
	return strings.ContainsFunc(name, hidden) || !strings.ContainsFunc(name, seen)
}

// Languages are the codes of the languages that the desktop speaks.
func Languages() []string { return []string{"en", "es", "mr"} }

// CheckLanguage looks at a language that is to be set. One that was stored
// already, by a version that has more of them, keeps nobody from other changes.
func CheckLanguage(given *string) error {
	if given == nil || *given == "" || slices.Contains(Languages(), *given) {
		return nil
	}
	return Invalid("language", "%s, or empty for the system's", strings.Join(Languages(), ", "))
}

func checkSettings(s Settings) error {
	var bad problems
	if !slices.Contains([]string{"system", "light", "dark"}, s.Theme) {
		bad.add("theme", "system, light or dark")
	}
	checkNotifications(&bad, s.Notify)
	checkWindows(&bad, s)
	if s.ActivityLimit < minActivityLimit || s.ActivityLimit > maxActivityLimit {
		bad.add("activityLimit", "%d to %d", minActivityLimit, maxActivityLimit)
	}
	if u, err := url.Parse(s.EgressProbeURL); s.EgressProbeURL != "" &&
		(err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https") {
		bad.add("egressProbeUrl", "an address that begins with https:// and holds no credentials, or empty")
	}
	if u, err := url.Parse(s.ClaudeBaseURL); s.ClaudeBaseURL != "" && (err != nil || u.Host == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && !(u.Scheme == "http" && isPrivateHost(u.Hostname()))) {
		bad.add("claudeBaseUrl", "must be a URL that begins with https://, or http:// on this machine and in private networks")
	}
	return bad.err()
}
