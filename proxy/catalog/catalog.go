// Package catalog knows the providers: base URLs, dialects, auth style,
// category and quota flags, as plain data.
package catalog

import (
	"strings"

	"breakwater/proxy/dialect"
	"breakwater/resilience/settings"
)

// Auth is the header in which a provider expects its key.
type Auth string

// The auth styles.
const (
	Bearer  Auth = "bearer"    // Authorization: Bearer KEY
	XAPIKey Auth = "x-api-key" // x-api-key: KEY
	NoAuth  Auth = "none"      // no credential
)

// CredentialKind says where a connection's credential comes from (ruling 34).
type CredentialKind string

// The credential kinds.
const (
	// KeyCredential is an API key or a long-lived token that the user pasted.
	KeyCredential CredentialKind = "apikey"
	// TokenCredential is a pasted long-lived OAuth token, sent as a Bearer.
	TokenCredential CredentialKind = "token"
	// OAuthCredential is a stored login: an access token that is refreshed.
	OAuthCredential CredentialKind = "oauth"
	// PassthroughCredential is the client's own Authorization, forwarded
	// unchanged to the provider's own host and nowhere else, never stored.
	PassthroughCredential CredentialKind = "passthrough"
	// NoCredential is for local servers that want none.
	NoCredential CredentialKind = "none"
)

// Endpoint is where a provider serves one dialect.
type Endpoint struct {
	Dialect dialect.Dialect
	// URL is the base to which the dialect's path below /v1 is appended:
	// "/messages", "/chat/completions", "/responses", "/models".
	URL  string
	Auth Auth
}

// Provider is one entry of the catalogue (settings sheet §7).
type Provider struct {
	ID      string
	Name    string   // for people
	Aliases []string // other prefixes that address it in a model name
	// Profile is the figure class (guide §1): oauth, apikey or local.
	Profile   settings.ProfileName
	Endpoints []Endpoint
	// Credentials lists the kinds a connection may use, the default first.
	Credentials []CredentialKind
	// PassthroughPrefixes are the beginnings by which a client's own
	// credential is known to be this provider's.
	PassthroughPrefixes []string
	// TokenURL is where stored logins are refreshed, empty where none is known.
	TokenURL string
	// Models holds glob patterns (path.Match, lower case) of the model names
	// the provider offers; "*" offers any.
	Models []string
	// PerModelQuota tells that quotas are counted per model (sheet §4.5).
	PerModelQuota bool
	// KeyEnv is the environment variable in which users keep the key.
	KeyEnv string
	// KeyURL is where a person gets a key.
	KeyURL string
	// Custom marks the entries whose base URL the user gives.
	Custom bool
	// Hidden marks entries that are not offered for adding (the demo's).
	Hidden bool
}

// Endpoint returns where the provider serves d.
func (p Provider) Endpoint(d dialect.Dialect) (Endpoint, bool) {
	for _, e := range p.Endpoints {
		if e.Dialect == d {
			return e, true
		}
	}
	return Endpoint{}, false
}

// Lookup finds a provider by id or alias, ignoring case.
func Lookup(id string) (Provider, bool) {
	p, ok := byName[strings.ToLower(strings.TrimSpace(id))]
	return p, ok
}

// All returns the catalogue in the order in which it is shown.
func All() []Provider { return append([]Provider(nil), providers...) }
