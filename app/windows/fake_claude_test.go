//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"time"

	"breakwater/proxy/control"
)

// busyClaude is a subscription in the lane, with its windows known.
func busyClaude(c *control.Connection, now time.Time) {
	at := func(d time.Duration) *time.Time { return new(now.Add(d)) }
	left, used := 1, 0.18
	c.AutoLimitReset = true
	c.Lane = &control.ClaudeLane{
		State: "active", Since: at(-42 * time.Minute), Until: at(80 * time.Minute), RetryAfterMs: 20_000, MaxWaitMs: 1_200_000,
		RequestsServed: 12, RequestsServedStandard: 3, Waiting: 2, BudgetUtilization: &used,
	}
	c.LimitReset = &control.ClaudeReset{Outcome: "cooldown", At: at(-40 * time.Minute), Next: at(26 * time.Hour), ResetsLeft: &left}
	window := func(name, model string, used float64, resets time.Duration) control.ClaudeWindow {
		return control.ClaudeWindow{Name: name, Model: model, Used: used, Resets: at(resets), Full: used >= 1, Source: "usage", At: now.Add(-time.Minute)}
	}
	five, week := window("five_hour", "", 1, 80*time.Minute), window("seven_day", "", 0.46, 67*time.Hour)
	c.Usage = &control.ClaudeUsage{
		FiveHour: &five, Weekly: &week, Models: []control.ClaudeWindow{window("seven_day_opus", "opus", 0.83, 67*time.Hour)},
		Extra: &control.ClaudeExtra{Enabled: true, MonthlyLimit: 5000, UsedCredits: 1250, Used: 0.25, Currency: "USD"},
	}
}

func (f *fake) LeaveLane(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("leave lane %s", id)
	return f.refused()
}

func (f *fake) CheckLimitReset(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("check reset %s", id)
	return f.refused()
}

func (f *fake) ClaudeUsage(_ context.Context, id string) (control.ClaudeUsage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("usage %s", id)
	return control.ClaudeUsage{}, nil
}
