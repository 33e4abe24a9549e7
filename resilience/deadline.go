package resilience

import (
	"math"
	"strconv"
	"strings"
	"time"

	"breakwater/resilience/exclusion"
)

// ParseDeadline reads a stored rate_limited_until: an ISO date, or an epoch in
// milliseconds as a number or text, with or without a decimal part. What cannot
// be read is the zero time: not cooling (sheet §3.1).
func ParseDeadline(text string) time.Time {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(n) || n <= 0 || n > 1e15 {
			return time.Time{}
		}
		return time.UnixMilli(int64(n)).UTC()
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", time.DateTime} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// ResetAfter says in words how long a wait is, "reset after 1h 2m 3s", seconds
// rounded up; a wait that is over is "reset after 0s" (sheet §3.15).
func ResetAfter(d time.Duration) string {
	s := int64(max(0, d+time.Second-1) / time.Second)
	h, m, s := s/3600, s/60%60, s%60
	var parts []string
	if h > 0 {
		parts = append(parts, strconv.FormatInt(h, 10)+"h")
	}
	if m > 0 {
		parts = append(parts, strconv.FormatInt(m, 10)+"m")
	}
	if s > 0 || len(parts) == 0 {
		parts = append(parts, strconv.FormatInt(s, 10)+"s")
	}
	return "reset after " + strings.Join(parts, " ")
}

// ModelCooldown is what a client is told when every candidate is out because
// its model is locked (sheet §3.15, code model_cooldown).
type ModelCooldown struct {
	Model              string `json:"model"`
	ResetSeconds       int64  `json:"reset_seconds"` // rounded up, at least 1
	RetryAfter         string `json:"retry_after,omitempty"`
	CredentialsCooling int    `json:"credentials_cooling,omitempty"`
}

// ModelCooldown sums up a plan without targets in which model lockouts, and
// nothing else, keep the candidates out; ok is false for any other plan.
func (p Plan) ModelCooldown(now time.Time) (body ModelCooldown, ok bool) {
	if len(p.Targets) > 0 || len(p.Excluded) == 0 {
		return ModelCooldown{}, false
	}
	for _, x := range p.Excluded {
		if x.Reason != exclusion.ModelLocked {
			return ModelCooldown{}, false
		}
	}
	first := p.Earliest()
	left := max(time.Second, first.Sub(now)+time.Second-1)
	return ModelCooldown{
		Model: p.Excluded[0].Model, ResetSeconds: int64(left / time.Second),
		RetryAfter: first.UTC().Format(time.RFC3339), CredentialsCooling: len(p.Excluded),
	}, true
}
