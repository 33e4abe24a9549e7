package claude

import (
	"strings"
	"testing"
	"time"
)

// FuzzAnswer: whatever headers an answer carries, a decision is whole and its
// wait within bounds, and the lane ends in time.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"status: rejected\nreset: 1800003600\nslow-offer: treatment",
		"slow-status: slot_busy\nslow-retry-after: 30\nslow-max-wait: 1e300",
		"slow-status: budget_exhausted\nslow-budget-reset: 99999999999999999999",
		"slow-status: ineligible\noverage-in-use: true",
		"SLOW-STATUS: active\n5h-reset: 2030-01-02T03:04:05Z\nslow-budget-utilization: 0.5",
		"reset: NaN\nslow-retry-after: -0\nrepresentative-claim: five_hour",
		"5h-status: rejected\n5h-utilization: 0x1p-2\n7d_oi-status: allowed\n7d-utilization: Infinity",
	} {
		f.Add(429, s)
		f.Add(200, s)
		f.Add(529, s)
	}
	f.Fuzz(func(t *testing.T, code int, text string) {
		h := headers{}
		for line := range strings.SplitSeq(text, "\n") {
			k, v, _ := strings.Cut(line, ":")
			h[unifiedPrefix+k] = append(h[unifiedPrefix+k], v)
		}
		if a, b := readUnified(h), readUnified(h); a != b {
			t.Fatalf("read twice: %q, %q", a, b)
		}
		b := newBench(t)
		for _, r := range []*Request{b.open(t0, bothOn), b.active(10 * time.Minute)} {
			d := b.call(r, t0, code, h)
			if d.Action == AskReset {
				d = r.AfterReset(t0, false)
			}
			if d.Delay < 0 || d.Delay > 780*time.Second || d.Action == AskReset || (d.Action == End) != (d.Reason != "") {
				t.Fatalf("decision %+v", d)
			}
		}
		for _, st := range b.lanes.Status(t0, "c1") {
			if left := st.Until.Sub(t0); st.State != LaneIdle && (left <= 0 || left > budgetMemory) || st.BudgetUtilization > 1 || st.BudgetUtilization < 0 {
				t.Fatalf("status %+v", st)
			}
		}
		u := NewUsages()
		u.Observe(t0, keyOfTest, h)
		if got, ok := u.Of(keyOfTest); ok {
			checkUsage(t, got)
		}
	})
}

// FuzzBodies: whatever the side calls answer, an attempt ends, and figures stay
// within bounds.
func FuzzBodies(f *testing.F) {
	for _, s := range []string{
		offered, granted, usageLegacy, usageLimits, `{"juniper_tide":{"eligible":true,"arm":7}}`, `{"result":7,"resets_left":1e99}`,
		`{"oauth_account":{"organization_uuid":"../.."}}`, `{"limits":[null,7,{"percent":-1},{"kind":"session","percent":1e400}]}`, `[`, `"`,
	} {
		f.Add(200, []byte(s))
		f.Add(429, []byte(s))
	}
	f.Fuzz(func(t *testing.T, code int, body []byte) {
		d := newDesk()
		c := d.resets.Begin(keyOfTest, "")
		step := c.Start(t0)
		for calls := 0; step.Do != Done; calls++ {
			if calls == 3 || strings.Contains(step.Call.Path, "..") && strings.Contains(step.Call.Path, "/../") {
				t.Fatalf("step %+v", step)
			}
			reply := Reply{Status: code, Body: body}
			if calls == 0 {
				reply = d.status
			}
			step = c.Feed(t0, reply)
		}
		if left := step.Next.Sub(t0); left <= 0 || left > 30*24*time.Hour {
			t.Fatalf("next in %s", left)
		}
		if tide, ok := ParseStatus(body); !ok && tide != (Tide{}) || ok && tide.ResetsPerWeek < 0 {
			t.Fatalf("%+v", tide)
		}
		if u, ok := ParseUsage(t0, body); ok {
			checkUsage(t, u)
		}
	})
}

func checkUsage(t *testing.T, u Usage) {
	for _, w := range append([]Window{u.Session, u.Weekly}, u.Models...) {
		if !(w.Used >= 0 && w.Used <= 1) || !w.Known() && w != (Window{}) || w.Known() && w.Name == "" {
			t.Fatalf("window %+v", w)
		}
		if w.Model != "" {
			fits(w.Model, "claude-opus-4-5")
		}
	}
	if !(u.Extra.Used >= 0 && u.Extra.Used <= 1) {
		t.Fatalf("extra usage %+v", u.Extra)
	}
}
