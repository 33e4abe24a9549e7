package rest

import (
	"errors"
	"net/http"
	"time"

	"breakwater/proxy/control"
)

func (a *api) resetBreakers(r *http.Request) (int, any, error) {
	n, err := a.reset(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"ok": true, "resetCount": n, "message": resetMessage(n)}, nil
}

func (a *api) resetHealth(r *http.Request) (int, any, error) {
	n, err := a.reset(r)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"success": true, "resetCount": n, "message": resetMessage(n)}, nil
}

func (a *api) reset(r *http.Request) (int, error) {
	if err := decodeOptional(r, &struct{}{}); err != nil {
		return 0, err
	}
	provider, err := oneProvider(r)
	switch {
	case err != nil:
		return 0, err
	case provider == "":
		return a.facade.ResetBreakers(r.Context())
	}
	return a.facade.ResetBreaker(r.Context(), provider)
}

// oneProvider reads the provider to which the query narrows a request, empty
// for all of them.
func oneProvider(r *http.Request) (string, error) {
	q := query{values: r.URL.Query()}
	provider := q.text("provider")
	if q.values.Has("provider") && (provider == "" || len(provider) > 128) {
		q.add("provider", "Invalid provider")
	}
	return provider, q.err()
}

func resetMessage(n int) string { return "Reset " + count(n, "circuit breaker") }

// cooldownRow is one connection of GET /api/resilience/cooldowns (sheet §2.7).
type cooldownRow struct {
	ID                  string        `json:"id"`
	Provider            string        `json:"provider"`
	Name                string        `json:"name"`
	AuthType            string        `json:"authType"`
	Priority            int           `json:"priority"`
	Active              bool          `json:"isActive"`
	Status              string        `json:"status"`
	TestStatus          string        `json:"testStatus"`
	RateLimitedUntil    *time.Time    `json:"rateLimitedUntil"`
	CooldownRemainingMs int64         `json:"cooldownRemainingMs"`
	BackoffLevel        int           `json:"backoffLevel"`
	ErrorCode           *int          `json:"errorCode"`
	LastErrorType       *string       `json:"lastErrorType"`
	LastErrorAt         *time.Time    `json:"lastErrorAt"`
	Words               string        `json:"words,omitempty"` // the refusal's own
	NeedsAttention      bool          `json:"needsAttention,omitempty"`
	Lockouts            []lockoutItem `json:"lockouts"`
	// Waits is what else holds requests back (ruling 66).
	Waits []control.Wait `json:"waits,omitempty"`
}

// lockoutItem is a locked model.
type lockoutItem struct {
	Model       string `json:"model"`
	Reason      string `json:"reason"`
	RemainingMs int64  `json:"remainingMs"`
}

func (a *api) listCooldowns(r *http.Request) (int, any, error) {
	provider, err := oneProvider(r)
	if err != nil {
		return 0, nil, err
	}
	snap, err := a.snapshot(r.Context())
	if err != nil {
		return 0, nil, err
	}
	now := a.now()
	rows := []cooldownRow{}
	for _, c := range snap.Connections {
		if provider == "" || c.Provider == provider {
			rows = append(rows, cooldownOf(c, now))
		}
	}
	return http.StatusOK, map[string]any{"connections": rows, "generatedAt": now.UTC().Round(0)}, nil
}

func cooldownOf(c control.Connection, now time.Time) cooldownRow {
	row := cooldownRow{
		ID: c.ID, Provider: c.Provider, Name: c.Name, AuthType: c.AuthType, Priority: c.Priority, Active: c.Active,
		Status: rowStatus(c, now), TestStatus: c.TestStatus, RateLimitedUntil: c.RateLimitedUntil,
		CooldownRemainingMs: remainingMs(c, now), BackoffLevel: c.BackoffLevel, LastErrorAt: c.LastErrorAt,
		Lockouts: []lockoutItem{}, Waits: c.Waits,
	}
	for _, l := range c.Lockouts {
		row.Lockouts = append(row.Lockouts, lockoutItem{l.Model, l.Reason, max(0, l.Until.Sub(now).Milliseconds())})
	}
	if c.ErrorCode != 0 {
		row.ErrorCode = &c.ErrorCode
	}
	row.Words, row.NeedsAttention = c.Words, c.NeedsAttention != nil
	if c.LastErrorType != "" {
		row.LastErrorType = &c.LastErrorType
	}
	return row
}

// remainingMs is how long the connection still cools, never negative.
func remainingMs(c control.Connection, now time.Time) int64 {
	var left int64
	if c.RateLimitedUntil != nil {
		left = max(0, c.RateLimitedUntil.Sub(now).Milliseconds())
	}
	if c.State == control.StateCooling && c.Until != nil { // a paused queue, an opt-in window
		left = max(left, c.Until.Sub(now).Milliseconds())
	}
	return left
}

// rowStatus is the first of the guide's words that is true (sheet §6.1).
func rowStatus(c control.Connection, now time.Time) string {
	switch {
	case terminal(c):
		return "terminal"
	case remainingMs(c, now) > 0:
		return "cooling_down"
	case c.State == control.StateModelLocked:
		return "model_locked"
	case c.TestStatus == "unavailable", c.TestStatus == string(control.StateWrongAddress):
		return "unavailable"
	default:
		return "healthy"
	}
}

// terminal looks at the stored status too: a connection that is switched off
// shows as off, whatever else it is.
func terminal(c control.Connection) bool {
	return c.State.Terminal() || control.State(c.TestStatus).Terminal()
}

// clearable reports whether there is anything to clear (sheet §6.1).
func clearable(c control.Connection) bool {
	return len(c.Lockouts) > 0 || len(c.Waits) > 0 || c.RateLimitedUntil != nil || c.ErrorCode != 0 || c.LastErrorType != "" ||
		c.TestStatus != "" && c.TestStatus != "active"
}

type clearRequest struct {
	IDs      []string `json:"connectionIds"`
	All      *bool    `json:"all"`
	Provider *string  `json:"provider"`
}

func (in clearRequest) validate() error {
	var m merge
	switch {
	case in.All != nil && !*in.All:
		m.add("all", "Expected true")
	case in.All == nil && len(in.IDs) == 0:
		m.add("body", "Provide connectionIds or set all to true")
	case in.All != nil && in.IDs != nil:
		m.add("body", "Provide either connectionIds or all")
	case in.All == nil && in.Provider != nil:
		m.add("provider", "Only together with all")
	case in.Provider != nil && (*in.Provider == "" || len(*in.Provider) > 128):
		m.add("provider", "Invalid provider")
	case len(in.IDs) > 1000:
		m.add("connectionIds", "Expected at most 1000 ids")
	}
	for _, id := range in.IDs {
		if len(id) > 128 {
			m.add("connectionIds", "Expected ids of at most 128 characters")
			break
		}
	}
	return m.err()
}

// wants reports whether the request names the connection.
func (in clearRequest) wants(c control.Connection, named map[string]bool) bool {
	if in.All == nil {
		return named[c.ID]
	}
	return in.Provider == nil || c.Provider == *in.Provider
}

// clearResult holds the counters of the answer. Unknown ids count nowhere.
type clearResult struct {
	OK              bool `json:"ok"`
	Cleared         int  `json:"cleared"`
	Unchanged       int  `json:"unchanged"`
	SkippedTerminal int  `json:"skippedTerminal"`
	LockoutsCleared int  `json:"lockoutsCleared"`
}

func (a *api) clearCooldowns(r *http.Request) (int, any, error) {
	var in clearRequest
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	if err := in.validate(); err != nil {
		return 0, nil, err
	}
	snap, err := a.snapshot(r.Context())
	if err != nil {
		return 0, nil, err
	}
	named := map[string]bool{}
	for _, id := range in.IDs {
		named[id] = true
	}
	res := clearResult{OK: true}
	for _, c := range snap.Connections {
		switch {
		case !in.wants(c, named):
		case terminal(c):
			res.SkippedTerminal++
			// The state stays, whatever else holds the connection back goes (ruling 66).
			if len(c.Lockouts)+len(c.Waits) > 0 {
				if err := a.facade.ClearCooldown(r.Context(), c.ID); err != nil && !errors.Is(err, control.ErrNotFound) {
					return 0, nil, err
				}
				res.LockoutsCleared += len(c.Lockouts)
			}
		case !clearable(c):
			res.Unchanged++
		default:
			err := a.facade.ClearCooldown(r.Context(), c.ID)
			if errors.Is(err, control.ErrNotFound) {
				continue // deleted since the snapshot
			}
			if err != nil {
				return 0, nil, err
			}
			res.Cleared++
			res.LockoutsCleared += len(c.Lockouts)
		}
	}
	return http.StatusOK, res, nil
}
