package quota

import (
	"testing"
	"time"
)

// Sheet §3.11, step 17: which reset is known.
func TestUsedUp(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for _, tt := range []struct {
		name    string
		windows []Window
		want    time.Duration // 0: none
	}{
		{"nothing known", nil, 0},
		{"room is left", []Window{{Kind: Session, Used: 0.99, ResetAt: in(time.Hour), At: now}}, 0},
		{"used up", []Window{{Kind: Session, Used: 1, ResetAt: in(time.Hour), At: now}}, time.Hour},
		{"refused", []Window{{Kind: Weekly, Used: 0.9, Rejected: true, ResetAt: in(50 * time.Hour), At: now}}, 50 * time.Hour},
		{"the last of two", []Window{{Kind: Session, Used: 1, ResetAt: in(time.Hour), At: now}, {Kind: Weekly, Used: 1.2, ResetAt: in(9 * time.Hour), At: now}}, 9 * time.Hour},
		{"over by now", []Window{{Kind: Session, Used: 1, ResetAt: in(-time.Second), At: now}}, 0},
		{"without a reset", []Window{{Kind: Session, Used: 1, At: now}}, 0},
		{"of another model", []Window{{Kind: Weekly, Scope: "opus", Used: 1, ResetAt: in(time.Hour), At: now}}, 0},
		{"of this model", []Window{{Kind: Weekly, Scope: "haiku", Used: 1, ResetAt: in(time.Hour), At: now}}, time.Hour},
		{"P06 no more than a week", []Window{{Kind: Weekly, Used: 1, ResetAt: in(400 * 24 * time.Hour), At: now}}, 7 * 24 * time.Hour},
		{"a month for a month's", []Window{{Kind: Monthly, Used: 1, ResetAt: in(400 * 24 * time.Hour), At: now}}, 30 * 24 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			until, ok := (&Snapshot{At: now, Windows: tt.windows}).UsedUp(now, "claude-haiku-4-5")
			if ok != (tt.want > 0) || ok && until.Sub(now) != tt.want {
				t.Errorf("until %v, %v; want %v", until, ok, tt.want)
			}
		})
	}
}
