package control

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"breakwater/proxy/catalog"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/settings"
)

// Route is one connection as the attempt loop sees it: address, credential and
// state together in one immutable value. An edit makes a new Route, so that a
// request never mixes the address of one version with the key of another.
type Route struct {
	Record   ConnectionRecord
	Provider catalog.Provider
	Conn     *resilience.Conn
	Use      *Use

	endpoints []catalog.Endpoint // in the order of dialect.All
	models    []string
	vendor    string
	key       string
	proxy     string // outbound, with its login
	login     *login // of a refreshable credential, in place of key
	nearby    bool   // an endpoint is on this machine or a private network
}

// Use counts what a connection does; it outlives edits.
type Use struct {
	InFlight atomic.Int64
	Served   atomic.Int64
	Failed   atomic.Int64
	LastUsed atomic.Int64 // Unix milliseconds
	// Egress is by which address the connection left when that was last looked
	// at; nil before the first look.
	Egress atomic.Pointer[Egress]
	// Models is the provider's own list; nil before it was fetched.
	Models    atomic.Pointer[ModelList]
	listTried atomic.Int64 // Unix milliseconds of the last fetch in the background
}

// Vendor names whose models the connection leads to, empty where that is not
// known (ruling 61).
func (r *Route) Vendor() string { return r.vendor }

// Key returns the connection's credential. It must never be printed.
func (r *Route) Key() string {
	if r.login != nil {
		return r.login.present().Access
	}
	return r.key
}

// hasSecret reports whether a credential is stored.
func (r *Route) hasSecret() bool { return r.key != "" || r.login != nil }

// keyMissing reports whether the connection lives by a stored credential that is
// not there: the data came from another machine, or the keychain lost it.
func (r *Route) keyMissing() bool {
	switch r.Credential() {
	case catalog.KeyCredential, catalog.TokenCredential, catalog.OAuthCredential:
		return !r.hasSecret()
	}
	return false
}

// sameSecret reports whether both versions of a connection send the same
// credential.
func (r *Route) sameSecret(o *Route) bool { return r.key == o.key && r.login == o.login }

// Credential returns where the credential comes from.
func (r *Route) Credential() catalog.CredentialKind {
	return catalog.CredentialKind(r.Record.Credential)
}

// Endpoint returns where the connection speaks d, if it does.
func (r *Route) Endpoint(d dialect.Dialect) (catalog.Endpoint, bool) {
	for _, e := range r.endpoints {
		if e.Dialect == d {
			return e, true
		}
	}
	return catalog.Endpoint{}, false
}

// Speaks returns the dialects the connection speaks, in the order of dialect.All.
func (r *Route) Speaks() []dialect.Dialect {
	out := make([]dialect.Dialect, len(r.endpoints))
	for i, e := range r.endpoints {
		out[i] = e.Dialect
	}
	return out
}

// Dialects returns the names of the dialects the connection speaks.
func (r *Route) Dialects() []string {
	var out []string
	for _, e := range r.endpoints {
		out = append(out, string(e.Dialect.Traits().Name))
	}
	return out
}

// BaseURL returns the connection's first address.
func (r *Route) BaseURL() string {
	if len(r.endpoints) == 0 {
		return ""
	}
	return r.endpoints[0].URL
}

// sameAddress reports whether both versions of a connection send their calls to
// the same places by the same way.
func (r *Route) sameAddress(o *Route) bool {
	return r.proxy == o.proxy && slices.Equal(r.endpoints, o.endpoints)
}

func (r *Route) offers(model string) bool {
	return matches(r.models, model) && !r.Excludes(model)
}

// serves reports whether a request for the model may go here, under the
// model's own name or under that of the connection's default.
func (r *Route) serves(model string) bool { return r.offers(model) || r.fallback() != "" }

// fallback is the model that is asked for in place of one that the connection
// does not offer, empty for none.
func (r *Route) fallback() string {
	if r.Excludes(r.Record.DefaultModel) {
		return ""
	}
	return r.Record.DefaultModel
}

// newRoute resolves a record against the catalogue.
func newRoute(rec ConnectionRecord, p catalog.Provider, key string) *Route {
	r := &Route{Record: rec, Provider: p, Use: &Use{}, key: key, proxy: rec.ProxyURL, vendor: p.Vendor(), models: rec.Models}
	if r.Credential() == catalog.OAuthCredential {
		r.key, r.login = "", newLogin(key)
	}
	if len(r.models) == 0 {
		r.models = p.Models
		if rec.BaseURL != "" {
			// A gateway behind the provider's name may offer anything.
			r.models = []string{"*"}
		}
	}
	for _, d := range dialect.All {
		e, ok := p.Endpoint(d)
		if !ok || len(rec.Dialects) > 0 && !slices.Contains(rec.Dialects, string(d.Traits().Name)) {
			continue
		}
		if rec.BaseURL != "" {
			e.URL = versioned(rec.BaseURL)
		}
		if e.URL != "" {
			r.endpoints = append(r.endpoints, e)
			r.nearby = r.nearby || isNearby(e.URL)
		}
	}
	return r
}

// versioned appends the /v1 that nearly every API has where the user gave a
// bare host: both spellings are common in the clients' own settings.
func versioned(base string) string {
	base = strings.TrimRight(base, "/")
	_, rest, ok := strings.Cut(base, "://")
	if ok && !strings.Contains(rest, "/") {
		return base + "/v1"
	}
	return base
}

// Ask is what a client wants, as far as it matters for choosing connections.
type Ask struct {
	Dialect dialect.Dialect
	Model   string
	// Admits tells whether the client brought what a passthrough connection
	// needs. A nil func admits none.
	Admits func(*Route) bool
	// Grant limits the connections to those of the client's key.
	Grant Grant
	// Hold is the lease of the request: its connection comes first, and those
	// of other owners are passed over. Without one every connection that is
	// leased, or kept for leases, is.
	Hold *Hold
}

// Choice is a connection that could serve an Ask.
type Choice struct {
	Route *Route
	Model string // the model's name at this upstream
}

// Passed is a connection that speaks the dialect but cannot serve an Ask.
type Passed struct {
	Route  *Route
	Reason exclusion.Reason
}

// Choose returns the connections that speak the dialect and offer the model,
// in routing order, and those that were passed over.
//
// A model name may begin with a connection's name, a provider's id or an
// alias, which then decides; only a first segment that we know counts as such,
// the rest is the model, slashes included (cases P44, P45). A connection that
// does not offer the model takes part with its default model. Where nobody
// offers the model the upstreams are asked all the same: catalogues age.
func (s *Service) Choose(q Ask) (choices []Choice, passed []Passed) {
	choices, passed = s.choose(q, s.takenFrom(q.Hold))
	if q.Hold != nil {
		// A lease stays with its connection for as long as that one serves.
		slices.SortStableFunc(choices, func(a, b Choice) int {
			return cmp.Compare(q.Hold.distance(a.Route), q.Hold.distance(b.Route))
		})
	}
	return choices, passed
}

func (s *Service) choose(q Ask, taken func(id string) bool) (choices []Choice, passed []Passed) {
	routes := *s.routes.Load()
	model, only := split(q.Model, routes)
	choices = make([]Choice, 0, len(routes))
	var strangers []Choice
	for _, r := range routes {
		if _, ok := r.Endpoint(q.Dialect); !ok || only != nil && !only(r) {
			continue
		}
		if !q.Grant.AllowsConnection(r.Record.ID) {
			passed = append(passed, Passed{r, exclusion.KeyNotAllowed})
			continue
		}
		if r.Credential() == catalog.PassthroughCredential && (q.Admits == nil || !q.Admits(r)) {
			passed = append(passed, Passed{r, exclusion.NoCredential})
			continue
		}
		if r.keyMissing() {
			passed = append(passed, Passed{r, exclusion.KeyMissing})
			continue
		}
		away := taken != nil && taken(r.Record.ID)
		switch {
		case away && (only != nil || r.serves(model)):
			passed = append(passed, Passed{r, exclusion.Leased})
		case away:
			passed = append(passed, Passed{r, exclusion.ModelNotOffered})
		case only != nil && !r.Excludes(model) || r.offers(model):
			choices = append(choices, Choice{r, model})
		case r.fallback() != "":
			choices = append(choices, Choice{r, r.fallback()})
		case r.Excludes(model):
			passed = append(passed, Passed{r, exclusion.ModelNotOffered})
		default:
			strangers = append(strangers, Choice{r, model})
		}
	}
	if len(choices) == 0 {
		return strangers, passed
	}
	for _, c := range strangers {
		passed = append(passed, Passed{c.Route, exclusion.ModelNotOffered})
	}
	return choices, passed
}

// split takes the prefix and the window suffix off a model name.
func split(model string, routes []*Route) (rest string, only func(*Route) bool) {
	model = baseModel(model)
	prefix, rest, found := strings.Cut(model, "/")
	if !found || rest == "" {
		return model, nil
	}
	for _, r := range routes {
		if strings.EqualFold(r.Record.Name, prefix) {
			return rest, func(x *Route) bool { return strings.EqualFold(x.Record.Name, prefix) }
		}
	}
	if p, ok := catalog.Lookup(prefix); ok && slices.ContainsFunc(routes, func(r *Route) bool { return r.Provider.ID == p.ID }) {
		return rest, func(x *Route) bool { return x.Provider.ID == p.ID }
	}
	return model, nil
}

// baseModel cuts the context window that some clients write behind a model's
// name, as in "claude-x-9[1m]"; upstreams do not know it (case P43).
func baseModel(model string) string {
	if strings.HasSuffix(model, "]") {
		if i := strings.LastIndexByte(model, '['); i > 0 {
			return model[:i]
		}
	}
	return model
}

// engineConnection is what the engine must know of a route.
func (r *Route) engineConnection(s *Service) resilience.Connection {
	profile := r.Provider.Profile
	if r.Provider.ID == "custom" && isLocalURL(r.Record.BaseURL) {
		profile = settings.Local
	}
	return resilience.Connection{
		ID: r.Record.ID, Provider: r.breakerName(), Profile: profile, Active: r.Record.Active,
		DisableCooling: r.Record.DisableCooling, PerModelQuota: r.PerModelQuota(),
		Passthrough:  r.Credential() == catalog.PassthroughCredential,
		EgressShared: s.sharedEgress(r.Provider.ID),
		Rotation:     r.Record.RotationOverrides.overrides(),
	}
}

// customPrefix begins the breaker names of custom connections.
const customPrefix = "custom:"

// breakerName is the provider as the breaker knows it. Connections made from
// the custom entry are different services: each address has its own breaker.
func (r *Route) breakerName() string {
	if r.Provider.ID == "custom" {
		return customPrefix + hostOf(r.Record.BaseURL)
	}
	return r.Provider.ID
}
