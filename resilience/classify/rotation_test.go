package classify

import (
	"testing"
	"time"

	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

// rotate gives a case the process-wide rotation as change leaves it.
func rotate(change func(*settings.Rotation)) option {
	r := settings.Defaults().Rotation
	change(&r)
	return with(func(o *Options) { o.Rotation = &r })
}

func TestRotationDefaults(t *testing.T) {
	t.Run("case 120 defaults", func(t *testing.T) {
		r := settings.Defaults().Rotation
		if !r.Enabled || !r.On429.On || !r.On500.On || !r.On502.On || r.On400.On || r.On429.Threshold != 1 || r.RateLimitResetSeconds != 0 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("case 121 threshold and reset of the environment", func(t *testing.T) {
		set := rotate(func(r *settings.Rotation) {
			r.RateLimitResetSeconds = 10
			r.On429 = settings.RotationRule{On: true, Threshold: 6, WindowSeconds: 120}
		})
		streak := &Streak{}
		for n := 1; n <= 6; n++ {
			o := cfe(429, "rate limit", 4, "openai", set, with(func(o *Options) { o.Streak = streak }))
			if o.Fallback != (n == 6) {
				t.Errorf("error %d: fallback %v", n, o.Fallback)
			}
			if n == 6 {
				failure(outcome.ReasonRateLimit, 10*time.Second, 0).check(t, o)
			}
		}
	})
}

func TestRotationGate(t *testing.T) {
	blocked := want{class: outcome.Failure, reason: outcome.ReasonUnknown, level: -1}
	off502 := rotate(func(r *settings.Rotation) { r.On502.On = false })
	verdicts(t, []verdict{
		{name: "case 122 502 off", got: cfe(502, "", 0, "acme", off502), want: blocked},
		{name: "case 122 429 still moves", got: cfe(429, "", 0, "acme", off502), want: failure(outcome.ReasonRateLimit, 3*time.Second, 1)},
		{name: "case 122 500 still moves", got: cfe(500, "", 0, "acme", off502), want: failure(outcome.ReasonServerError, 3*time.Second, 1)},
		{name: "case 122 400 as ever", got: cfe(400, "x", 0, "acme", off502), want: refused(outcome.ReasonUnknown)},
		{name: "case 122 401 not gated", got: cfe(401, "", 0, "acme", off502), want: failure(outcome.ReasonAuth, 0, -1)},
		{name: "500 class holds 503 and 529", got: cfe(529, "", 0, "acme", rotate(func(r *settings.Rotation) { r.On500.On = false })), want: blocked},
		{name: "master off", got: cfe(429, "", 0, "acme", rotate(func(r *settings.Rotation) { r.Enabled = false })), want: blocked},
		{
			name: "case 126 400 opted in", got: cfe(400, "Invalid JSON: unexpected token", 0, "acme", rotate(func(r *settings.Rotation) { r.On400.On = true })),
			want: failure(outcome.ReasonUnknown, 2*time.Minute, -1),
		},
		{
			name: "case 126 400 with an override", got: cfe(400, "Invalid JSON: unexpected token", 0, "acme", rotate(func(r *settings.Rotation) { r.On400.On, r.RateLimitResetSeconds = true, 9 })),
			want: failure(outcome.ReasonUnknown, 9*time.Second, -1),
		},
		{name: "case 126 400 by default", got: cfe(400, "Invalid JSON: unexpected token", 0, "acme"), want: refused(outcome.ReasonRequestInvalid)},
		{
			name: "case 127", got: cfe(429, "rate limit", 5, "openai", rotate(func(r *settings.Rotation) { r.RateLimitResetSeconds = 10 })),
			want: failure(outcome.ReasonRateLimit, 10*time.Second, 0),
		},
		{
			name: "case 127 not for a server error", got: cfe(503, "", 0, "openai", rotate(func(r *settings.Rotation) { r.RateLimitResetSeconds = 10 })),
			want: failure(outcome.ReasonServerError, 3*time.Second, 1),
		},
	})
}

func TestOverrides(t *testing.T) {
	t.Run("case 123 a connection's word", func(t *testing.T) {
		r := settings.Defaults().Rotation
		r.On429.Threshold, r.On500.Threshold = 6, 4
		got := Overrides{
			RateLimitResetSeconds: 20,
			On429:                 RuleOverride{On: new(false), Threshold: 3, WindowSeconds: 60},
		}.Apply(Options{}, r)
		if got.ConnectionDelay != 20*time.Second || got.Rotation.On429 != (settings.RotationRule{Threshold: 3, WindowSeconds: 60}) {
			t.Errorf("got %v %+v", got.ConnectionDelay, got.Rotation)
		}
		if got.Rotation.On500 != (settings.RotationRule{On: true, Threshold: 4, WindowSeconds: 120}) || r.On429.Threshold != 6 {
			t.Errorf("inherited %+v, process-wide %+v", got.Rotation.On500, r.On429)
		}
	})

	row := with(func(o *Options) { o.ConnectionDelay = 20 * time.Second })
	provider := with(func(o *Options) { o.ProviderDelay = 60 * time.Second })
	env := rotate(func(r *settings.Rotation) { r.RateLimitResetSeconds = 10 })
	retry := header("Retry-After", "120")
	for _, c := range []struct {
		name string
		got  outcome.Outcome
		want want
	}{
		{"case 128 header first", cfe(429, "", 4, "acme", row, provider, env, retry), hinted(outcome.ReasonRateLimit, 120*time.Second)},
		{"case 128 then the connection", cfe(429, "", 4, "acme", row, provider, env), failure(outcome.ReasonRateLimit, 20*time.Second, 0)},
		{"case 128 then the provider", cfe(429, "", 4, "acme", provider, env), failure(outcome.ReasonRateLimit, 60*time.Second, 0)},
		{"case 128 then the environment", cfe(429, "", 4, "acme", env), failure(outcome.ReasonRateLimit, 10*time.Second, 0)},
		{"case 128 then the ladder", cfe(429, "", 4, "acme"), failure(outcome.ReasonRateLimit, 48*time.Second, 5)},
	} {
		t.Run(c.name, func(t *testing.T) { c.want.check(t, c.got) })
	}
}

func TestStreak(t *testing.T) {
	rule := settings.RotationRule{On: true, Threshold: 3, WindowSeconds: 60}
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	for _, c := range []struct {
		name  string
		times []int
		want  []bool
	}{
		{"case 124 threshold within the window", []int{0, 1, 2, 3}, []bool{false, false, true, false}},
		{"case 125 errors far apart", []int{0, 120}, []bool{false, false}},
		{"the window slides", []int{0, 40, 70, 80}, []bool{false, false, false, true}},
		{"a clock that steps back forgets", []int{100, 0, 1, 2}, []bool{false, false, false, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Streak{}
			for i, sec := range c.times {
				if got := s.reached("alpha", 429, rule, at(sec)); got != c.want[i] {
					t.Errorf("error at %d s: %v, want %v", sec, got, c.want[i])
				}
			}
		})
	}
	t.Run("connections and classes are counted apart", func(t *testing.T) {
		s := &Streak{}
		for _, k := range []streakKey{{"alpha", 429}, {"alpha", 500}, {"beta", 429}, {"beta", 500}} {
			if s.reached(k.connection, k.class, rule, t0) {
				t.Errorf("%v reached at once", k)
			}
		}
	})
	t.Run("memory is bounded", func(t *testing.T) {
		s := &Streak{}
		for i := range 3 * maxStreaks {
			s.reached(string(rune(i)), 429, rule, t0)
		}
		if len(s.seen) > maxStreaks {
			t.Errorf("%d streaks", len(s.seen))
		}
	})
	t.Run("without a window the default applies", func(t *testing.T) {
		s := &Streak{}
		two := settings.RotationRule{On: true, Threshold: 2}
		s.reached("alpha", 429, two, at(0))
		if !s.reached("alpha", 429, two, at(119)) {
			t.Error("119 s are outside the window")
		}
	})
	t.Run("nothing counts without a streak", func(t *testing.T) {
		var s *Streak
		if !s.reached("alpha", 429, rule, t0) {
			t.Error("not reached")
		}
	})
}
