package control

import (
	"strings"
	"time"

	"breakwater/resilience/quota"
)

// Quota returns what is known of the connections' quota windows, by
// connection id.
func (s *Service) Quota() *quota.Ledger { return s.quota }

// ToolLimits returns how many tools the providers take in a request.
func (s *Service) ToolLimits() *quota.ToolLimits { return s.tools }

// SeeAnswer learns from the headers of an answer, refusals included, of any
// provider: how full the connection's quota windows are.
func (s *Service) SeeAnswer(r *Route, header map[string][]string) {
	if speaksOfQuota(header) {
		before := s.quota.Get(r.Record.ID)
		s.quota.See(r.Record.ID, header, s.Now())
		s.tellLow(r, before, s.quota.Get(r.Record.ID))
	}
}

// quotaHeaders begin the names of the headers that the ledger reads, in the
// spelling that HTTP gives them.
var quotaHeaders = []string{"Anthropic-Ratelimit-Unified-", "X-Codex-"}

// speaksOfQuota tells cheaply that most answers do not.
func speaksOfQuota(header map[string][]string) bool {
	for name := range header {
		for _, prefix := range quotaHeaders {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}

// Headroom returns the percentage left in the fullest quota window that a
// request for a model draws on, and whether any is known.
func (s *Service) Headroom(connection, model string) (percent float64, known bool) {
	snap := s.quota.Get(connection)
	if snap == nil {
		return 0, false
	}
	now := s.Now()
	for i := range snap.Windows {
		w := &snap.Windows[i]
		if left, ok := w.Remaining(now); ok && w.Applies(model) && (!known || left < percent) {
			percent, known = left, true
		}
	}
	return percent, known
}

// QuotaCutoff reports whether the quota preflight keeps a request for a model
// from a connection, and until when, zero if nobody knows (guide,
// QUOTA_PREFLIGHT_CUTOFF_ENABLED).
func (s *Service) QuotaCutoff(r *Route, model string) (until time.Time, blocked bool) {
	set := &s.InForce().QuotaPreflight
	if !set.Enabled {
		return time.Time{}, false
	}
	v := quota.Preflight(s.Now(), set, r.QuotaAccount(), model, s.quota.Get(r.Record.ID))
	return v.ResetAt, v.Block
}
