package rest

import "net/http"

// Route is one line of the API's table, from which both the mux and the list
// of documented routes are made.
type Route struct {
	Method string // a GET route answers HEAD as well
	Path   string // a net/http pattern without host
	Public bool   // served without a credential (ruling 32)
	Client bool   // of the client class: it checks its caller itself
	About  string // one line for people

	handler func(*api, *http.Request) (status int, body any, err error)
	raw     func(*api, http.ResponseWriter, *http.Request)
}

// shared reports whether the route's answer is the same for everybody who may
// read it.
func (rt Route) shared() bool { return rt.Method == http.MethodGet && !rt.Public && rt.handler != nil }

var routes = []Route{
	{
		Method: "GET", Path: "/api/state", handler: unasked((*api).state),
		About: "everything a tray or a window shows, at one moment",
	},
	{
		Method: "GET", Path: "/api/events", raw: (*api).stream,
		About: "the event stream; a snapshot comes first",
	},
	{
		Method: "GET", Path: "/api/catalog", handler: unasked((*api).catalog),
		About: "the providers that can be added",
	},
	{
		Method: "GET", Path: "/api/models", handler: unasked((*api).models),
		About: "the models that each connection is known to offer",
	},
	{
		Method: "GET", Path: "/api/openapi.json", handler: (*api).openAPI,
		About: "the description of this API in OpenAPI 3.1",
	},

	{
		Method: "GET", Path: "/api/providers", handler: (*api).listProviders,
		About: "connections in routing order; limit, offset",
	},
	{
		Method: "POST", Path: "/api/providers", handler: (*api).addProvider,
		About: "add a connection",
	},
	{
		Method: "PATCH", Path: "/api/providers", handler: (*api).switchProviders,
		About: "switch several connections on or off",
	},
	{
		Method: "POST", Path: "/api/providers/reorder", handler: (*api).reorderProviders,
		About: "give connections the priorities 1, 2, 3 in this order",
	},
	{
		Method: "GET", Path: "/api/providers/{id}", handler: (*api).getProvider,
		About: "one connection",
	},
	{
		Method: "PUT", Path: "/api/providers/{id}", handler: (*api).editProvider,
		About: "change the given fields (same as PATCH, ruling 26)",
	},
	{
		Method: "PATCH", Path: "/api/providers/{id}", handler: (*api).editProvider,
		About: "change the given fields",
	},
	{
		Method: "DELETE", Path: "/api/providers/{id}", handler: (*api).deleteProvider,
		About: "forget a connection and its secret",
	},
	{
		Method: "POST", Path: "/api/providers/{id}/test", handler: (*api).testProvider,
		About: "ask the provider whether the credential works",
	},
	{
		Method: "POST", Path: "/api/providers/{id}/leave-lane", handler: (*api).leaveLane,
		About: "end the low-priority lane of a Claude subscription",
	},
	{
		Method: "POST", Path: "/api/providers/{id}/check-reset", handler: (*api).checkReset,
		About: "let the next request at the wall of a Claude subscription ask for the limit reset again",
	},
	{
		Method: "GET", Path: "/api/providers/{id}/usage", handler: (*api).claudeUsage,
		About: "the quota windows of a Claude subscription",
	},

	{
		Method: "GET", Path: "/api/resilience", handler: unasked((*api).getResilience),
		About: "the resilience settings in force and where each value comes from",
	},
	{
		Method: "PATCH", Path: "/api/resilience", handler: (*api).editResilience,
		About: "change resilience settings at once; null removes a stored value",
	},
	{
		Method: "GET", Path: "/api/resilience/model-cooldowns", handler: unasked((*api).listLockouts),
		About: "the locked models, the longest first",
	},
	{
		Method: "DELETE", Path: "/api/resilience/model-cooldowns", handler: (*api).clearLockouts,
		About: "make a model available again, or all of them",
	},
	{
		Method: "POST", Path: "/api/resilience/reset", handler: (*api).resetBreakers,
		About: "close every provider breaker, or that of one; provider",
	},
	{
		Method: "GET", Path: "/api/resilience/cooldowns", handler: (*api).listCooldowns,
		About: "every connection with its cooldown; provider",
	},
	{
		Method: "POST", Path: "/api/resilience/cooldowns", handler: (*api).clearCooldowns,
		About: "put cooling connections back into routing",
	},

	{
		Method: "GET", Path: "/api/monitoring/health", Public: true, handler: (*api).getHealth,
		About: "alive and well; more with a credential",
	},
	{
		Method: "OPTIONS", Path: "/api/monitoring/health", Public: true, raw: (*api).healthOptions,
		About: "the methods of the health route",
	},
	{
		Method: "DELETE", Path: "/api/monitoring/health", handler: (*api).resetHealth,
		About: "close every provider breaker, or that of one (same as the reset); provider",
	},

	{
		Method: "GET", Path: "/api/activity", handler: (*api).activity,
		About: "finished requests, newest first; before, limit, connectionId, failedOnly",
	},
	{
		Method: "GET", Path: "/api/usage", handler: (*api).usage,
		About: "requests and tokens by connection and model, from the activity that is kept; since, until",
	},
	{
		Method: "GET", Path: "/api/rate-limits", handler: unasked((*api).listLimits),
		About: "which connections are under the request queue, and what waits",
	},
	{
		Method: "POST", Path: "/api/rate-limits", handler: (*api).setLimit,
		About: "put a connection under the request queue, or take the wish back",
	},
	{
		Method: "GET", Path: "/api/rate-limit", raw: (*api).limitMoved,
		About: "moved to /api/rate-limits",
	},
	{
		Method: "POST", Path: "/api/rate-limit", raw: (*api).limitMoved,
		About: "moved to /api/rate-limits",
	},

	{
		Method: "GET", Path: "/metrics", raw: (*api).metrics,
		About: "figures for Prometheus, in its text format",
	},

	{
		Method: "GET", Path: "/api/settings", handler: unasked((*api).getSettings),
		About: "the product's settings",
	},
	{
		Method: "PATCH", Path: "/api/settings", handler: (*api).editSettings,
		About: "change the given settings; null goes back to the default",
	},

	{
		Method: "GET", Path: "/api/combos", handler: (*api).listCombos,
		About: "the combos in their order; limit, offset",
	},
	{
		Method: "POST", Path: "/api/combos", handler: (*api).addCombo,
		About: "make a combo, a model name that stands for several",
	},
	{
		Method: "POST", Path: "/api/combos/reorder", handler: (*api).reorderCombos,
		About: "list the combos in this order",
	},
	{
		Method: "POST", Path: "/api/combos/preview", handler: (*api).previewCombo,
		About: "what the next request for a combo, or for a draft of one, would do now; nothing is sent",
	},
	{
		Method: "GET", Path: "/api/combos/{id}", handler: (*api).getCombo,
		About: "one combo",
	},
	{
		Method: "PUT", Path: "/api/combos/{id}", handler: (*api).editCombo,
		About: "change the given fields of a combo (same as PATCH)",
	},
	{
		Method: "PATCH", Path: "/api/combos/{id}", handler: (*api).editCombo,
		About: "change the given fields of a combo",
	},
	{
		Method: "DELETE", Path: "/api/combos/{id}", handler: (*api).deleteCombo,
		About: "forget a combo",
	},
	{
		Method: "POST", Path: "/api/drill", handler: (*api).drill,
		About: "have faults happen to a twin of a combo; no provider is asked and no state changes",
	},

	{
		Method: "GET", Path: "/api/keys", handler: (*api).listKeys,
		About: "the API keys, masked; limit, offset",
	},
	{
		Method: "POST", Path: "/api/keys", handler: (*api).addKey,
		About: "make an API key; the answer shows it whole, once",
	},
	{
		Method: "PATCH", Path: "/api/keys/{id}", handler: (*api).editKey,
		About: "change the given fields of an API key",
	},
	{
		Method: "DELETE", Path: "/api/keys/{id}", handler: (*api).deleteKey,
		About: "forget an API key; its bearer is refused from now on",
	},

	{
		Method: "POST", Path: "/api/v1/session-leases", Client: true, raw: (*api).sessionLeases,
		About: "acquire, renew, release or look at an exclusive lease; for keys with the scope lease:exclusive",
	},
	{
		Method: "OPTIONS", Path: "/api/v1/session-leases", Public: true, raw: (*api).leaseOptions,
		About: "the methods and headers of the lease route",
	},
	{
		Method: "GET", Path: "/api/session-leases", handler: (*api).listLeases,
		About: "the exclusive leases in force, the first to end first; limit, offset",
	},
	{
		Method: "DELETE", Path: "/api/session-leases/{id}", handler: (*api).endLease,
		About: "take a lease from its owner",
	},

	{
		Method: "GET", Path: "/api/export", handler: (*api).export,
		About: "the configuration without any secret",
	},
	{
		Method: "POST", Path: "/api/export", handler: (*api).exportSecrets,
		About: "the configuration with the connections' keys sealed under a passphrase",
	},
	{
		Method: "POST", Path: "/api/import", handler: (*api).importBackup,
		About: "put an exported configuration in force; by default only say what that would do",
	},

	{
		Method: "POST", Path: "/api/app/show", handler: (*api).showWindow,
		About: "bring the window to front at a page",
	},
	{
		Method: "POST", Path: "/api/app/pause", handler: (*api).pause,
		About: "refuse new requests, or serve them again",
	},
	{
		Method: "POST", Path: "/api/app/quit", handler: (*api).quit,
		About: "end the program",
	},

	{
		Method: "GET", Path: "/api/demo", handler: (*api).getDemo,
		About: "the demo's fault panel",
	},
	{
		Method: "PATCH", Path: "/api/demo", handler: (*api).editDemo,
		About: "change the demo's faults and its clock",
	},
}

// Routes returns every route of the management API in the order in which it
// is documented.
func Routes() []Route { return append([]Route(nil), routes...) }
