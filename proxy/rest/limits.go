package rest

import (
	"net/http"
	"time"

	"breakwater/proxy/control"
)

// limitRow is one connection of GET /api/rate-limits (sheet §2.9).
type limitRow struct {
	ConnectionID string `json:"connectionId"`
	Provider     string `json:"provider"`
	Name         string `json:"name"`
	Protection   bool   `json:"rateLimitProtection"` // the user's wish
	Enabled      bool   `json:"enabled"`             // the wish, or an active connection with an API key
	Active       bool   `json:"active"`
	limitCounts
}

// limitCounts are the requests of a connection: those that wait and those that
// run. Nothing waits while no queue stands before the connection.
type limitCounts struct {
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Executing int `json:"executing"`
}

// limitsAnswer is the answer of GET /api/rate-limits.
type limitsAnswer struct {
	Connections []limitRow                        `json:"connections"`
	Overview    map[string]map[string]limitCounts `json:"overview"`
	Lockouts    []lockoutRow                      `json:"lockouts"`
	CacheStats  struct{}                          `json:"cacheStats"`
}

func (a *api) listLimits(r *http.Request) (int, any, error) {
	set, err := a.facade.Resilience(r.Context())
	if err != nil {
		return 0, nil, err
	}
	snap, err := a.snapshot(r.Context())
	if err != nil {
		return 0, nil, err
	}
	auto := set.RequestQueue.AutoEnableAPIKeyProviders
	out := limitsAnswer{Connections: []limitRow{}, Overview: map[string]map[string]limitCounts{}, Lockouts: lockoutsOf(snap, a.now())}
	for _, c := range snap.Connections {
		counts := limitCounts{Queued: c.Queued, Running: c.InFlight, Executing: c.InFlight}
		enabled := c.RateLimitProtection || auto && c.Active && c.AuthType == "apikey"
		out.Connections = append(out.Connections, limitRow{
			ConnectionID: c.ID, Provider: c.Provider, Name: c.Name,
			Protection: c.RateLimitProtection, Enabled: enabled, Active: enabled && c.Active, limitCounts: counts,
		})
		if out.Overview[c.Provider] == nil {
			out.Overview[c.Provider] = map[string]limitCounts{}
		}
		out.Overview[c.Provider][c.ID] = counts
	}
	return http.StatusOK, out, nil
}

// limitSwitch is the body of POST /api/rate-limits.
type limitSwitch struct {
	ConnectionID string `json:"connectionId"`
	Enabled      *bool  `json:"enabled"`
}

func (a *api) setLimit(r *http.Request) (int, any, error) {
	var in limitSwitch
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	var m merge
	if in.ConnectionID == "" {
		m.add("connectionId", "Required")
	}
	if in.Enabled == nil {
		m.add("enabled", "Required")
	}
	if err := m.err(); err != nil {
		return 0, nil, err
	}
	if err := a.facade.SetRateLimitProtection(r.Context(), in.ConnectionID, *in.Enabled); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"success": true, "connectionId": in.ConnectionID, "enabled": *in.Enabled}, nil
}

// limitMoved sends the sheet's other spelling to the right one.
func (a *api) limitMoved(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "/api/rate-limits")
	w.WriteHeader(http.StatusPermanentRedirect)
}

// usageAnswer is the answer of GET /api/usage.
type usageAnswer struct {
	Since *time.Time         `json:"since"`
	Until *time.Time         `json:"until"`
	Total control.UsageSum   `json:"total"`
	Rows  []control.UsageRow `json:"rows"`
}

func (a *api) usage(r *http.Request) (int, any, error) {
	q := query{values: r.URL.Query()}
	sel := control.UsageQuery{Since: q.time("since"), Until: q.time("until")}
	if err := q.err(); err != nil {
		return 0, nil, err
	}
	rows, err := a.facade.Usage(r.Context(), sel)
	out := usageAnswer{Since: control.RealTime(sel.Since), Until: control.RealTime(sel.Until), Rows: list(rows)}
	for _, row := range rows {
		out.Total.Add(row.UsageSum)
	}
	return http.StatusOK, out, err
}

func (q *query) time(name string) time.Time {
	v := q.text(name)
	if v == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		q.add(name, "Expected a time such as 2030-01-02T15:04:05Z")
	}
	return t.UTC()
}

// metrics serves the figures for Prometheus.
func (a *api) metrics(w http.ResponseWriter, r *http.Request) {
	if a.figures == nil {
		a.fail(w, r, errNoMetrics)
		return
	}
	a.serveShared(w, r, func(r *http.Request) (encoded, error) {
		page := recorded{header: http.Header{}, encoded: encoded{status: http.StatusOK}}
		a.figures.ServeHTTP(&page, r)
		page.media = page.header.Get("Content-Type")
		return page.encoded, nil
	})
}

// recorded keeps what a handler writes.
type recorded struct {
	header http.Header
	encoded
}

func (p *recorded) Header() http.Header    { return p.header }
func (p *recorded) WriteHeader(status int) { p.status = status }
func (p *recorded) Write(b []byte) (int, error) {
	p.data = append(p.data, b...)
	return len(b), nil
}
