package control

import (
	"testing"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/quota"
	"breakwater/resilience/settings"
)

func TestAnswersTellTheLedger(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		header map[string][]string
		kind   quota.Kind // "" = nothing is learned
		used   float64
	}{
		{"no quota headers", map[string][]string{"Content-Type": {"text/event-stream"}}, "", 0},
		{"a subscription's five hours", map[string][]string{"Anthropic-Ratelimit-Unified-5h-Utilization": {"0.25"}}, quota.Session, 0.25},
		{"a week of Codex", map[string][]string{"X-Codex-Primary-Used-Percent": {"40"}, "X-Codex-Primary-Window-Minutes": {"10080"}}, quota.Weekly, 0.4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Service{cfg: Config{Clock: clock.NewFake(now)}, quota: quota.NewLedger(), hub: newHub()}
			set := settings.Defaults()
			s.inForce.Store(&set)
			s.SeeAnswer(&Route{Record: ConnectionRecord{ID: "c1"}}, tt.header)
			got := s.Quota().Get("c1")
			switch {
			case tt.kind == "" && got != nil:
				t.Errorf("learned %+v", got)
			case tt.kind != "" && (got == nil || len(got.Windows) != 1 || got.Windows[0].Kind != tt.kind || got.Windows[0].Used != tt.used):
				t.Errorf("learned %+v", got)
			}
		})
	}
}

// A window is told of when it falls to the warning, and again only after it
// was above it; with the name of its kind and family, never the provider's
// own words.
func TestAWindowBelowTheWarningIsToldOnce(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &Service{cfg: Config{Clock: clock.NewFake(now)}, quota: quota.NewLedger(), hub: newHub()}
	set := settings.Defaults()
	s.inForce.Store(&set)
	listener := &subscriber{wake: make(chan struct{}, 1)}
	s.hub.subs[listener] = struct{}{}
	r := &Route{Record: ConnectionRecord{ID: "c1", Name: "work"}}
	see := func(scope string, used float64) {
		before := s.quota.Get("c1")
		s.quota.Put("c1", quota.Snapshot{At: now, Windows: []quota.Window{{Kind: quota.Weekly, Scope: scope, Used: used, ResetAt: now.Add(time.Hour), At: now}}})
		s.tellLow(r, before, s.quota.Get("c1"))
	}
	for _, tt := range []struct {
		name, scope string
		used        float64
		want        string // the window that is told, empty: none
		left        int
	}{
		{"above the warning", "", 0.79, "", 0},
		{"at the warning", "", 0.81, "weekly", 19},
		{"below it, as before", "", 0.95, "", 0},
		{"a family, first seen low", "Claude Opus 4.5", 0.9, "weekly:opus", 10},
		{"words of the provider", "call 555-1234 now", 1, "weekly", 0},
		{"full again", "", 0, "", 0},
		{"and low again", "", 0.9, "weekly", 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			see(tt.scope, tt.used)
			e, told := listener.next()
			if told != (tt.want != "") {
				t.Fatalf("told: %v", told)
			}
			if a := e.Alert; told && (a.Kind != AlertQuotaLow || a.Window != tt.want || *a.PercentLeft != tt.left || a.ConnectionName != "work" || a.Until == nil) {
				t.Errorf("told %+v", a)
			}
		})
	}
}
