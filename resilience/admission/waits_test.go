package admission

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/settings"
)

const ms = time.Millisecond

// sheetWait is what the sheet's cases assume (sheet §8.1).
var sheetWait = settings.ComboCooldownWait{Enabled: true, MaxWaitMs: 5000, MaxAttempts: 2, BudgetMs: 8000}

// spent is a request that has made n waits and has left of the budget.
func spent(n int, left time.Duration) Spent { return Spent{Attempts: n, Time: 8000*ms - left} }

func TestDecideCases(t *testing.T) {
	off := sheetWait
	off.Enabled = false
	for _, c := range []struct {
		name   string
		reason string
		wait   time.Duration
		spent  Spent
		s      settings.ComboCooldownWait
		want   Decision
	}{
		{"case 1", "rate_limit", 3000 * ms, Spent{}, sheetWait, Decision{Wait: true, For: 3000 * ms}},
		{"case 2", "quota_exhausted", 3000 * ms, Spent{}, sheetWait, Decision{For: 3000 * ms, Why: NotTransient}},
		{"case 3 auth", "auth_error", 3000 * ms, Spent{}, sheetWait, Decision{For: 3000 * ms, Why: NotTransient}},
		{"case 3 not found", "not_found", 3000 * ms, Spent{}, sheetWait, Decision{For: 3000 * ms, Why: NotTransient}},
		{"case 3 local", "not_found_local", 3000 * ms, Spent{}, sheetWait, Decision{For: 3000 * ms, Why: NotTransient}},
		{"case 4 none", "", 3000 * ms, Spent{}, sheetWait, Decision{For: 3000 * ms, Why: NotTransient}},
		{"case 4 unknown", "unknown", 3000 * ms, Spent{}, sheetWait, Decision{For: 3000 * ms, Why: NotTransient}},
		{"case 5", "rate_limit", 5001 * ms, Spent{}, sheetWait, Decision{For: 5001 * ms, Why: TooLong}},
		{"case 6", "rate_limit", 5000 * ms, Spent{}, sheetWait, Decision{Wait: true, For: 5000 * ms}},
		{"case 7 zero", "rate_limit", 0, Spent{}, sheetWait, Decision{Why: NothingToWait}},
		{"case 7 negative", "rate_limit", -10 * ms, Spent{}, sheetWait, Decision{Why: NothingToWait}},
		{"case 7 without end", "rate_limit", math.MaxInt64, Spent{}, sheetWait, Decision{For: math.MaxInt64, Why: TooLong}},
		{"case 8 the third", "rate_limit", 3000 * ms, spent(2, 8000*ms), sheetWait, Decision{For: 3000 * ms, Why: TooManyWaits}},
		{"case 8 the second", "rate_limit", 3000 * ms, spent(1, 8000*ms), sheetWait, Decision{Wait: true, For: 3000 * ms}},
		{"case 9 short of a millisecond", "rate_limit", 3000 * ms, spent(0, 2999*ms), sheetWait, Decision{For: 3000 * ms, Why: BudgetSpent}},
		{"case 9 just enough", "rate_limit", 3000 * ms, spent(0, 3000*ms), sheetWait, Decision{Wait: true, For: 3000 * ms}},
		{"case 10", "rate_limit", 3000 * ms, Spent{}, off, Decision{For: 3000 * ms, Why: WaitsOff}},
		{"off, whatever the reason", "auth_error", 3000 * ms, Spent{}, off, Decision{For: 3000 * ms, Why: WaitsOff}},
		{"ruling 45 the client cannot be held", "rate_limit", 3000 * ms, Spent{Client: 2 * time.Second}, sheetWait, Decision{For: 3000 * ms, Why: ClientLimit}},
		{"the classifier's word", "rate_limit_exceeded", 3000 * ms, Spent{}, sheetWait, Decision{Wait: true, For: 3000 * ms}},
		{"overloaded", "overloaded", 3000 * ms, Spent{}, sheetWait, Decision{Wait: true, For: 3000 * ms}},
		{"server error", "server_error", 3000 * ms, Spent{}, sheetWait, Decision{Wait: true, For: 3000 * ms}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.Reason = c.reason
			if got := Decide(c.reason, c.wait, c.spent, c.s); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// hold is an exclusion by its cause and how long it lasts.
type hold struct {
	cause string
	left  time.Duration
}

const circuitOpen = "circuit_open"

var excludedAt = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func excluded(now time.Time, holds ...hold) (list []exclusion.Exclusion) {
	for _, h := range holds {
		e := exclusion.Exclusion{Reason: exclusion.ModelLocked, Until: now.Add(h.left), Source: outcome.Reason(h.cause)}
		switch h.cause {
		case circuitOpen:
			e.Reason, e.Source = exclusion.BreakerOpen, ""
		case "auth_error":
			e.Reason, e.Source = exclusion.Banned, ""
		}
		list = append(list, e)
	}
	return list
}

func TestAfterDispatchCases(t *testing.T) {
	locked := func(left ...time.Duration) []hold {
		var h []hold
		for _, d := range left {
			h = append(h, hold{"rate_limit", d})
		}
		return h
	}
	for _, c := range []struct {
		name  string
		holds []hold
		hint  time.Duration
		want  Decision
	}{
		{"case 11", locked(2000 * ms), 2000 * ms, Decision{Wait: true, For: 2050 * ms, Reason: "rate_limit"}},
		{"case 12", locked(3000*ms, 2000*ms), 0, Decision{Wait: true, For: 2050 * ms, Reason: "rate_limit"}},
		{"case 13", locked(1500 * ms), 0, Decision{Wait: true, For: 1550 * ms, Reason: "rate_limit"}},
		{"case 14", locked(1000 * ms), 3000 * ms, Decision{Wait: true, For: 3050 * ms, Reason: "rate_limit"}},
		{"case 15", locked(1000 * ms), 6000 * ms, Decision{For: 6050 * ms, Reason: "rate_limit", Why: TooLong}},
		{"case 16", locked(6000 * ms), 0, Decision{For: 6050 * ms, Reason: "rate_limit", Why: TooLong}},
		{"case 17 no lock", nil, 2000 * ms, Decision{Why: NothingToWait}},
		{"case 17 a lock that has run out", locked(0), 2000 * ms, Decision{Why: NothingToWait}},
		{"a quota lock is not waited for", []hold{{"quota_exhausted", 100 * ms}}, 0, Decision{Reason: "quota_exhausted", Why: NothingToWait}},
		{"… nor in the way", []hold{{"quota_exhausted", 100 * ms}, {"rate_limit", 2 * time.Second}, {"auth_error", 1}}, 0, Decision{Wait: true, For: 2050 * ms, Reason: "rate_limit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := AfterDispatch(excludedAt, func() []exclusion.Exclusion { return excluded(excludedAt, c.holds...) }, c.hint, Spent{}, sheetWait); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	for _, name := range []string{"case 10 switched off, nothing is looked up", "case 33 a combo cannot switch it on"} {
		t.Run(name, func(t *testing.T) {
			got := AfterDispatch(excludedAt, func() []exclusion.Exclusion { t.Error("looked up"); return nil }, time.Second, Spent{}, settings.ComboCooldownWait{})
			if got != (Decision{Why: WaitsOff}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestBeforeDispatchCases(t *testing.T) {
	off := settings.ComboCooldownWait{}
	for _, c := range []struct {
		name  string
		holds []hold
		spent Spent
		s     settings.ComboCooldownWait
		want  Skipped
	}{
		{
			"case 31",
			[]hold{{circuitOpen, 900 * ms}, {circuitOpen, 500 * ms}},
			Spent{},
			sheetWait,
			Skipped{Decision{Wait: true, For: 550 * ms, Reason: circuitOpen}, CodeAllCooling, 503, 500 * ms},
		},
		{
			"case 31 attempts used up",
			[]hold{{circuitOpen, 500 * ms}},
			spent(2, 8000*ms), sheetWait,
			Skipped{Decision{For: 550 * ms, Reason: circuitOpen, Why: TooManyWaits}, CodeAllCooling, 503, 500 * ms},
		},
		{
			"case 31 budget used up",
			[]hold{{circuitOpen, 500 * ms}},
			spent(0, 500*ms), sheetWait,
			Skipped{Decision{For: 550 * ms, Reason: circuitOpen, Why: BudgetSpent}, CodeAllCooling, 503, 500 * ms},
		},
		{
			"case 32 the combo opted out",
			[]hold{{"rate_limit", 2000 * ms}},
			Spent{},
			off,
			Skipped{Decision{For: 2050 * ms, Reason: "rate_limit", Why: WaitsOff}, CodeRateLimit, 429, 2000 * ms},
		},
		{
			"case 34",
			[]hold{{"rate_limit", 2000 * ms}, {"rate_limit", 4000 * ms}},
			Spent{},
			sheetWait,
			Skipped{Decision{Wait: true, For: 2050 * ms, Reason: "rate_limit"}, CodeRateLimit, 429, 2000 * ms},
		},
		{
			"case 35",
			[]hold{{"rate_limit", 9000 * ms}, {"rate_limit", 7000 * ms}},
			Spent{},
			sheetWait,
			Skipped{Decision{For: 7050 * ms, Reason: "rate_limit", Why: TooLong}, CodeRateLimit, 429, 7000 * ms},
		},
		{
			"case 36",
			[]hold{{"quota_exhausted", 2000 * ms}},
			Spent{},
			sheetWait,
			Skipped{Decision{Reason: "quota_exhausted", Why: NothingToWait}, CodeAllSkipped, 503, 0},
		},
		{
			"nothing that a timer ends",
			[]hold{{"auth_error", 0}},
			Spent{},
			sheetWait,
			Skipped{Decision{Why: NothingToWait}, CodeAllSkipped, 503, 0},
		},
		{
			"a breaker and a lock: the first to end is waited for",
			[]hold{{circuitOpen, 500 * ms}, {"rate_limit", 2000 * ms}},
			Spent{},
			sheetWait,
			Skipped{Decision{Wait: true, For: 550 * ms, Reason: circuitOpen}, CodeRateLimit, 429, 2000 * ms},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := BeforeDispatch(excludedAt, excluded(excludedAt, c.holds...), c.spent, c.s); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestWaitsOfARequest runs the decisions as the attempt loop does: what was
// spent is counted over all waits of the request.
func TestWaitsOfARequest(t *testing.T) {
	// run dispatches until done, and returns the targets called and the time.
	run := func(t *testing.T, s settings.ComboCooldownWait, locks map[string]time.Time, order []string, call func(n int, target string) (ok bool, lock time.Duration)) (calls []string, served bool) {
		t.Helper()
		var sp Spent
		for {
			hint := time.Duration(0)
			for _, target := range order {
				if time.Now().Before(locks[target]) {
					continue
				}
				calls = append(calls, target)
				ok, lock := call(len(calls), target)
				if ok {
					return calls, true
				}
				locks[target] = time.Now().Add(lock)
				if hint == 0 || lock < hint {
					hint = lock
				}
			}
			now := time.Now()
			d := AfterDispatch(now, func() (list []exclusion.Exclusion) {
				for _, target := range order {
					list = append(list, excluded(now, hold{"rate_limit", locks[target].Sub(now)})...)
				}
				return list
			}, hint, sp, s)
			if !d.Wait {
				return calls, false
			}
			if err := Sleep(t.Context(), d.For); err != nil {
				t.Fatal(err)
			}
			sp.Add(d.For)
		}
	}
	bubble := func(name string, f func(t *testing.T)) { t.Run(name, func(t *testing.T) { synctest.Test(t, f) }) }
	bubble("case 24 the second call serves", func(t *testing.T) {
		from := time.Now()
		calls, ok := run(t, sheetWait, map[string]time.Time{}, []string{"a"}, func(n int, _ string) (bool, time.Duration) { return n == 2, 250 * ms })
		if !ok || len(calls) != 2 || time.Since(from) < 250*ms {
			t.Errorf("%v after %s", calls, time.Since(from))
		}
	})
	bubble("case 26 without waits the first 429 is the answer", func(t *testing.T) {
		calls, ok := run(t, settings.ComboCooldownWait{}, map[string]time.Time{}, []string{"a"}, func(int, string) (bool, time.Duration) { return false, 250 * ms })
		if ok || len(calls) != 1 {
			t.Errorf("%v", calls)
		}
	})
	for _, name := range []string{"case 27 of two limits the shorter is waited for", "case 28 both are locked on the first pass"} {
		bubble(name, func(t *testing.T) {
			from := time.Now()
			calls, ok := run(t, sheetWait, map[string]time.Time{}, []string{"A", "B"}, func(n int, target string) (bool, time.Duration) {
				return n == 3, map[string]time.Duration{"A": 200 * ms, "B": 3000 * ms}[target]
			})
			if took := time.Since(from); !ok || len(calls) != 3 || calls[2] != "A" || took < 200*ms || took > 3000*ms {
				t.Errorf("%v after %s", calls, took)
			}
		})
	}
	bubble("the waits of a request end", func(t *testing.T) {
		from := time.Now()
		calls, ok := run(t, sheetWait, map[string]time.Time{}, []string{"a"}, func(int, string) (bool, time.Duration) { return false, 3 * time.Second })
		if ok || len(calls) != 3 || time.Since(from) > 8*time.Second {
			t.Errorf("%v after %s", calls, time.Since(from))
		}
	})
	bubble("case 25 the client leaves during the wait", func(t *testing.T) {
		gone := errors.New("client left")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := start(func() (struct{}, error) { return struct{}{}, Sleep(ctx, time.Hour) })
		synctest.Wait()
		cancel(gone)
		if r := <-done; !errors.Is(r.err, gone) || r.after != 0 {
			t.Errorf("%v after %s", r.err, r.after)
		}
		if err := Sleep(ctx, time.Hour); !errors.Is(err, gone) {
			t.Errorf("and at once: %v", err)
		}
	})
}

func TestDecideDirect(t *testing.T) {
	s := settings.Defaults().WaitForCooldown
	for _, c := range []struct {
		name  string
		wait  time.Duration
		spent Spent
		want  Refused
	}{
		{"short", time.Second, Spent{}, NotRefused},
		{"the longest", 90 * time.Second, Spent{}, NotRefused},
		{"too long", 90*time.Second + 1, Spent{}, TooLong},
		{"the fifth", time.Second, Spent{Attempts: 4}, NotRefused},
		{"the sixth", time.Second, Spent{Attempts: 5}, TooManyWaits},
		{"over the budget", 90 * time.Second, Spent{Time: 211 * time.Second}, BudgetSpent},
		{"nothing", 0, Spent{}, NothingToWait},
		{"longer than the client stays", time.Minute, Spent{Client: 15 * time.Second}, ClientLimit},
	} {
		if got := DecideDirect(c.wait, c.spent, s); got.Why != c.want || got.Wait != (c.want == NotRefused) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	for _, off := range []settings.WaitForCooldown{{}, {Enabled: true, MaxRetries: 5, BudgetMs: 1000}, {Enabled: true, MaxRetryWaitSec: 5, BudgetMs: 1000}} {
		if got := DecideDirect(time.Second, Spent{}, off); got.Why != WaitsOff {
			t.Errorf("%+v: %+v", off, got)
		}
	}
	sp := Spent{Client: 3 * time.Second}
	sp.Add(2 * time.Second)
	if sp != (Spent{Attempts: 1, Time: 2 * time.Second, Client: time.Second}) {
		t.Errorf("spent %+v", sp)
	}
	if sp.Add(2 * time.Second); sp.Client != 1 {
		t.Errorf("a used up patience became unlimited: %+v", sp)
	}
}
