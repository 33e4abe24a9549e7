package metrics

import (
	"context"
	"net/http"
	"strconv"

	"breakwater/proxy/control"
)

// ContentType is the format's media type.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Source is what the gauges are read from.
type Source interface {
	Snapshot(ctx context.Context) (control.Snapshot, error)
	// Lost is how many rows of activity could not be stored since the start.
	Lost() int64
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Handler serves the page; who may see it is decided before it is asked.
func Handler(m *Meter, src Source) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		snap, err := src.Snapshot(r.Context())
		if err != nil {
			http.Error(w, "the state cannot be read", http.StatusServiceUnavailable)
			return
		}
		p := &page{}
		m.write(p)
		state(p, snap)
		process(p)
		p.single("breakwater_activity_rows_lost_total", "counter", "Rows of activity that could not be stored.", float64(src.Lost()))
		w.Header().Set("Content-Type", ContentType)
		_, _ = w.Write(p.Bytes()) // the reader may have left
	})
}

// breakerStates are all there are: each has a sample for each provider.
var breakerStates = []string{"CLOSED", "DEGRADED", "OPEN", "HALF_OPEN"}

func state(p *page, snap control.Snapshot) {
	p.family("breakwater_build_info", "gauge", "The version that runs.")
	p.sample("breakwater_build_info", 1, "version", snap.Version)
	p.family("breakwater_breaker_state", "gauge", "1 for the state that a provider's breaker is in.")
	for _, b := range snap.Breakers {
		for _, s := range breakerStates {
			is := 0.0
			if s == b.State {
				is = 1
			}
			p.sample("breakwater_breaker_state", is, "provider", b.Provider, "state", s)
		}
	}
	states, depth := map[string]float64{}, map[string]float64{}
	cooling, locked, leased, running := 0.0, 0.0, 0.0, 0.0
	for _, c := range snap.Connections {
		states[string(c.State)]++
		depth[c.Name] = float64(c.Queued)
		if c.RateLimitedUntil != nil {
			cooling++
		}
		if c.LeasedUntil != nil {
			leased++
		}
		locked += float64(len(c.Lockouts))
		running += float64(c.InFlight)
	}
	p.gauges("breakwater_connections", "Connections, by their state.", "state", states)
	p.single("breakwater_cooldowns_active", "gauge", "Connections that are cooling.", cooling)
	p.single("breakwater_lockouts_active", "gauge", "Models that are locked, counted for each connection.", locked)
	p.single("breakwater_leases_active", "gauge", "Connections that somebody holds exclusively.", leased)
	p.single("breakwater_requests_in_flight", "gauge", "Tries that run now.", running)
	p.gauges("breakwater_queue_depth", "Requests that wait for a turn at a connection.", "connection", depth)
}
