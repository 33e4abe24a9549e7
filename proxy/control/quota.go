package control

import (
	"strings"

	"breakwater/resilience/quota"
)

// Quota returns what is known of the connections' quota windows, by
// connection id.
func (s *Service) Quota() *quota.Ledger { return s.quota }

// SeeAnswer learns from the headers of an answer, refusals included, of any
// provider: how full the connection's quota windows are.
func (s *Service) SeeAnswer(r *Route, header map[string][]string) {
	if speaksOfQuota(header) {
		s.quota.See(r.Record.ID, header, s.Now())
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
