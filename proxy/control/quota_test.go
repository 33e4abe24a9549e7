package control

import (
	"testing"
	"time"

	"breakwater/resilience/clock"
	"breakwater/resilience/quota"
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
			s := &Service{cfg: Config{Clock: clock.NewFake(now)}, quota: quota.NewLedger()}
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
