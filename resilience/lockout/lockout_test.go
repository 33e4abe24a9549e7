package lockout

import (
	"strconv"
	"testing"
	"time"
)

var t0 = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

const m = "gpt-5"

func fail429(base time.Duration) Failure {
	return Failure{Model: m, Status: 429, Reason: ReasonRateLimited, Base: base}
}

// run fails once at each moment and returns the waits and the last count.
func run(s *Set, f Failure, r Rules, moments ...time.Duration) (waits []time.Duration, count int) {
	for _, at := range moments {
		l, _ := s.Fail(t0.Add(at), f, r)
		waits = append(waits, l.span)
		count = l.Count
	}
	return waits, count
}

func want(t *testing.T, got []time.Duration, ms ...int) {
	t.Helper()
	for i := range ms {
		if i >= len(got) || got[i] != time.Duration(ms[i])*time.Millisecond {
			t.Fatalf("waits = %v, want %v ms", got, ms)
		}
	}
}

func locked(s *Set, at time.Duration, model string) bool {
	until, _, _ := s.View(t0.Add(at)).Until(t0.Add(at), model)
	return !until.IsZero()
}

func TestEscalation(t *testing.T) {
	const ms, sec = time.Millisecond, time.Second
	t.Run("case 190 three in a row, then a fresh start", func(t *testing.T) {
		s := NewSet("openai")
		r := Rules{Steps: 2, HasSteps: true, ResetAfter: 100 * ms}
		waits, n := run(&s, fail429(125*ms), r, 0, 50*ms, 100*ms)
		want(t, waits, 125, 250, 500)
		if n != 3 {
			t.Errorf("count = %d", n)
		}
		s.Clear(t0.Add(100*ms), m)
		waits, n = run(&s, fail429(125*ms), r, 700*ms)
		want(t, waits, 125)
		if n != 1 {
			t.Errorf("count = %d", n)
		}
	})
	t.Run("case 191 nine without a profile", func(t *testing.T) {
		s := NewSet("openai")
		moments := make([]time.Duration, 9)
		waits, n := run(&s, fail429(0), Rules{}, moments...)
		want(t, waits, 1000, 2000, 4000)
		if n != 9 || waits[8] != 2*time.Minute {
			t.Errorf("count %d, wait %s", n, waits[8])
		}
	})
	t.Run("case 192 the window reaches past the lock", func(t *testing.T) {
		s := NewSet("openai")
		r := Rules{Max: 30 * time.Minute, ResetAfter: 30 * sec}
		waits, n := run(&s, fail429(120*sec), r, 0, 130*sec)
		want(t, waits, 120_000, 240_000)
		if n != 2 {
			t.Errorf("count = %d", n)
		}
		if _, n := run(&s, fail429(120*sec), r, 130*sec+271*sec); n != 1 {
			t.Errorf("past the window the count is %d", n)
		}
	})
	t.Run("case 193 a quota without an end lasts until midnight", func(t *testing.T) {
		noon := time.Date(2030, 1, 2, 12, 0, 0, 0, time.FixedZone("here", 3*3600))
		s := NewSet("openai")
		l, _ := s.Fail(noon, Failure{Model: m, Status: 429, Reason: ReasonQuota}, Rules{})
		if l.span != 12*time.Hour {
			t.Errorf("wait = %s", l.span)
		}
	})
	t.Run("case 194 per-model quota", func(t *testing.T) {
		s := NewSet("gemini")
		waits, _ := run(&s, fail429(5*sec), Rules{Max: time.Hour}, 0, sec)
		want(t, waits, 5000, 10_000)
	})
	t.Run("case 195 exact wait below the cap", func(t *testing.T) {
		s := NewSet("openai")
		waits, _ := run(&s, Failure{Model: m, Status: 429, Exact: 592_044_000 * ms}, Rules{Max: 592_044_001 * ms}, 0)
		want(t, waits, 592_044_000)
	})
	t.Run("case 196 capped ladder; settings case 62", func(t *testing.T) {
		r := Rules{Max: 1500 * ms, ResetAfter: 500 * ms}
		s := NewSet("openai")
		waits, _ := run(&s, fail429(500*ms), r, 0, 600*ms, 1100*ms)
		want(t, waits, 500, 1000, 1500)
		s = NewSet("openai")
		waits, _ = run(&s, fail429(500*ms), r, 0, 600*ms, 1700*ms)
		want(t, waits, 500, 1000, 1500)
	})
	t.Run("case 197 exact waits and the cap", func(t *testing.T) {
		for _, c := range []struct{ exact, max, want int }{{600_000, 300_000, 300_000}, {30_000, 300_000, 30_000}, {300_000, 0, 300_000}} {
			s := NewSet("openai")
			waits, _ := run(&s, Failure{Model: m, Status: 503, Exact: time.Duration(c.exact) * ms}, Rules{Max: time.Duration(c.max) * ms}, 0)
			want(t, waits, c.want)
		}
	})
	t.Run("case 198 only a stated wait passes the cap", func(t *testing.T) {
		for verified, ms := range map[bool]int{false: 1_800_000, true: 332_848_000} {
			s := NewSet("openai")
			waits, _ := run(&s, Failure{Model: m, Status: 429, Exact: 332_848_000 * time.Millisecond, Verified: verified}, Rules{Max: 30 * time.Minute}, 0)
			want(t, waits, ms)
		}
	})
	t.Run("ruling 10: nothing lasts longer than 30 days", func(t *testing.T) {
		s := NewSet("openai")
		l, _ := s.Fail(t0, Failure{Model: m, Exact: 400 * day, Verified: true}, Rules{})
		if l.span != 30*day {
			t.Errorf("wait = %s", l.span)
		}
	})
	t.Run("without exponential backoff each lock lasts the base", func(t *testing.T) {
		s := NewSet("openai")
		waits, _ := run(&s, Failure{Model: m, Status: 503}, Rules{Base: 7 * sec, Max: time.Hour, Flat: true}, 0, sec, 2*sec)
		want(t, waits, 7000, 7000, 7000)
	})
	t.Run("base of other statuses", func(t *testing.T) {
		s := NewSet("openai")
		waits, _ := run(&s, Failure{Model: m, Status: 503}, Rules{}, 0)
		want(t, waits, 5000)
	})
	t.Run("a longer lock stays", func(t *testing.T) {
		s := NewSet("openai")
		s.Fail(t0, Failure{Model: m, Status: 429, Exact: time.Hour, Verified: true}, Rules{})
		l, _ := s.Fail(t0, fail429(sec), Rules{})
		if !l.Until.Equal(t0.Add(time.Hour)) || l.Count != 2 {
			t.Errorf("until %v, count %d", l.Until, l.Count)
		}
	})
	t.Run("no model, no lock", func(t *testing.T) {
		s := NewSet("openai")
		if _, ok := s.Fail(t0, Failure{Status: 429}, Rules{}); ok || !s.Empty() {
			t.Error("something was locked")
		}
	})
}

func TestDecay(t *testing.T) {
	with := func(n int) *Set {
		s := NewSet("openai")
		for range n {
			s.Fail(t0, fail429(time.Minute), Rules{Max: time.Hour})
		}
		return &s
	}
	t.Run("case 201 and settings case 63", func(t *testing.T) {
		for _, c := range []struct {
			count, left int
			model       string
			changed     bool
		}{{4, 2, m, true}, {1, 0, m, true}, {0, 0, m, false}, {4, 0, "", false}, {4, 0, "another", false}} {
			s := with(c.count)
			if left, changed := s.Succeed(c.model); left != c.left || changed != c.changed {
				t.Errorf("%d, model %q: %d left, changed %v", c.count, c.model, left, changed)
			}
		}
	})
	t.Run("settings case 64 twice from two", func(t *testing.T) {
		s := with(2)
		if left, _ := s.Succeed(m); left != 1 || !locked(s, 0, m) {
			t.Errorf("%d left", left)
		}
		if left, _ := s.Succeed(m); left != 0 || !s.Empty() {
			t.Errorf("%d left", left)
		}
	})
	t.Run("case 216, ruling 11: at zero the model is usable at once", func(t *testing.T) {
		s := with(1)
		if !locked(s, 0, m) {
			t.Fatal("not locked")
		}
		s.Succeed(m)
		if locked(s, 0, m) {
			t.Error("still locked")
		}
	})
}

func TestKeys(t *testing.T) {
	lock := func(provider, model string, status int, reason string) *Set {
		s := NewSet(provider)
		s.Fail(t0, Failure{Model: model, Status: status, Reason: reason, Base: time.Minute}, Rules{Max: time.Hour})
		return &s
	}
	for _, c := range []struct {
		name         string
		set          *Set
		locked, free string
	}{
		{"case 202 spark and codex are two families", lock("codex", "gpt-5.3-codex-spark", 429, ReasonRateLimited), "codex-spark-mini", "gpt-5.3-codex"},
		{"case 203 an alias locks the same", lock("cx", "gpt-5.3-codex", 429, ReasonRateLimited), "gpt-5", "gpt-5-spark"},
		{"case 206 one model of github", lock("github", "gpt-5.1-codex-max", 429, ReasonRateLimited), "gpt-5.1-codex-max", "gpt-5-mini"},
		{"case 207 a missing model of antigravity", lock("antigravity", "gemini-3.6", 404, ReasonNotFound), "gemini-3.6", "gemini-3.1-flash-lite"},
		{"case 208 a quota of antigravity", lock("antigravity", "gemini-3.1-flash-lite", 429, ReasonRateLimited), "gemini-1.5-flash", "claude-x"},
		{"antigravity's other family", lock("agy", "claude-sonnet", 403, ReasonForbidden), "anthropic/x", "gemini-3"},
		{"antigravity, neither family", lock("agy", "gpt-oss", 429, ReasonRateLimited), "gpt-oss", "gpt-oss-2"},
		{"case 215 a bad answer locks the exact model", lock("codex", "gpt-5.6-luna", 502, ReasonQuality), "GPT-5.6-Luna ", "gpt-5.6"},
		{"case 215 a 429 locks the family", lock("codex", "gpt-5.6-luna", 429, ReasonRateLimited), "gpt-5", "spark"},
		{"a 404 locks the model as named", lock("codex", "gpt-9", 404, ReasonNotFound), "gpt-9", "gpt-5"},
		{"a not_found without a 404", lock("openai", "gpt-9", 200, ReasonNotFound), "gpt-9", "gpt-5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !locked(c.set, 0, c.locked) {
				t.Errorf("%s is free", c.locked)
			}
			if locked(c.set, 0, c.free) {
				t.Errorf("%s is locked", c.free)
			}
		})
	}
	t.Run("the caller's scope wins", func(t *testing.T) {
		s := NewSet("codex")
		s.Fail(t0, Failure{Model: "gpt-5", Status: 429, Scope: Exact, HasScope: true, Base: time.Minute}, Rules{})
		if !locked(&s, 0, "gpt-5") || locked(&s, 0, "gpt-5.1") {
			t.Error("the family was locked")
		}
	})
}

func TestEviction(t *testing.T) {
	fill := func(s *Set, n int, at, wait time.Duration) {
		for i := range n {
			s.Fail(t0.Add(at), Failure{Model: at.String() + strconv.Itoa(i), Status: 503, Exact: wait, Verified: true}, Rules{ResetAfter: 24 * time.Hour})
		}
	}
	t.Run("case 210", func(t *testing.T) {
		for _, c := range []struct{ expired, active, want int }{{1050, 0, 1000}, {0, 990, 990}, {1050, 1, 1000}} {
			s := NewSet("openai")
			fill(&s, c.expired, -time.Hour, time.Second)
			fill(&s, c.active, 0, time.Hour)
			s.evict(t0)
			if len(s.entries) != c.want || len(s.Active(t0)) != c.active {
				t.Errorf("%+v: %d entries, %d active", c, len(s.entries), len(s.Active(t0)))
			}
		}
	})
	t.Run("case 211 active locks are never evicted", func(t *testing.T) {
		s := NewSet("openai")
		fill(&s, 1100, 0, time.Hour)
		if len(s.entries) != 1100 {
			t.Errorf("%d left", len(s.entries))
		}
	})
	t.Run("what is over is swept", func(t *testing.T) {
		s := NewSet("openai")
		s.Fail(t0, fail429(time.Second), Rules{ResetAfter: time.Minute})
		s.Reject(t0, "old")
		s.Cut(t0, "old")
		s.Fail(t0.Add(25*time.Hour), Failure{Model: "new", Status: 503}, Rules{})
		if len(s.entries) != 1 || len(s.rejected) != 0 || len(s.cuts) != 0 {
			t.Errorf("%d locks, %d refusals, %d breaks left", len(s.entries), len(s.rejected), len(s.cuts))
		}
	})
}

func TestRejections(t *testing.T) {
	t.Run("case 189, ruling 13: 5, 15, 45, 60 minutes, never a ban", func(t *testing.T) {
		s := NewSet("claude")
		now := t0
		for i, min := range []time.Duration{5, 15, 45, 60, 60} {
			if n := s.Rejections(now, m); n != i {
				t.Fatalf("%d refusals before, want %d", n, i)
			}
			wait, counted := s.Reject(now, m)
			if wait != min*time.Minute || !counted || !locked(&s, now.Sub(t0), m) {
				t.Fatalf("refusal %d: %s, counted %v", i+1, wait, counted)
			}
			if rest, counted := s.Reject(now.Add(time.Minute), m); counted || rest != wait-time.Minute {
				t.Fatalf("one while cooling counted: %s", rest)
			}
			now = now.Add(wait)
		}
		if wait, _ := s.Reject(now.Add(24*time.Hour), m); wait != 5*time.Minute {
			t.Errorf("after a day: %s", wait)
		}
	})
	t.Run("a success ends the streak and the lock", func(t *testing.T) {
		s := NewSet("claude")
		s.Reject(t0, m)
		s.Reject(t0.Add(5*time.Minute), m)
		if _, changed := s.Succeed(m); !changed || locked(&s, 6*time.Minute, m) || !s.Empty() {
			t.Error("something is left")
		}
	})
	t.Run("another model is not affected", func(t *testing.T) {
		s := NewSet("claude")
		s.Reject(t0, m)
		if locked(&s, 0, "other") || s.Rejections(t0, "other") != 0 {
			t.Error("it is")
		}
	})
	t.Run("the third broken stream within ten minutes", func(t *testing.T) {
		s := NewSet("gemini")
		if s.Cut(t0, m) || s.Cut(t0.Add(time.Minute), m) || s.Cuts(t0.Add(time.Minute), m) != 2 || !s.Cut(t0.Add(2*time.Minute), m) {
			t.Error("wrong count")
		}
		if s.Cut(t0.Add(11*time.Minute), m) {
			t.Error("the window did not end")
		}
	})
}

func TestViews(t *testing.T) {
	s := NewSet("openai")
	if s.View(t0) != nil {
		t.Error("an empty set has a view")
	}
	s.Fail(t0, Failure{Model: "a", Status: 503, Exact: time.Minute}, Rules{})
	s.Fail(t0, Failure{Model: "b", Status: 503, Exact: time.Hour}, Rules{})
	v := s.View(t0)
	if list := s.Active(t0); len(list) != 2 || list[0].Model != "b" {
		t.Errorf("active = %+v", list)
	}
	back := t0.Add(-3 * time.Hour)
	if _, _, stepped := v.Until(back, "b"); !stepped {
		t.Error("the clock step went unnoticed")
	}
	if until, _, stepped := s.View(back).Until(back, "b"); stepped || until.Sub(back) != time.Hour {
		t.Errorf("after the step %s are left", until.Sub(back))
	}
	if n := s.Clear(back, ""); n != 2 || !s.Empty() {
		t.Errorf("%d cleared", n)
	}
	var none *View
	if until, _, stepped := none.Until(t0, "a"); !until.IsZero() || stepped {
		t.Error("no view locks something")
	}
}
