package combo

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// clinic is a Health of fixed answers.
type clinic struct {
	session, week float64
	loadErr       error
	condition     Condition
	conditionErr  error
}

func (c clinic) Load(string) (session, week float64, err error) { return c.session, c.week, c.loadErr }

func (c clinic) Condition(string) (Condition, error) { return c.condition, c.conditionErr }

func TestSessionKey(t *testing.T) {
	t.Run("case 76 the same first user text is the same key", func(t *testing.T) {
		a := SessionKey(FirstUserText([]Message{{"user", "hello"}, {"assistant", "hi"}, {"user", "more"}}))
		b := SessionKey(FirstUserText([]Message{{"assistant", "welcome"}, {"user", "hello"}}))
		if a != b || len(a) != 16 || strings.Trim(a, "0123456789abcdef") != "" {
			t.Error(a, b)
		}
		if SessionKey("other") == a {
			t.Error("other text, same key")
		}
	})
	t.Run("case 75 no user text", func(t *testing.T) {
		if SessionKey(FirstUserText([]Message{{"system", "x"}})) != "" || SessionKey(" \n") != "" {
			t.Error("a key of nothing")
		}
	})
}

func TestStickiness(t *testing.T) {
	bound := func(name Name) (*Input, *Entry) {
		in := input(tgts("a", "b", "c"))
		in.Session = "s"
		Bind(in.State, t0, "s", "c-b")
		e, _ := Lookup(string(name))
		return in, e
	}
	stick := func(in *Input, e *Entry, h Health) string { return keys(in.stick(e, h, in.Targets)) }
	t.Run("case 73 headroom .16 and .10", func(t *testing.T) {
		for left, want := range map[float64]string{.16: "b a c", .15: "a b c", .10: "a b c"} {
			in, e := bound(Random)
			if got := stick(in, e, clinic{session: 1 - left, week: .1}); got != want {
				t.Errorf("%v: %s", left, got)
			}
			if kept := Bound(in.State, t0, "s") != ""; kept != (want == "b a c") {
				t.Errorf("%v: binding kept %v", left, kept)
			}
		}
	})
	t.Run("case 74 the condition of the account", func(t *testing.T) {
		for _, c := range []struct {
			name string
			c    Condition
			err  error
			want string
		}{
			{"terminal", Condition{Terminal: true}, nil, "a b c"},
			{"exhausted", Condition{Exhausted: true}, nil, "a b c"},
			{"limited", Condition{LimitedUntil: t0.Add(time.Second)}, nil, "a b c"},
			{"limited before", Condition{LimitedUntil: t0.Add(-time.Second)}, nil, "b a c"},
			{"unknown", Condition{Terminal: true}, errors.New("lookup"), "b a c"},
		} {
			in, e := bound(Random)
			if got := stick(in, e, clinic{condition: c.c, conditionErr: c.err}); got != c.want {
				t.Errorf("%s: %s", c.name, got)
			}
		}
		in, e := bound(Random)
		if got := stick(in, e, clinic{loadErr: errors.New("lookup")}); got != "a b c" || Bound(in.State, t0, "s") == "" {
			t.Error("a failed look at the load changes something", got)
		}
		if got := stick(in, e, nil); got != "b a c" {
			t.Error(got)
		}
	})
	t.Run("case 75 one target, or no session", func(t *testing.T) {
		in, e := bound(Random)
		in.Targets = in.Targets[1:2]
		if got := stick(in, e, clinic{session: 1}); got != "b" || Bound(in.State, t0, "s") == "" {
			t.Error(got)
		}
		in, e = bound(Random)
		in.Session = ""
		if got := stick(in, e, nil); got != "a b c" {
			t.Error(got)
		}
	})
	t.Run("strategies", func(t *testing.T) {
		for name, want := range map[Name]string{Priority: "a b c", RoundRobin: "b c a", CacheOptimized: "a b c", Auto: "b a c", FillFirst: "a b c", Weighted: "a b c"} {
			in, e := bound(name) // every target has a model of its own
			if got := stick(in, e, nil); got != want {
				t.Errorf("%s: %s", name, got)
			}
		}
		in, e := bound(FillFirst)
		for i := range in.Targets {
			in.Targets[i].Model = "p/same"
		}
		if got := stick(in, e, nil); got != "b a c" {
			t.Error(got)
		}
	})
	t.Run("15 minutes from the last use, switched off, and gone", func(t *testing.T) {
		in, e := bound(Random)
		in.Now = t0.Add(15*time.Minute + 1)
		if got := stick(in, e, nil); got != "a b c" || Bound(in.State, in.Now, "s") != "" {
			t.Error(got)
		}
		in, e = bound(Random)
		Bind(in.State, t0, "s", "gone")
		if got := stick(in, e, nil); got != "a b c" {
			t.Error(got)
		}
		in, e = bound(Random)
		in.Config.DisableSessionStickiness = true
		if got := stick(in, e, nil); got != "a b c" || Bound(in.State, t0, "s") != "" {
			t.Error(got)
		}
	})
	t.Run("ties", func(t *testing.T) {
		st := NewState()
		Bind(st, t0, "", "c")
		Bind(st, t0, "s", "")
		if held(st, bindings) != 0 {
			t.Error("a tie without ends")
		}
		Bind(st, t0, "s", "c")
		Unbind(st, "s", "other")
		if Bound(st, t0, "s") != "c" {
			t.Error("untied by another connection's failure")
		}
		Unbind(st, "s", "c")
		if Bound(st, t0, "s") != "" {
			t.Error("still tied")
		}
		for i := range 600 {
			Bind(st, t0, strings.Repeat("x", i+1), "c")
		}
		if n := held(st, bindings); n != 500 {
			t.Error(n)
		}
	})
}

func TestFailureStreak(t *testing.T) {
	t.Run("case 121 cleared once a streak, others keep theirs", func(t *testing.T) {
		st := NewState()
		for i, want := range []bool{false, false, true, false, false} {
			if got := CountFailure(st, t0, "s", "c"); got != want {
				t.Errorf("failure %d: %v", i+1, got)
			}
		}
		if CountFailure(st, t0, "other", "c") || CountFailure(st, t0, "s", "d") || CountFailure(st, t0, "", "c") {
			t.Error("another's")
		}
		CountSuccess(st, "s", "c")
		CountFailure(st, t0, "s", "c")
		CountFailure(st, t0, "s", "c")
		if CountFailure(st, t0.Add(6*time.Minute), "s", "c") {
			t.Error("a streak outlives five minutes")
		}
	})
}
