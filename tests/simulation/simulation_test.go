package simulation

import (
	"os"
	"testing"
	"testing/synctest"

	"breakwater/resilience/combo"
)

// fullEnv runs whole days and prints the table of the README.
const fullEnv = "BREAKWATER_SIMULATION"

// play runs a plan in a bubble of its own.
func play(t *testing.T, p Plan) (res Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { res = Run(t, p) })
	return res
}

// calm is a plan of the same size in which nothing goes wrong.
func calm(p Plan, s combo.Name) Plan {
	p.Strategy, p.Calm, p.Seed = s, true, p.Seed+1
	p.Requests = min(p.Requests, 2400)
	return p
}

// even are the strategies that promise an even spread, and the least index.
var even = map[combo.Name]float64{
	combo.RoundRobin: .999, combo.StrictRandom: .999, combo.LeastUsed: .99, combo.Random: .97, combo.Weighted: .97,
}

// TestStrategies sends a day's traffic, or a tenth of it, through every
// strategy. No account is ever asked beyond its limits or while it wants to be
// left alone, and nobody is refused while an account could have served.
func TestStrategies(t *testing.T) {
	size := Quick
	switch {
	case os.Getenv(fullEnv) != "":
		size = Day
	case testing.Short():
		size.Requests /= 4
	}
	var rows []Row
	for _, name := range combo.Public() {
		t.Run(string(name), func(t *testing.T) {
			p := size
			p.Strategy = name
			row := Row{Day: play(t, p)}
			check(t, row.Day)
			if least, ok := even[name]; ok {
				row.Fair = play(t, calm(size, name)).Fairness()
				if row.Fair < least {
					t.Errorf("evenness %.4f, at least %.3f was promised", row.Fair, least)
				}
			}
			rows = append(rows, row)
		})
	}
	t.Log("\n" + Table(rows))
}

func check(t *testing.T, r Result) {
	t.Helper()
	if r.Over > 0 || r.Disturbed > 0 {
		t.Errorf("%d calls over a limit, %d to an account that wanted to be left alone", r.Over, r.Disturbed)
	}
	if made[r.Strategy] {
		return
	}
	if r.Missed > 0 {
		t.Errorf("%d requests were not served although somebody could", r.Missed)
	}
	if r.Served+r.Own < r.Requests*99/100 {
		t.Errorf("only %d of %d were served", r.Served, r.Requests)
	}
}

// TestSingleModel is the same without a combo: three accounts of one provider.
func TestSingleModel(t *testing.T) {
	p := Quick
	p.Requests /= 2
	r := play(t, p)
	if r.Over > 0 || r.Disturbed > 0 || r.Missed > 0 || r.Served < r.Requests*3/4 {
		t.Errorf("%+v", r.Codes)
		r.Wait, r.Codes = nil, nil
		t.Errorf("%+v", r)
	}
}
