package combo

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// The simulated place: four providers with three accounts each, and one day.
const (
	simDay      = 24 * time.Hour
	simRequests = 20_000
	simSession  = 5 * time.Hour
)

// account is a simulated connection and what really happens on it.
type account struct {
	id, provider string
	limit        int // requests a five-hour window
	slots        int // requests at once
	weight       float64
	latency      time.Duration
	facts        Facts
	salt         uint64

	running  int
	window   time.Time
	spent    int
	cooling  time.Time
	level    int
	usage    Usage
	served   int
	violated int
}

// supplier is a simulated provider with its breaker.
type supplier struct {
	outages  [][2]time.Duration
	failures int
	open     time.Time
}

type sim struct {
	t         *testing.T
	mu        sync.Mutex // fusion asks from several goroutines
	now       time.Time
	accounts  []*account
	byID      map[string]*account
	suppliers map[string]*supplier
	running   finishes

	requests, served, couldNot, missed, attempts int
}

// finish is the end of a request that is under way.
type finish struct {
	at   time.Time
	a    *account
	then func()
}

type finishes []finish

func (f finishes) Len() int           { return len(f) }
func (f finishes) Less(i, j int) bool { return f[i].at.Before(f[j].at) }
func (f finishes) Swap(i, j int)      { f[i], f[j] = f[j], f[i] }
func (f *finishes) Push(x any)        { *f = append(*f, x.(finish)) }
func (f *finishes) Pop() any {
	old := *f
	x := old[len(old)-1]
	*f = old[:len(old)-1]
	return x
}

func newSim(t *testing.T) *sim {
	s := &sim{t: t, now: t0, byID: map[string]*account{}, suppliers: map[string]*supplier{}}
	rng := rand.New(rand.NewPCG(2030, 1))
	table := NewTable(nil, nil)
	for i, p := range []struct{ id, model string }{{"anthropic", "claude-sonnet-4-5"}, {"openai", "gpt-5"}, {"glm", "glm-4.6"}, {"kimi", "kimi-k2"}} {
		sup := &supplier{}
		for range 3 { // outages of 10 to 40 minutes
			from := time.Duration(rng.Float64() * float64(simDay))
			sup.outages = append(sup.outages, [2]time.Duration{from, from + 10*time.Minute + time.Duration(rng.IntN(30))*time.Minute})
		}
		s.suppliers[p.id] = sup
		for j := range 3 {
			a := &account{
				id: fmt.Sprintf("%s-%d", p.id, j+1), provider: p.id, facts: table.Of(p.id + "/" + p.model),
				salt: rng.Uint64(), limit: 250 + 100*j, slots: 2 + j, weight: float64(4 - i), latency: time.Duration(2+2*i+j) * time.Second,
				window: t0.Add(-time.Duration(rng.Float64() * float64(simSession))),
			}
			s.accounts = append(s.accounts, a)
			s.byID[a.id] = a
		}
	}
	return s
}

func (s *sim) combo(name Name) Combo {
	models := map[string]string{"anthropic": "claude-sonnet-4-5", "openai": "gpt-5", "glm": "glm-4.6", "kimi": "kimi-k2"}
	c := Combo{ID: "day", Name: "day", Strategy: name}
	for _, a := range s.accounts {
		c.Steps = append(c.Steps, Step{Model: a.provider + "/" + models[a.provider], Connection: a.id, Weight: a.weight})
	}
	switch name { // their members are few
	case Fusion:
		c.Steps = []Step{c.Steps[0], c.Steps[3], c.Steps[6]}
	case Pipeline:
		c.Steps = []Step{c.Steps[8], c.Steps[2]}
	}
	return c.Normalize(nil)
}

// renew opens a new window when the old one is over.
func (s *sim) renew(a *account) {
	for !a.window.Add(simSession).After(s.now) {
		a.window, a.spent = a.window.Add(simSession), 0
	}
}

func (s *sim) down(provider string) bool {
	at := s.now.Sub(t0)
	for _, o := range s.suppliers[provider].outages {
		if at >= o[0] && at < o[1] {
			return true
		}
	}
	return false
}

// hiccup is whether this request would fail on this account by chance.
func hiccup(request int, a *account) bool {
	x := uint64(request)*0x9e3779b97f4a7c15 + a.salt // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return (x^x>>31)%100 < 2
}

// hold is why the account may not be used now: what the engine would know.
func (s *sim) hold(a *account) (Hold, time.Time) {
	switch sup := s.suppliers[a.provider]; {
	case sup.open.After(s.now):
		return CircuitOpen, sup.open
	case a.cooling.After(s.now):
		return ConnectionCooldown, a.cooling
	case a.running >= a.slots:
		return Unavailable, time.Time{}
	}
	return NotHeld, time.Time{}
}

// look is what a strategy is told.
func (s *sim) look(t *Target, l *Live) {
	a := s.byID[t.Connection]
	s.renew(a)
	l.Hold, l.Until = s.hold(a)
	if l.Hold == CircuitOpen {
		l.Breaker = Open
	} else if s.suppliers[a.provider].failures >= 3 {
		l.Breaker = Degraded
	}
	l.Usage, l.Facts, l.InFlight, l.MaxConcurrent = a.usage, a.facts, a.running, float64(a.slots)
	l.Quota = Quota{
		Known: true, At: s.now,
		Session: Window{Known: true, Used: float64(a.spent) / float64(a.limit), Reset: a.window.Add(simSession)},
	}
}

// could tells whether an account would serve the request at this moment.
func (s *sim) could(request int) bool {
	for _, a := range s.accounts {
		s.renew(a)
		if h, _ := s.hold(a); h == NotHeld && a.spent < a.limit && !s.down(a.provider) && !hiccup(request, a) {
			return true
		}
	}
	return false
}

// try sends the request to an account. end runs when it is done.
func (s *sim) try(request int, a *account, end func()) bool {
	s.attempts++
	sup := s.suppliers[a.provider]
	if a.running >= a.slots || a.spent > a.limit {
		a.violated++
	}
	a.usage.Requests++
	switch {
	case s.down(a.provider):
		a.cooling = s.now.Add(min(5*time.Second<<a.level, 5*time.Minute))
		a.level = min(a.level+1, 8)
		if sup.failures++; sup.failures >= 12 {
			sup.open, sup.failures = s.now.Add(30*time.Second), 11
		}
		return false
	case a.spent >= a.limit:
		a.cooling = a.window.Add(simSession)
		return false
	case hiccup(request, a):
		a.cooling = s.now.Add(3 * time.Second)
		return false
	}
	a.level, sup.failures = 0, 0
	a.running++
	a.spent++
	a.served++
	a.usage.Successes++
	a.usage.Samples++
	a.usage.Latency, a.usage.P95, a.usage.Telemetry = a.latency, 2*a.latency, a.usage.Samples >= 10
	heap.Push(&s.running, finish{s.now.Add(a.latency), a, end})
	return true
}

// advance moves the time on and ends what is done by then.
func (s *sim) advance(to time.Time) {
	for len(s.running) > 0 && !s.running[0].at.After(to) {
		f := heap.Pop(&s.running).(finish)
		s.now = f.at
		f.a.running--
		if f.then != nil {
			f.then()
		}
	}
	s.now = to
}

// walk is the attempt loop in small.
func (s *sim) walk(request int, plan *Plan) bool {
	for _, t := range plan.Order {
		a := s.byID[t.Connection]
		if h, _ := s.hold(a); h != NotHeld {
			continue
		}
		if s.try(request, a, func() { plan.Serve(s.now, t, "", nil) }) {
			return true
		}
		plan.Fail(t)
	}
	plan.Abandon(s.now)
	return false
}

// handle runs the strategies that ask several models.
func (s *sim) handle(request int, name Name, plan *Plan) bool {
	call := func(_ context.Context, c Call) (Answer, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, a := range s.accounts { // any account of the provider will do
			if h, _ := s.hold(a); a.provider == c.Target.Provider && h == NotHeld && s.try(request, a, nil) {
				return Answer{Status: 200, Text: "text"}, nil
			}
		}
		return Answer{Status: 503}, nil
	}
	defer plan.Abandon(s.now)
	var a Answer
	var err error
	if name == Fusion {
		a, err = RunFusion(s.t.Context(), FusionRequest{Panel: plan.Order, Tuning: plan.Config.Fusion}, call)
	} else {
		a, err = RunPipeline(s.t.Context(), plan.Order, call)
	}
	return err == nil && a.OK()
}

func (s *sim) run(name Name, requests int) {
	rng := rand.New(rand.NewPCG(7, 7))
	p := &Planner{Resolver: Resolver{World: place{}}, State: NewMemory(), Rand: seeded(11), Look: s.look}
	c := s.combo(name)
	gap := simDay / time.Duration(requests)
	entry, _ := Lookup(string(name))
	for _, a := range s.accounts { // a day of fewer requests has less to give
		if a.limit = a.limit * requests / simRequests; entry.Handler {
			a.limit, a.slots = 5*a.limit, 5*a.slots // one request is several
		}
	}
	for i := range requests {
		// busy by day, quiet by night, with bursts
		load := 1 + .6*math.Sin(2*math.Pi*float64(i)/float64(requests))
		s.advance(s.now.Add(time.Duration(rng.ExpFloat64() * float64(gap) / load)))
		s.requests++
		could := s.could(i)
		if !could {
			s.couldNot++
		}
		plan, r := p.Plan(&c, &Request{Now: s.now, Session: fmt.Sprint(rng.IntN(40)), CacheKey: fmt.Sprint("k", rng.IntN(200))})
		ok := false
		switch {
		case r != nil:
		case entry.Handler:
			ok = s.handle(i, name, plan)
		default:
			ok = s.walk(i, plan)
		}
		if ok {
			s.served++
		} else if could {
			s.missed++
		}
	}
	s.advance(s.now.Add(time.Hour))
	for _, a := range s.accounts {
		if n := InFlight(p.State, s.now, a.id); a.running != 0 || n != 0 {
			s.t.Errorf("%s: %d running, %d slots after the last request", a.id, a.running, n)
		}
	}
}

// fairness is Jain's index of the served counts, each divided by what it should
// be in proportion to: 1 is perfect.
func (s *sim) fairness(share func(a *account) float64) float64 {
	sum, sq := 0.0, 0.0
	for _, a := range s.accounts {
		x := float64(a.served) / share(a)
		sum += x
		sq += x * x
	}
	if sq == 0 {
		return 0
	}
	return sum * sum / (float64(len(s.accounts)) * sq)
}

// TestOneDayOfEveryStrategy is the acceptance run: whatever an admissible
// target could have served is served, and no cap is ever passed.
func TestOneDayOfEveryStrategy(t *testing.T) {
	requests := simRequests
	if testing.Short() {
		requests = 2000
	}
	equal := func(*account) float64 { return 1 }
	byWeight := func(a *account) float64 { return a.weight }
	promised := map[Name]func(*account) float64{
		RoundRobin: equal, StrictRandom: equal, Random: equal, LeastUsed: equal, Weighted: byWeight,
	}
	var mu sync.Mutex
	rows := map[Name]string{}
	t.Run("day", func(t *testing.T) {
		for _, e := range table {
			t.Run(string(e.Name), func(t *testing.T) {
				t.Parallel()
				s := newSim(t)
				s.run(e.Name, requests)
				violations := 0
				for _, a := range s.accounts {
					violations += a.violated
				}
				if violations > 0 {
					t.Errorf("%d cap violations", violations)
				}
				if s.missed > 0 && !e.Handler {
					t.Errorf("%d requests were not served though they could have been", s.missed)
				}
				fair := "-"
				if share, ok := promised[e.Name]; ok {
					f := s.fairness(share)
					if fair = fmt.Sprintf("%.3f", f); f < .85 {
						t.Errorf("fairness %s", fair)
					}
				}
				row := fmt.Sprintf("%-18s %7.2f %% %7.2f %% %7d %10d %8.3f %8s", e.Name,
					100*float64(s.served)/float64(s.requests), 100*float64(s.served)/float64(max(1, s.requests-s.couldNot)), s.missed, violations,
					float64(s.attempts-s.served)/float64(s.requests), fair)
				mu.Lock()
				rows[e.Name] = row
				mu.Unlock()
			})
		}
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests in a day, 12 connections of 4 providers\n%-18s %9s %9s %7s %10s %8s %8s\n",
		requests, "strategy", "served", "possible", "missed", "violations", "retries", "fairness")
	for _, e := range table {
		b.WriteString(rows[e.Name] + "\n")
	}
	t.Log(b.String())
}
