package control

import (
	"cmp"
	"time"

	"breakwater/resilience/claude"
)

// ClaudeLane is the low-priority lane of a Claude connection.
type ClaudeLane struct {
	// State is active, budget_spent, cooling_off or idle.
	State  string     `json:"state"`
	Since  *time.Time `json:"since,omitempty"` // entered, or left
	Until  *time.Time `json:"until,omitempty"` // when State ends by itself
	Reason string     `json:"reason,omitempty"`
	// Waiting counts the requests that wait for a slot.
	Waiting                int      `json:"waiting"`
	RetryAfterMs           int64    `json:"retryAfterMs"` // as announced, clamped
	MaxWaitMs              int64    `json:"maxWaitMs"`
	RequestsServed         int      `json:"requestsServed"`
	RequestsServedStandard int      `json:"requestsServedStandard"`      // at normal speed
	BudgetUtilization      *float64 `json:"budgetUtilization,omitempty"` // 0 to 1
}

// ClaudeReset is what is known of a Claude connection's limit reset.
type ClaudeReset struct {
	Outcome string     `json:"outcome"` // of the last attempt that asked
	Granted bool       `json:"granted"`
	At      *time.Time `json:"at,omitempty"`   // of that attempt
	Next    *time.Time `json:"next,omitempty"` // when the next may ask; absent: now
	// ResetsLeft and WeeklyResetsAt are as the provider said last.
	ResetsLeft     *int       `json:"resetsLeft,omitempty"`
	WeeklyResetsAt *time.Time `json:"weeklyResetsAt,omitempty"`
}

// ClaudeWindow is one quota window of a Claude subscription.
type ClaudeWindow struct {
	Name   string     `json:"name"`
	Model  string     `json:"model,omitempty"` // of a window of single models
	Used   float64    `json:"used"`            // 0 to 1
	Resets *time.Time `json:"resets,omitempty"`
	Full   bool       `json:"full"`   // requests to it are refused at present
	Source string     `json:"source"` // headers or usage
	At     time.Time  `json:"at"`     // when it was read
}

// ClaudeExtra is what the account may use beyond its plan.
type ClaudeExtra struct {
	Enabled        bool    `json:"enabled"`
	Queued         bool    `json:"queued"`
	MonthlyLimit   float64 `json:"monthlyLimit"`
	UsedCredits    float64 `json:"usedCredits"`
	Used           float64 `json:"used"` // 0 to 1
	Currency       string  `json:"currency,omitempty"`
	DisabledReason string  `json:"disabledReason,omitempty"`
}

// ClaudeUsage holds the windows of a Claude connection, nil where nothing is
// known.
type ClaudeUsage struct {
	FiveHour *ClaudeWindow  `json:"fiveHour,omitempty"`
	Weekly   *ClaudeWindow  `json:"weekly,omitempty"`
	Models   []ClaudeWindow `json:"models"`
	Extra    *ClaudeExtra   `json:"extra,omitempty"`
}

// claudeView adds what a Claude connection has to show.
func (s *Service) claudeView(r *Route, c *Connection) {
	if !isClaude(r.Provider) {
		return
	}
	c.TimeoutMs, c.OrganizationUUID = r.Record.TimeoutMs, r.Record.OrganizationUUID
	c.Lane, c.LimitReset, c.Usage = s.laneView(r.Record.ID), s.resetView(r.Record.ID), s.usageView(r.Record.ID)
}

// laneView shows the lane that has most to say: with passthrough several
// logins may share a connection.
func (s *Service) laneView(id string) *ClaudeLane {
	var best *claude.LaneStatus
	all := s.claude.lanes.Status(s.Now(), id)
	for i := range all {
		if l := &all[i]; best == nil || rank(l) > rank(best) || rank(l) == rank(best) && l.Since.After(best.Since) {
			best = l
		}
	}
	if best == nil {
		return nil
	}
	s.claude.mu.Lock()
	waiting := s.claude.waiting[id]
	s.claude.mu.Unlock()
	v := &ClaudeLane{
		State: string(best.State), Since: s.Real(best.Since), Until: s.Real(best.Until), Reason: string(best.Reason),
		Waiting: waiting, RetryAfterMs: best.RetryAfter.Milliseconds(), MaxWaitMs: best.MaxWait.Milliseconds(),
		RequestsServed: best.RequestsServed, RequestsServedStandard: best.RequestsServedStandard,
	}
	if best.BudgetKnown {
		v.BudgetUtilization = &best.BudgetUtilization
	}
	return v
}

func rank(l *claude.LaneStatus) int {
	switch l.State {
	case claude.LaneActive:
		return 3
	case claude.LaneBudgetSpent:
		return 2
	case claude.LaneCoolingOff:
		return 1
	case claude.LaneIdle:
	}
	return 0
}

// resetView shows the newest attempt.
func (s *Service) resetView(id string) *ClaudeReset {
	var best *claude.ResetStatus
	all := s.claude.resets.Status(s.Now(), id)
	for i := range all {
		if st := &all[i]; st.Outcome != "" && (best == nil || st.At.After(best.At)) {
			best = st
		}
	}
	if best == nil {
		return nil
	}
	v := &ClaudeReset{
		Outcome: string(best.Outcome), Granted: best.Outcome.Granted(), At: s.Real(best.At), Next: s.Real(best.Next),
		WeeklyResetsAt: RealTime(best.WeeklyResetsAt),
	}
	if best.ResetsLeft >= 0 {
		v.ResetsLeft = &best.ResetsLeft
	}
	return v
}

func (s *Service) usageView(id string) *ClaudeUsage {
	u, known := s.claude.usages.Newest(id)
	if !known {
		return nil
	}
	now := s.Now()
	v := &ClaudeUsage{FiveHour: s.windowView(now, u.Session), Weekly: s.windowView(now, u.Weekly), Models: []ClaudeWindow{}}
	for _, w := range u.Models {
		v.Models = append(v.Models, *s.windowView(now, w))
	}
	if e := u.Extra; e != (claude.ExtraUsage{}) {
		v.Extra = &ClaudeExtra{
			Enabled: e.Enabled, Queued: e.Queued, MonthlyLimit: e.MonthlyLimit, UsedCredits: e.UsedCredits, Used: e.Used,
			Currency: e.Currency, DisabledReason: e.DisabledReason,
		}
	}
	return v
}

func (s *Service) windowView(now time.Time, w claude.Window) *ClaudeWindow {
	if !w.Known() {
		return nil
	}
	return &ClaudeWindow{
		Name: cmp.Or(w.Name, w.Model), Model: w.Model, Used: w.Used, Resets: RealTime(w.Resets), Full: w.Blocks(now),
		Source: string(w.Source), At: s.real(w.At),
	}
}
