package control

import (
	"testing"
	"time"

	"breakwater/resilience/quota"
	"breakwater/resilience/settings"
)

// The preflight passes over a used up session window while one of the Claude
// switches is on: without the refusal neither lane nor reset could begin.
func TestPreflightOfAClaudeConnection(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	full := func(k quota.Kind) *quota.Snapshot {
		return &quota.Snapshot{At: now, Windows: []quota.Window{{Kind: k, Used: 1, Rejected: true, ResetAt: now.Add(time.Hour), At: now}}}
	}
	for _, tt := range []struct {
		name  string
		rec   ConnectionRecord
		known *quota.Snapshot
		block bool
	}{
		{"X13 the session, both switches off", ConnectionRecord{}, full(quota.Session), true},
		{"X13 the session, the lane on", ConnectionRecord{LowPriorityMode: true}, full(quota.Session), false},
		{"X13 the session, the reset on", ConnectionRecord{AutoLimitReset: true}, full(quota.Session), false},
		{"X14 the week, both switches on", ConnectionRecord{LowPriorityMode: true, AutoLimitReset: true}, full(quota.Weekly), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Route{Record: tt.rec}
			p := settings.Defaults().QuotaPreflight
			p.Enabled = true
			if v := quota.Preflight(now, &p, r.QuotaAccount(), "claude-x", tt.known); v.Block != tt.block {
				t.Errorf("%+v", v)
			}
		})
	}
}
