package control

import (
	"strconv"
	"testing"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/resilience/clock"
	"breakwater/resilience/quota"
	"breakwater/resilience/settings"
)

// answerHeaders are those of a usual answer of a subscription.
func answerHeaders(now time.Time) map[string][]string {
	h := map[string][]string{
		"Content-Type": {"text/event-stream; charset=utf-8"}, "Request-Id": {"req_1"}, "Anthropic-Organization-Id": {"o"}, "Date": {"x"},
	}
	for name, value := range map[string]string{
		"Status": "allowed", "Reset": "", "5h-Status": "allowed", "5h-Reset": "", "5h-Utilization": "0.25", "7d-Status": "allowed",
		"7d-Reset": "", "7d-Utilization": "0.5", "Representative-Claim": "five_hour", "Overage-Status": "rejected", "Fallback-Percentage": "0.5",
	} {
		if value == "" {
			value = strconv.FormatInt(now.Add(time.Hour).Unix(), 10)
		}
		h["Anthropic-Ratelimit-Unified-"+name] = []string{value}
	}
	return h
}

func newClaudeBench(b testing.TB) (*Service, *Route) {
	b.Helper()
	s := &Service{cfg: Config{Clock: clock.System{}}, quota: quota.NewLedger(), claude: newSubscriptions()}
	b.Cleanup(s.claude.close)
	set := settings.Defaults()
	s.inForce.Store(&set)
	p, _ := catalog.Lookup("claude")
	return s, &Route{Provider: p, Record: ConnectionRecord{
		ID: "c1", Credential: "passthrough", LowPriorityMode: true, AutoLimitReset: true,
	}}
}

// What the lane and the reset add to a request that is not at the wall: both
// switches on, no lane.
func BenchmarkLaneDecisionsAwayFromTheWall(b *testing.B) {
	s, r := newClaudeBench(b)
	h := answerHeaders(time.Now())
	b.Run("decisions", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := s.OpenClaude(r, ClaudeAsk{Bearer: "sk-ant-oat01-0123456789abcdef0123456789abcdef"})
			if _, _, send := c.Header(); send {
				b.Fatal("in the lane")
			}
			if d := c.lane.Answer(s.Now(), 200, h); d.Intercepted() {
				b.Fatal("intercepted")
			}
		}
	})
	b.Run("with the windows of its answer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c := s.OpenClaude(r, ClaudeAsk{Bearer: "sk-ant-oat01-0123456789abcdef0123456789abcdef"})
			c.Header()
			if d := c.Answer(200, h); d.Intercepted() {
				b.Fatal("intercepted")
			}
		}
	})
}

func TestStartTimeoutOfAConnection(t *testing.T) {
	for _, tt := range []struct {
		name     string
		provider string
		ms       int64
		want     time.Duration
	}{
		{"X16 as the connection says", "claude", 180_000, 180 * time.Second},
		{"X16 absent", "claude", 0, 600 * time.Second},
		{"X16 negative", "claude", -1, 600 * time.Second},
		{"X16 beyond the bound", "claude", 86_400_001, 600 * time.Second},
		{"other providers follow the settings", "anthropic", 180_000, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := catalog.Lookup(tt.provider)
			r := Route{Provider: p, Record: ConnectionRecord{TimeoutMs: tt.ms}}
			if got := r.StartTimeout(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
