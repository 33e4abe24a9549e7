package view

import (
	"testing"
	"time"

	"breakwater/proxy/control"
)

func TestSwitchesTellHowTheyStand(t *testing.T) {
	now := time.Date(2030, 1, 2, 15, 50, 0, 0, time.Local)
	at := func(d time.Duration) *time.Time { t := now.Add(d); return &t }
	two := 2
	on := control.Connection{LowPriorityMode: true, AutoLimitReset: true}
	lane := func(c control.Connection, l control.ClaudeLane) Switch { c.Lane = &l; return LaneSwitch(c, now) }
	reset := func(c control.Connection, r control.ClaudeReset) Switch {
		c.LimitReset = &r
		return ResetSwitch(c, now)
	}
	for _, c := range []struct {
		name       string
		got        Switch
		word, more string
		can        bool
	}{
		{"lane off", LaneSwitch(control.Connection{}, now), "Off. At the limit this connection rests like any other.", "", false},
		{"lane unused", LaneSwitch(on, now), "Ready. It is entered when the limit is reached and Anthropic offers it.", "", false},
		{
			"in the lane", lane(on, control.ClaudeLane{State: "active", Since: at(-time.Hour), Until: at(time.Hour), RequestsServed: 4}),
			"In the lane since 14:50, until 16:50 at the latest.", "Served there: 4, at normal speed: 0.", true,
		},
		{"in the lane though switched off", lane(control.Connection{}, control.ClaudeLane{State: "active"}), "In the lane.", "Served there: 0, at normal speed: 0.", true},
		{"allowance spent", lane(on, control.ClaudeLane{State: "budget_spent", Until: at(time.Hour)}), "The lane's own allowance is used up until 16:50.", "", false},
		{"cooling off", lane(on, control.ClaudeLane{State: "cooling_off", Until: at(time.Hour)}), "A slot took too long, so the lane rests until 16:50.", "", false},
		{
			"left", lane(on, control.ClaudeLane{State: "idle", Since: at(-time.Hour), Reason: "weekly"}),
			"Ready. It is entered when the limit is reached and Anthropic offers it.", "Last left at 14:50: the weekly limit was reached.", false,
		},
		{"reset off", ResetSwitch(control.Connection{}, now), "Off. A reset that the account has left stays yours to use.", "", false},
		{"reset unused", ResetSwitch(on, now), "Ready. It has not been needed yet.", "", true},
		{
			"reset granted", reset(on, control.ClaudeReset{Outcome: "reset", Granted: true, At: at(-time.Minute), Next: at(time.Hour), ResetsLeft: &two}),
			"Last tried at 15:49: the limit was reset.", "The next may be asked for from 16:50. Resets left: 2.", true,
		},
		{"reset not offered", reset(on, control.ClaudeReset{Outcome: "not_offered"}), "None is offered to this account.", "The next may be asked for now.", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got.State.Word != c.word || c.got.More != c.more || c.got.Can != c.can {
				t.Errorf("%q, %q, %v", c.got.State.Word, c.got.More, c.got.Can)
			}
		})
	}
}

func TestEveryEndAndOutcomeHasWords(t *testing.T) {
	for _, r := range []string{"reset", "weekly", "budget", "off", "ineligible", "wall", "max_wait", "extra_usage", "operator"} {
		if w := LaneEnd(r); w == "" || w == Reason(r) {
			t.Errorf("the end %s is %q", r, w)
		}
	}
	for _, o := range []string{
		"reset", "not_limited", "recent_reset", "memo_skip", "no_status", "not_offered", "no_organization", "already_used", "cooldown",
		"ineligible", "unavailable", "rate_limited", "auth_error", "error",
	} {
		if w := ResetOutcome(o); w == "" || w == Reason(o) {
			t.Errorf("the outcome %s is %q", o, w)
		}
	}
}

func TestQuotaBars(t *testing.T) {
	now := time.Date(2030, 1, 2, 15, 50, 0, 0, time.Local)
	window := func(used float64, resets time.Duration, full bool) *control.ClaudeWindow {
		at := now.Add(resets)
		return &control.ClaudeWindow{Name: "w", Used: used, Resets: &at, Full: full, At: now.Add(-2 * time.Minute)}
	}
	opus := *window(0.999, time.Hour, false)
	opus.Model = "opus"
	list := Quotas(&control.ClaudeUsage{FiveHour: window(1, -time.Minute, true), Weekly: window(0.3, 3*time.Hour, false), Models: []control.ClaudeWindow{opus}}, now)
	want := []Quota{
		{Name: "Five hours", Figure: "0 %", Role: RolePrimary, Tip: "read 2 min ago"},
		{Name: "Week", Figure: "30 %", Share: 0.3, Role: RolePrimary, Resets: "anew 18:50", Clock: "18:50", Tip: "begins anew " + Exact(now.Add(3*time.Hour)) + " · read 2 min ago"},
		{Name: "Week, Opus", Figure: "99 %", Share: 0.999, Role: RoleWarning, Resets: "anew 16:50", Clock: "16:50", Tip: "begins anew " + Exact(now.Add(time.Hour)) + " · read 2 min ago"},
	}
	if len(list) != 3 {
		t.Fatal(list)
	}
	for i := range want {
		if list[i] != want[i] {
			t.Errorf("%+v\nwant %+v", list[i], want[i])
		}
	}
	if q, ok := Fullest(list); !ok || q.Name != "Week, Opus" {
		t.Error(q)
	}
	if _, ok := Fullest(nil); ok || Quotas(nil, now) != nil {
		t.Error("windows out of nothing")
	}
	if q := quotaOf("w", *window(1, time.Hour, true), now); q.Role != RoleError || q.Figure != "100 %" {
		t.Errorf("%+v", q)
	}
	if got := Percent(0.001); got != "1 %" {
		t.Error(got)
	}
}

func TestFirstWordsAreTheMiddleOfTheLastAnswers(t *testing.T) {
	list := []control.Activity{{ConnectionID: "a", Result: "failed", FirstOutputMs: 9}, {ConnectionID: "a", Result: "answered", FirstOutputMs: -1}}
	for _, ms := range []int64{900, 100, 300} {
		list = append(list, control.Activity{ConnectionID: "a", Result: "answered", FirstOutputMs: ms})
	}
	if got := Speeds(list); len(got) != 1 || got["a"].Word != "300 ms" {
		t.Errorf("%+v", got)
	}
}
