package claude

import (
	"testing"
	"time"
)

const (
	usageLegacy = `{"five_hour":{"utilization":37.5,"resets_at":"2027-01-15T10:00:00Z"},"seven_day":{"utilization":100,"resets_at":"2027-01-18T08:00:00+00:00"},
		"seven_day_opus":{"utilization":100,"resets_at":"2027-01-17T08:00:00Z"},"seven_day_sonnet":null,"seven_day_x":{"utilization":"9"},
		"extra_usage":{"is_enabled":true,"queued":true,"monthly_limit":5000,"used_credits":1250,"utilization":25,"currency":"USD","disabled_reason":null}}`
	usageLimits = `{"five_hour":{"utilization":99},"limits":[
		{"kind":"session","percent":100,"severity":"critical","resets_at":"2027-01-15T10:00:00Z","is_active":true},
		{"kind":"weekly_all","percent":50,"severity":"normal","resets_at":null,"is_active":false},
		{"kind":"weekly_scoped","percent":100,"severity":"critical","resets_at":"2027-01-17T08:00:00Z","is_active":true,"scope":{"model":{"id":"claude-opus-4-5","display_name":"Opus 4.5"}}},
		{"kind":"weekly_scoped","percent":10,"is_active":false,"scope":{"model":{"id":"claude-sonnet-4","display_name":""}}},
		{"kind":"monthly","percent":10},{"kind":"session"},null]}`
)

// full is a window that refuses until d from t0.
func full(d time.Duration) Window {
	return Window{Name: "w", Used: 1, Active: true, Resets: at(d), Source: FromEndpoint, At: t0}
}

func TestUsageBodies(t *testing.T) {
	t.Run("the older fields", func(t *testing.T) {
		u, ok := ParseUsage(t0, []byte(usageLegacy))
		if !ok || u.Session.Used != 0.375 || u.Session.Active || u.Session.Name != SessionWindow || !u.Session.Resets.Equal(at(2*time.Hour)) {
			t.Errorf("session %+v", u.Session)
		}
		if u.Weekly.Used != 1 || !u.Weekly.Active || u.Weekly.Source != FromEndpoint || !u.Weekly.At.Equal(t0) {
			t.Errorf("weekly %+v", u.Weekly)
		}
		if len(u.Models) != 1 || u.Models[0].Name != "seven_day_opus" || u.Models[0].Model != "opus" || !u.Models[0].Active {
			t.Errorf("models %+v", u.Models)
		}
		if want := (ExtraUsage{Enabled: true, Queued: true, MonthlyLimit: 5000, UsedCredits: 1250, Used: 0.25, Currency: "USD"}); u.Extra != want {
			t.Errorf("extra %+v", u.Extra)
		}
	})
	t.Run("the list of limits replaces them", func(t *testing.T) {
		u, ok := ParseUsage(t0, []byte(usageLimits))
		if !ok || u.Session.Used != 1 || !u.Session.Active || u.Session.Severity != "critical" || u.Weekly.Used != 0.5 || !u.Weekly.Resets.IsZero() {
			t.Errorf("%+v", u)
		}
		if len(u.Models) != 2 || u.Models[0].Name != "seven_day_opus_4.5" || u.Models[0].Model != "Opus 4.5" || u.Models[1].Model != "claude-sonnet-4" {
			t.Errorf("models %+v", u.Models)
		}
	})
	t.Run("nothing in it", func(t *testing.T) {
		for _, body := range []string{``, `{}`, `{"limits":[]}`, `{"five_hour":null}`, `{"five_hour":{"utilization":-1}}`} {
			if u, ok := ParseUsage(t0, []byte(body)); ok {
				t.Errorf("%s reads as %+v", body, u)
			}
		}
	})
}

func TestWindowBlocks(t *testing.T) {
	edit := func(f func(*Window)) Window { w := full(time.Hour); f(&w); return w }
	for name, c := range map[string]struct {
		w    Window
		now  time.Time
		want bool
	}{
		"used up":                {full(time.Hour), t0, true},
		"its reset has passed":   {full(time.Hour), at(time.Hour), false},
		"something is left":      {edit(func(w *Window) { w.Used = 0.99 }), t0, false},
		"not active":             {edit(func(w *Window) { w.Active = false }), t0, false},
		"normal severity":        {edit(func(w *Window) { w.Severity = "normal" }), t0, false},
		"critical severity":      {edit(func(w *Window) { w.Severity = "critical" }), t0, true},
		"no reset, just read":    {edit(func(w *Window) { w.Resets = time.Time{} }), at(179 * time.Second), true},
		"no reset, read long go": {edit(func(w *Window) { w.Resets = time.Time{} }), at(180 * time.Second), false},
		"nothing known":          {Window{}, t0, false},
	} {
		if got := c.w.Blocks(c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPreflight(t *testing.T) {
	session := Usage{Session: full(time.Hour)}
	weekly := Usage{Session: full(time.Hour), Weekly: full(48 * time.Hour)}
	t.Run("X13 a used-up session", func(t *testing.T) {
		for sw, want := range map[Switches]bool{lowOn: false, autoOn: false, bothOn: false, bothOff: true} {
			if _, blocked := session.Preflight(t0, "claude-opus-4-5", sw); blocked != want {
				t.Errorf("%+v: %v", sw, blocked)
			}
		}
	})
	t.Run("X14 a used-up week", func(t *testing.T) {
		for _, sw := range []Switches{lowOn, autoOn, bothOn, bothOff} {
			if w, blocked := weekly.Preflight(t0, "claude-opus-4-5", sw); !blocked || !w.Resets.Equal(at(48*time.Hour)) {
				t.Errorf("%+v: %v %+v", sw, blocked, w)
			}
		}
	})
	t.Run("windows of single models", func(t *testing.T) {
		for _, c := range []struct {
			label, model string
			want         bool
		}{
			{"opus", "claude-opus-4-5-20250929", true},
			{"Opus", "claude-sonnet-4-5", false},
			{"Opus 4.5", "claude-opus-4-5-20250929", true},
			{"Opus 4.5", "claude-opus-4-1", false},
			{"Opus 4", "claude-opus-4-5", false},
			{"Opus 4.5", "opus", true},
			{"claude-opus-4-5", "claude-opus-4-5[1m]", true},
			{"Sonnet 3.5", "claude-3-5-sonnet-latest", true},
			{"oauth_apps", "claude-opus-4-5", false},
			{"", "claude-opus-4-5", false},
		} {
			w := full(time.Hour)
			w.Model = c.label
			u := Usage{Models: []Window{w}}
			if _, blocked := u.Preflight(t0, c.model, lowOn); blocked != c.want {
				t.Errorf("%q and %s: %v", c.label, c.model, blocked)
			}
		}
	})
	t.Run("queued extra usage", func(t *testing.T) {
		u := Usage{Session: full(time.Hour), Extra: ExtraUsage{Queued: true}}
		if got := u.ExtraUsageHold(t0, true); !got.Equal(at(time.Hour)) {
			t.Errorf("until %s", got)
		}
		if got := u.ExtraUsageHold(at(2*time.Hour), true); !got.Equal(at(2*time.Hour + 5*time.Minute)) {
			t.Errorf("until %s", got)
		}
		if !u.ExtraUsageHold(t0, false).IsZero() || !session.ExtraUsageHold(t0, true).IsZero() {
			t.Error("held for nothing")
		}
	})
}

func TestUsages(t *testing.T) {
	healthy := says("5h-status", "allowed", "5h-utilization", "0.4", "5h-reset", epoch(at(time.Hour)),
		"7d-status", "allowed_warning", "7d-utilization", "0.9", "7d-reset", epoch(at(48*time.Hour)))
	t.Run("every answer's headers", func(t *testing.T) {
		s := NewUsages()
		s.Observe(t0, keyOfTest, headers{"retry-after": {"3"}})
		if _, known := s.Of(keyOfTest); known {
			t.Error("known from nothing")
		}
		s.Observe(t0, keyOfTest, healthy)
		u, known := s.Of(keyOfTest)
		if !known || u.Session.Used != 0.4 || u.Session.Active || u.Weekly.Used != 0.9 || !u.Weekly.Resets.Equal(at(48*time.Hour)) || len(u.Models) != 0 {
			t.Errorf("%+v", u)
		}
		s.Observe(t0, keyOfTest, says("5h-status", "rejected", "5h-utilization", "0.998", "7d_oi-utilization", "1.2"))
		if u, _ = s.Of(keyOfTest); u.Session.Used != 1 || !u.Session.Active || u.Weekly.Used != 0.9 {
			t.Errorf("%+v", u)
		}
		if len(u.Models) != 1 || u.Models[0].Used != 1 || !u.Models[0].Active || u.Models[0].Name != "7d_oi" {
			t.Errorf("models %+v", u.Models)
		}
	})
	t.Run("O13 the endpoint is asked every three minutes at most", func(t *testing.T) {
		for _, c := range []struct {
			name, after string
			wait        time.Duration
		}{
			{"0", "0", 180 * time.Second},
			{"absent", "", 180 * time.Second},
			{"within bounds", "400", 400 * time.Second},
			{"too long", "2895", 15 * time.Minute},
		} {
			s := NewUsages()
			if !s.Due(t0, keyOfTest) || s.Due(t0, keyOfTest) || !s.Due(t0, Key{Connection: "c2"}) {
				t.Error("two took one turn")
			}
			s.Take(t0, keyOfTest, Reply{Status: 429, Header: headers{"Retry-After": {c.after}}})
			if s.Due(at(c.wait-time.Millisecond), keyOfTest) || !s.Due(at(c.wait), keyOfTest) {
				t.Errorf("Retry-After %s: not after %s", c.name, c.wait)
			}
		}
		s := NewUsages()
		s.Due(t0, keyOfTest)
		s.Take(t0, keyOfTest, Reply{Failed: true, Status: 429, Header: headers{"Retry-After": {"800"}}})
		if !s.Due(at(180*time.Second), keyOfTest) || s.Due(at(180*time.Second-3*time.Hour), keyOfTest) || !s.Due(at(360*time.Second-3*time.Hour), keyOfTest) {
			t.Error("a clock that was set back pins the endpoint")
		}
	})
	t.Run("headers are preferred while they are fresh", func(t *testing.T) {
		s := NewUsages()
		s.Observe(t0, keyOfTest, healthy)
		s.Observe(t0, keyOfTest, says("7d_oi-status", "allowed"))
		s.Take(at(179*time.Second), keyOfTest, answer(200, usageLegacy))
		u, _ := s.Of(keyOfTest)
		if u.Session.Source != FromHeaders || u.Weekly.Source != FromHeaders || len(u.Models) != 2 || !u.Extra.Enabled {
			t.Errorf("%+v", u)
		}
		s.Take(at(180*time.Second), keyOfTest, answer(200, `{"five_hour":{"utilization":1}}`))
		u, _ = s.Of(keyOfTest)
		if u.Session.Source != FromEndpoint || u.Session.Used != 0.01 || u.Weekly.Source != FromHeaders || len(u.Models) != 1 || u.Extra.Enabled {
			t.Errorf("%+v", u)
		}
		s.Observe(at(181*time.Second), keyOfTest, healthy)
		if u, _ = s.Of(keyOfTest); u.Session.Source != FromHeaders {
			t.Errorf("%+v", u)
		}
		s.Take(at(400*time.Second), keyOfTest, answer(500, usageLegacy))
		if u, _ = s.Of(keyOfTest); u.Session.Used != 0.4 {
			t.Errorf("an error was read: %+v", u)
		}
	})
	t.Run("the newest login of a connection", func(t *testing.T) {
		s := NewUsages()
		a, b := KeyOf("c1", "sk-ant-oat-a", true), KeyOf("c1", "sk-ant-oat-b", true)
		s.Observe(at(time.Second), a, says("7d-utilization", "0.3"))
		s.Observe(t0, b, says("5h-utilization", "0.7"))
		if u, known := s.Newest("c1"); !known || u.Weekly.Used != 0.3 {
			t.Errorf("%+v", u)
		}
		if _, known := s.Newest("c2"); known {
			t.Error("another connection is known")
		}
		s.Forget("c1")
		if _, known := s.Newest("c1"); known {
			t.Error("something is left")
		}
	})
}
