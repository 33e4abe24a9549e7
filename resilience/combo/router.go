package combo

import (
	"strings"
	"time"
)

// routers are the ways in which the auto engine scores its candidates.
var routers = map[string]func(in *Input, pool []candidate){
	"rules":     scoreByRules,
	"cost":      scoreByCost,
	"latency":   scoreByLatency,
	"sla-aware": scoreBySLA,
	"lkgp":      scoreByLastGood,
}

// routerName is the router's name without its aliases; an unknown one is rules.
func (in *Input) routerName() string {
	name := strings.ToLower(in.Config.Auto.Router)
	switch name {
	case "eco":
		return "cost"
	case "fast":
		return "latency"
	case "sla":
		return "sla-aware"
	}
	if _, ok := routers[name]; ok {
		return name
	}
	return "rules"
}

func (in *Input) router() func(*Input, []candidate) { return routers[in.routerName()] }

func scoreByRules(in *Input, pool []candidate) {
	w := in.Config.Auto.weights(in.Hints.Mode)
	b := boundsOf(pool)
	for i := range pool {
		f := factorsOf(&pool[i], &b, &in.Hints, in.Now)
		pool[i].score = f.score(w, &pool[i].t.Live.Account)
	}
}

func scoreByCost(_ *Input, pool []candidate) {
	b := boundsOf(pool)
	for i := range pool {
		pool[i].score = b.cheapness(&pool[i], -1)
	}
}

// health is the breaker's state as a factor.
func (t *Target) health() float64 {
	return [...]float64{Closed: 1, Degraded: .75, HalfOpen: .5, Open: 0}[t.Live.Breaker]
}

func scoreByLatency(_ *Input, pool []candidate) {
	b := boundsOf(pool)
	for i := range pool {
		t := pool[i].t
		u := t.Usage()
		rel := 1 - t.errorRate()
		rate := .5
		if b.rate > 0 && u.Rate > 0 {
			rate = u.Rate / b.rate
		}
		s := .25*inverse(u.TTFT, b.ttft) + .2*rate + .18*inverse(u.Latency, b.latency) +
			.12*(1-ratio(t.p95(), b.p95)) + .15*rel + .05*t.health() + .05*(1-ratio(u.StdDev, b.dev))
		pool[i].score = s * max(.05, rel*rel) * max(.25, t.health())
	}
}

// inverse is high for a short time; an unknown one is worth a half.
func inverse(d, longest time.Duration) float64 {
	if d <= 0 || longest <= 0 {
		return .5
	}
	return 1 - ratio(d, longest)
}

func (in *Input) sla() (p95 time.Duration, errorRate float64) {
	ms, errs := in.Config.Auto.SLAP95Ms, in.Config.Auto.SLAErrorRate
	if ms <= 0 {
		ms = 2000
	}
	if errs <= 0 {
		errs = .05
	}
	return time.Duration(ms * float64(time.Millisecond)), errs
}

// violations is how many of the two targets a candidate misses.
func (in *Input) violations(t *Target) int {
	p95, errs := in.sla()
	n := 0
	if t.p95() > p95 {
		n++
	}
	if t.errorRate() > errs {
		n++
	}
	return n
}

func scoreBySLA(in *Input, pool []candidate) {
	p95, errs := in.sla()
	b := boundsOf(pool)
	for i := range pool {
		t := pool[i].t
		fast := min(1, ratio(p95, t.p95()))
		sound := 1.0
		if e := t.errorRate(); e > errs {
			sound = errs / e
		}
		pool[i].score = .35*fast + .35*sound + .15*t.health() + .10*b.cheapness(&pool[i], .5) + .05*(1-ratio(t.Usage().StdDev, b.dev))
	}
}

// scoreByLastGood is by rules, with the place of the last success before all.
func scoreByLastGood(in *Input, pool []candidate) {
	scoreByRules(in, pool)
	g, ok := LastGood(in.State, in.Combo, in.ComboID)
	if !ok {
		return
	}
	for i := range pool {
		if t := pool[i].t; t.Provider == g.Provider {
			pool[i].score++
			if g.Connection != "" && t.Connection == g.Connection {
				pool[i].score++
			}
		}
	}
}
