package combo

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTrustInAReading(t *testing.T) {
	by := trust{ttl: time.Millisecond, maxStale: time.Minute}
	for _, c := range []struct {
		name          string
		age           time.Duration
		counts, renew bool
	}{
		{"just read", 0, true, false},
		{"as old as the TTL", time.Millisecond, true, false},
		{"case 64 a stale one counts while it is renewed", time.Millisecond + 1, true, true},
		{"case 64 ten seconds old", 10 * time.Second, true, true},
		{"the oldest that counts", time.Minute + time.Millisecond, true, true},
		{"too old", time.Minute + time.Millisecond + 1, false, true},
		{"years old", 1 << 62, false, true},
		{"the clock was set back a little", -time.Second, true, true},
		{"the clock was set back a lot", -time.Hour, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := weekly(.5, day)
			counts, renew := by.judge(q.At.Add(c.age), q)
			if counts != c.counts || renew != c.renew {
				t.Errorf("counts %v, renew %v", counts, renew)
			}
		})
	}
	if counts, renew := by.judge(t0, nil); counts || !renew {
		t.Error("no reading at all", counts, renew)
	}
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, name))
		}
		by, age := trust{span("ttl"), span("maxStale")}, span("age")
		counts, renew := by.judge(t0.Add(age), weekly(.5, day))
		older, renewOlder := by.judge(t0.Add(age+time.Second), weekly(.5, day))
		if !counts && !renew || older && !counts || renew && !renewOlder {
			t.Errorf("%+v at %s: counts %v, renew %v; a second later %v, %v", by, age, counts, renew, older, renewOlder)
		}
	})
}

func TestPlansHaveOldReadingsRenewed(t *testing.T) {
	// Account c1 was read at t0 and is nearly full, c2 has spent its quota.
	w := place{accounts: map[string][]Account{"p": {{ID: "c1", Active: true}, {ID: "c2", Active: true}}}}
	left := map[string]float64{"c1": .9, "c2": .1}
	run := func(t *testing.T, c Combo, q Request, own map[string]any) (*Plan, []string) {
		t.Helper()
		var told []string
		p := planner(w)
		p.Look = look(func(t *Target) Live {
			spent := 1 - left[t.Connection]
			return Live{Quota: &Quota{At: t0, Session: used(spent, SessionSpan), Weekly: used(spent, WeekSpan)}}
		})
		p.Renew = func(t *Target) { told = append(told, t.Connection) }
		c.Config = own
		plan, r := p.Plan(&c, &q)
		if r != nil {
			t.Fatal(r)
		}
		return plan, told
	}
	both := map[string]any{
		"resetAwareQuotaCacheTtlMs": 1.0, "resetAwareQuotaCacheMaxStaleMs": 60_000.0,
		"resetWindowQuotaCacheTtlMs": 1.0, "resetWindowQuotaCacheMaxStaleMs": 60_000.0,
	}
	soon, late := Request{Now: t0.Add(10 * time.Second)}, Request{Now: t0.Add(time.Hour)}
	for i := range table {
		e := &table[i]
		renews := e.Name == ResetAware || e.Name == ResetWindow
		for _, name := range append([]string{string(e.Name)}, e.Aliases...) {
			t.Run("case 64 "+name, func(t *testing.T) {
				plan, told := run(t, mk("x", Name(name), "p/a"), soon, both)
				if (len(told) > 0) != renews {
					t.Errorf("told of %v", told)
				}
				if plan.Order[0].Live.Quota == nil {
					t.Error("a reading that is stale does not count")
				}
				plan, told = run(t, mk("x", Name(name), "p/a"), late, both)
				if (len(told) > 0) != renews || (plan.Order[0].Live.Quota == nil) != renews {
					t.Errorf("later told of %v, quota %+v", told, plan.Order[0].Live.Quota)
				}
				plan, told = run(t, mk("x", Name(name), "p/a"), late, nil)
				if len(told) > 0 || plan.Order[0].Live.Quota == nil {
					t.Errorf("with the defaults told of %v, quota %+v", told, plan.Order[0].Live.Quota)
				}
			})
		}
	}
	t.Run("case 64 stale readings give the order", func(t *testing.T) {
		left["c1"], left["c2"] = .1, .9
		plan, _ := run(t, mk("x", ResetAware, "p/a"), soon, both)
		wantModels(t, plan.Order, "p/a@c2 p/a@c1")
	})
	t.Run("a reading that is young is left alone", func(t *testing.T) {
		if _, told := run(t, mk("x", ResetAware, "p/a"), Request{Now: t0}, both); len(told) > 0 {
			t.Errorf("told of %v", told)
		}
	})
	t.Run("case 65 only the connections of the caller's key", func(t *testing.T) {
		q := late
		q.Allowed = []string{"c2"}
		if _, told := run(t, mk("x", ResetAware, "p/a"), q, both); len(told) != 1 || told[0] != "c2" {
			t.Errorf("told of %v", told)
		}
	})
}
