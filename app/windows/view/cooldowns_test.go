package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	"breakwater/proxy/control"
)

// coolNow is when the tests of the cooldown manager happen.
var coolNow = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) *time.Time { return new(coolNow.Add(d)) }

// coolSnapshot holds one connection for each way of being out of routing.
func coolSnapshot() control.Snapshot {
	lock := func(model string, d time.Duration) control.Lockout {
		return control.Lockout{Model: model, Reason: "quota_exhausted", Until: coolNow.Add(d), FailureCount: 2}
	}
	return control.Snapshot{Connections: []control.Connection{
		{ID: "well", Provider: "a", ProviderName: "Alpha", Name: "Well", State: control.StateServing},
		{ID: "cool", Provider: "a", ProviderName: "Alpha", Name: "Cool", State: control.StateCooling, Until: after(time.Minute), Lockouts: []control.Lockout{lock("big", 3*time.Minute)}, ErrorCode: 429, Reason: "rate_limit_exceeded"},
		{ID: "lock", Provider: "b", ProviderName: "Beta", Name: "Lock", State: control.StateModelLocked, Until: after(9 * time.Minute), Lockouts: []control.Lockout{lock("m1", 9*time.Minute), lock("m2", time.Minute), lock("gone", -time.Minute)}},
		{ID: "open", Provider: "b", ProviderName: "Beta", Name: "Open", State: control.StateOpen, Until: after(40 * time.Second)},
		{ID: "poor", Provider: "c", ProviderName: "gamma", Name: "Poor", State: control.StateCreditsExhausted, RateLimitedUntil: after(time.Hour)},
		{ID: "off", Provider: "a", ProviderName: "Alpha", Name: "Off", State: control.StateOff},
	}}
}

func ids(rows []CooldownRow) string {
	var out []string
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

func TestCooldownRowsListWhatIsOutOfRouting(t *testing.T) {
	s := coolSnapshot()
	for want, f := range map[string]CooldownFilter{
		"poor lock cool open":          {},
		"poor lock cool open well off": {Healthy: true},
		"lock open":                    {Provider: "b"},
		"cool well off":                {Provider: "a", Healthy: true},
		"":                             {Provider: "none"},
	} {
		if got := ids(cooldownRows(s, f, coolNow)); got != want {
			t.Errorf("%+v lists %q, want %q", f, got, want)
		}
	}
	if n := Sidelined(s, coolNow); n != 4 {
		t.Errorf("the rail counts %d", n)
	}
	if n := NeedYou(s); n != 1 {
		t.Errorf("%d need the user", n)
	}
}

// Ruling 66: what else holds requests back is listed with its end, and what only
// spaces them can be cleared but keeps nothing out.
func TestCooldownRowTellsOtherWaits(t *testing.T) {
	soon := coolNow.Add(5 * time.Minute)
	for _, tt := range []struct {
		wait   control.Wait
		listed bool
		left   string
		tip    string
	}{
		{control.Wait{Kind: control.WaitQueuePause, Until: &soon}, true, "5 min 00 s", "the queue is paused, in 5 min 00 s"},
		{control.Wait{Kind: control.WaitAllowance, Until: &soon, Model: "m1"}, true, "5 min 00 s", "m1: the provider has nothing left for now"},
		{control.Wait{Kind: control.WaitQuotaWindow, Until: &soon}, true, "5 min 00 s", "a quota window is used up"},
		{control.Wait{Kind: control.WaitProviderWindow, Until: &soon}, true, "5 min 00 s", "the provider rests"},
		{control.Wait{Kind: control.WaitLearnedLimit, SpacingMs: 1500}, false, "", "one request every 1.5 s, as the provider taught"},
	} {
		s := control.Snapshot{Connections: []control.Connection{{ID: "x", State: control.StateServing, Active: true, Waits: []control.Wait{tt.wait}}}}
		rows := cooldownRows(s, CooldownFilter{Healthy: true}, coolNow)
		if r := rows[0]; !r.Clearable || r.Remaining != tt.left || !strings.Contains(r.RemainingTip, tt.tip) {
			t.Errorf("%s: %q, tip %q, clearable %v", tt.wait.Kind, r.Remaining, r.RemainingTip, r.Clearable)
		}
		if n := Sidelined(s, coolNow); (n == 1) != tt.listed {
			t.Errorf("%s: the rail counts %d", tt.wait.Kind, n)
		}
	}
}

func TestCooldownRowTellsTheLongestOfConnectionAndLockouts(t *testing.T) {
	rows := cooldownRows(coolSnapshot(), CooldownFilter{}, coolNow)
	cool, lock, poor, open := rows[2], rows[1], rows[0], rows[3]
	if cool.Remaining != "3 min 00 s" || cool.LastError != "429, rate limited" || cool.Badge.Text() != "cooling" || !cool.Clearable {
		t.Errorf("%+v", cool)
	}
	if lock.Locked != "m1" || lock.LockedMore != "and 1 more" || lock.Remaining != "9 min 00 s" || !strings.Contains(lock.LockedTip, "m2: quota used up, in 60 s") || strings.Contains(lock.LockedTip, "gone") {
		t.Errorf("%+v", lock)
	}
	if !poor.Terminal || poor.Clearable || poor.Remaining != "" {
		t.Errorf("a terminal state ends with no time and is not cleared: %+v", poor)
	}
	if open.Clearable || open.Remaining != "40 s" {
		t.Errorf("an open breaker is not a cooldown: %+v", open)
	}
}

func TestClearingLeavesTerminalAndHealthyAlone(t *testing.T) {
	s := coolSnapshot()
	for _, c := range []struct {
		ids      []string
		provider string
		want     []string
		told     string
	}{
		{nil, "", []string{"cool", "lock"}, "2 connections are back in routing. 3 models were unlocked with it. 1 was passed over: it needs a new key, credit or sign-in."},
		{nil, "a", []string{"cool"}, "1 connection is back in routing. 1 model was unlocked with it."},
		{[]string{"lock", "well"}, "", []string{"lock"}, "1 connection is back in routing. 2 models were unlocked with it."},
		{[]string{"poor"}, "", nil, "Nothing was there to clear. 1 was passed over: it needs a new key, credit or sign-in."},
		{[]string{}, "", nil, "Nothing was there to clear."},
		{[]string{"no such"}, "", nil, "Nothing was there to clear."},
	} {
		got := ClearingOf(s, c.ids, c.provider, coolNow)
		if !slices.Equal(got.IDs, c.want) || got.Told() != c.told {
			t.Errorf("%v %q: %v %q", c.ids, c.provider, got.IDs, got.Told())
		}
	}
}

func TestCooldownsLineCountsBoth(t *testing.T) {
	if got := CooldownsLine(coolSnapshot(), coolNow); got != "2 come back by themselves. 1 needs you. 3 models are locked." {
		t.Errorf("%q", got)
	}
	if got := CooldownsLine(control.Snapshot{}, coolNow); got != "Everything is in routing." {
		t.Errorf("%q", got)
	}
}

func TestLockRowsComeLongestFirst(t *testing.T) {
	rows := LockRows(coolSnapshot(), "", coolNow)
	if len(rows) != 3 || rows[0].Model != "m1" || rows[1].Model != "big" || rows[2].Model != "m2" {
		t.Fatalf("%+v", rows)
	}
	if r := rows[0]; r.Connection != "Lock" || r.Reason != "quota used up" || r.Failures != "2" || r.Remaining != "9 min 00 s" {
		t.Errorf("%+v", r)
	}
	if rows := LockRows(coolSnapshot(), "a", coolNow); len(rows) != 1 {
		t.Errorf("%+v", rows)
	}
	for n, want := range map[int]string{0: "Nothing was locked any more.", 1: "1 model is asked again.", 3: "3 models are asked again."} {
		if got := Unlocked(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}

func TestBreakerRowsPutTroubleFirst(t *testing.T) {
	s := control.Snapshot{Breakers: []control.Breaker{
		{ProviderName: "Calm", State: "CLOSED", FailureThreshold: 8, DegradationThreshold: 5},
		{ProviderName: "Warm", State: "DEGRADED", FailureCount: 7, FailureThreshold: 12, DegradationThreshold: 7, LastFailure: after(-time.Minute), LastFailureKind: "rate_limit"},
		{ProviderName: "Out", State: "OPEN", FailureCount: 20, FailureThreshold: 12, OpenCycleCount: 2, Until: after(40 * time.Second)},
		{ProviderName: "Odd", State: "HALF_OPEN", FailureThreshold: 0, OpenCycleCount: 1},
	}}
	rows := BreakerRows(s, coolNow)
	var names []string
	for _, r := range rows {
		names = append(names, r.Provider)
	}
	if got := strings.Join(names, " "); got != "Out Odd Warm Calm" {
		t.Error(got)
	}
	if r := rows[0]; r.Share != 1 || r.Count != "20/12" || r.Opened != "2 times" || r.Badge.Rest != "probe in 40 s" {
		t.Errorf("%+v", r)
	}
	if r := rows[1]; r.Share != 0 || r.Mark != 0 || r.Opened != "once" || r.LastFailure != "none" {
		t.Errorf("%+v", r)
	}
	if r := rows[2]; r.LastFailure != "rate limited, 1 min ago" || r.Mark < 0.58 || r.Mark > 0.59 || !strings.Contains(r.CountTip, "from 7 on") {
		t.Errorf("%+v", r)
	}
}

func TestProviderOptionsNameEachOnce(t *testing.T) {
	got := ProviderOptions(coolSnapshot())
	if !slices.Equal(got, []Option{{"a", "Alpha", "Alpha"}, {"b", "Beta", "Beta"}, {"c", "gamma", "gamma"}}) {
		t.Errorf("%+v", got)
	}
}

func cooldownRows(s control.Snapshot, f CooldownFilter, now time.Time) []CooldownRow {
	out := []CooldownRow{}
	for _, c := range CooldownList(s.Connections, f, now) {
		out = append(out, CooldownRowOf(c, now))
	}
	return out
}
