package rest

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"breakwater/proxy/control"
)

const (
	// healthFor is how long one look at the state serves the health route,
	// which anybody on this machine may ask as often as he likes.
	healthFor = time.Second
	// healthWait is how long that look may take.
	healthWait = 2 * time.Second
)

// healthCache holds the state that the health route last saw.
type healthCache struct {
	mu      sync.Mutex
	at      time.Time
	snap    control.Snapshot
	catalog int
	err     error
}

// lookAtHealth returns the state, at most healthFor old.
func (a *api) lookAtHealth(ctx context.Context) (snap control.Snapshot, catalog int, err error) {
	c := &a.health
	c.mu.Lock()
	defer c.mu.Unlock()
	now := a.now()
	if age := now.Sub(c.at); c.at.IsZero() || age < 0 || age >= healthFor {
		// The result is everybody's, so it does not end with this caller.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthWait)
		defer cancel()
		c.snap, c.err = a.snapshot(ctx)
		if c.err == nil {
			var known []control.Provider
			known, c.err = a.facade.Providers(ctx)
			c.catalog = len(known)
		}
		if c.err != nil {
			a.log.WarnContext(ctx, "health could not be read", "error", c.err)
		}
		c.at = now
	}
	return c.snap, c.catalog, c.err
}

// healthStatus is the one word of the health route.
func healthStatus(h control.Health, err error) string {
	switch {
	case err != nil:
		return "degraded"
	case h == control.HealthWell:
		return "healthy"
	case h == control.HealthDown:
		return "unhealthy"
	default:
		return "degraded"
	}
}

// minimalHealth is what a caller without credential gets.
type minimalHealth struct {
	Status  string `json:"status"`
	Version string `json:"version"`
	Uptime  int64  `json:"uptime"` // seconds
}

// fullHealth is the guide's shape (sheet §2.8), without the parts that only
// its own server has.
type fullHealth struct {
	minimalHealth
	Timestamp          time.Time                 `json:"timestamp"`
	Health             control.Health            `json:"health"` // our own word, as in the snapshot
	Paused             bool                      `json:"paused"`
	Memory             memoryUsage               `json:"memoryUsage"`
	System             systemInfo                `json:"system"`
	ActiveConnections  int                       `json:"activeConnections"`
	CircuitBreakers    breakerCounts             `json:"circuitBreakers"`
	ProviderBreakers   []breakerRow              `json:"providerBreakers"`
	ProviderHealth     map[string]providerHealth `json:"providerHealth"`
	ConnectionHealth   map[string]cooling        `json:"connectionHealth"`
	ProviderSummary    providerSummary           `json:"providerSummary"`
	Dedup              inflight                  `json:"dedup"`
	SetupComplete      bool                      `json:"setupComplete"`
	AvailableProviders []string                  `json:"availableProviders"`
}

type memoryUsage struct {
	HeapUsed  uint64 `json:"heapUsed"`  // bytes
	HeapTotal uint64 `json:"heapTotal"` // bytes the runtime holds
}

type systemInfo struct {
	Version   string      `json:"version"`
	GoVersion string      `json:"goVersion"`
	Uptime    int64       `json:"uptime"`
	Memory    memoryUsage `json:"memoryUsage"`
	PID       int         `json:"pid"`
	Platform  string      `json:"platform"`
}

type breakerCounts struct {
	Open     int `json:"open"`
	HalfOpen int `json:"halfOpen"`
	Degraded int `json:"degraded"`
	Closed   int `json:"closed"`
	Total    int `json:"total"`
}

type breakerRow struct {
	Provider     string     `json:"provider"`
	State        string     `json:"state"`
	FailureCount int        `json:"failureCount"`
	LastFailure  *time.Time `json:"lastFailure"`
	RetryAfterMs int64      `json:"retryAfterMs"`
}

type providerHealth struct {
	State        string     `json:"state"`
	Failures     int        `json:"failures"`
	LastFailure  *time.Time `json:"lastFailure"`
	RetryAfterMs int64      `json:"retryAfterMs"`
}

type cooling struct {
	CoolingDown        int   `json:"coolingDown"`
	Total              int   `json:"total"`
	SoonestRetryAfterM int64 `json:"soonestRetryAfterMs"`
}

type providerSummary struct {
	Catalog    int `json:"catalogCount"`
	Configured int `json:"configuredCount"`
	Active     int `json:"activeCount"`
	Monitored  int `json:"monitoredCount"`
}

type inflight struct {
	Requests int `json:"inflightRequests"`
}

// getHealth always answers 200. A wrong credential gets what none gets.
func (a *api) getHealth(r *http.Request) (int, any, error) {
	full := len(credentials(r)) > 0 && a.auth.check(r) == nil
	snap, catalog, err := a.lookAtHealth(r.Context())
	least := minimalHealth{
		Status: healthStatus(snap.Health, err), Version: snap.Version,
		Uptime: int64(a.now().Sub(a.started) / time.Second),
	}
	if !full {
		return http.StatusOK, least, nil
	}
	now := a.now()
	h := fullHealth{
		minimalHealth: least, Timestamp: now.UTC().Round(0), Health: snap.Health, Paused: snap.Paused,
		Memory:           readMemory(),
		ConnectionHealth: connectionHealth(snap.Connections, now),
		ProviderHealth:   map[string]providerHealth{}, ProviderBreakers: []breakerRow{},
		SetupComplete: len(snap.Connections) > 0, AvailableProviders: []string{},
	}
	h.System = systemInfo{
		Version: snap.Version, GoVersion: runtime.Version(), Uptime: least.Uptime, Memory: h.Memory,
		PID: os.Getpid(), Platform: runtime.GOOS,
	}
	h.addConnections(snap.Connections, catalog)
	h.addBreakers(snap.Breakers)
	return http.StatusOK, h, nil
}

func (h *fullHealth) addConnections(conns []control.Connection, catalog int) {
	configured, active, available := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range conns {
		configured[c.Provider] = true
		h.Dedup.Requests += c.InFlight
		if c.Active {
			active[c.Provider] = true
			h.ActiveConnections++
		}
		if c.State.Available() && !available[c.Provider] {
			available[c.Provider] = true
			h.AvailableProviders = append(h.AvailableProviders, c.Provider)
		}
	}
	h.ProviderSummary = providerSummary{Catalog: catalog, Configured: len(configured), Active: len(active)}
}

// addBreakers leaves out those of tests, as the guide does.
func (h *fullHealth) addBreakers(breakers []control.Breaker) {
	for _, b := range breakers {
		if strings.HasPrefix(b.Provider, "test-") || strings.HasPrefix(b.Provider, "test_") {
			continue
		}
		h.CircuitBreakers.count(b.State)
		h.ProviderBreakers = append(h.ProviderBreakers, breakerRow{
			b.Provider, b.State, b.FailureCount, b.LastFailure, b.RetryAfterMs,
		})
		h.ProviderHealth[b.Provider] = providerHealth{b.State, b.FailureCount, b.LastFailure, b.RetryAfterMs}
	}
	h.ProviderSummary.Monitored = h.CircuitBreakers.Total
}

func (c *breakerCounts) count(state string) {
	c.Total++
	switch state {
	case "OPEN":
		c.Open++
	case "HALF_OPEN":
		c.HalfOpen++
	case "DEGRADED":
		c.Degraded++
	default:
		c.Closed++
	}
}

// connectionHealth counts, for each provider, who cools and for how long the
// first of them still does (cases 66–68).
func connectionHealth(conns []control.Connection, now time.Time) map[string]cooling {
	out := map[string]cooling{}
	for _, c := range conns {
		if c.Provider == "" {
			continue
		}
		h := out[c.Provider]
		h.Total++
		if left := remainingMs(c, now); left > 0 {
			if h.CoolingDown == 0 || left < h.SoonestRetryAfterM {
				h.SoonestRetryAfterM = left
			}
			h.CoolingDown++
		}
		out[c.Provider] = h
	}
	return out
}

func readMemory() memoryUsage {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(s)
	return memoryUsage{HeapUsed: s[0].Value.Uint64(), HeapTotal: s[1].Value.Uint64()}
}

func (a *api) healthOptions(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", "DELETE, GET, HEAD, OPTIONS")
	w.WriteHeader(http.StatusNoContent)
}
