package combo

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"breakwater/resilience/exclusion"
)

// Planner plans requests for combos. It is safe for concurrent use when its
// World and Look are.
type Planner struct {
	Resolver
	State *State
	Rand  Rand
	// Look writes into t.Live what is known of a target at the moment, beside
	// what the combo has counted of it; nil: nothing is.
	Look func(now time.Time, t *Target)
	// Fixed writes into a target that was just resolved what stays the same
	// until combos, connections or settings change: Facts, MaxConcurrent and
	// Data; nil: nothing does.
	Fixed func(s *Spec)
	// Renew is told of a target whose quota was read longer ago than its combo
	// allows. It must not wait; nil: nothing is renewed.
	Renew func(t *Target)
	// Kept spares resolving a combo again and again; nil keeps nothing.
	Kept *Kept
	// Health is asked about the connection a session is bound to; nil: nothing
	// is known of it.
	Health Health
}

// Request is one request for a combo.
type Request struct {
	Needs
	Now time.Time
	// Allowed are the connections the caller's API key may use, empty for all.
	Allowed []string
	Session string // SessionKey, empty: none
	// CacheKey is what CacheKey returned; CacheAffinity lets it move targets in
	// strategies other than cache-optimized as well.
	CacheKey      string
	CacheAffinity bool
	Hints         Hints
	Evals         map[string]EvalScore // by "provider/model"
	Auto          *AutoName            // when the combo stands for an auto name

	path  []string // the combos this one is nested in, outermost first
	depth int      // … and how many there may be, 0: as the combo says
}

// Plan is the order in which the targets of one request are to be tried. The
// targets are shared with the strategy: they are to be read only.
type Plan struct {
	Combo  *Combo
	Config *Config
	Entry  *Entry
	Order  []*Target
	// LastResort is tried only when nothing of Order could be dispatched:
	// round-robin targets that seem unable to do what the request needs.
	LastResort []*Target

	in    Input    // what the strategy saw
	outer []string // Request.path

	mu     sync.Mutex
	failed []*Target
	ended  bool
}

// Plan runs the steps of sheet §1.6 in their order. The refusal is the answer
// when there is nothing to try.
func (p *Planner) Plan(c *Combo, q *Request) (*Plan, *Refusal) {
	ready := p.prepare(c, q)
	e, cfg := ready.entry, &ready.cfg
	targets := p.scope(q).byTags(ready.targets(), &q.Needs) // steps 1 to 4
	if len(targets) == 0 {
		return nil, noTargets("The combo " + c.Name + " has no target that could be used.")
	}
	p.look(q, ready, targets)
	if name := cmp.Or(q.Auto, c.auto); name != nil {
		targets = name.Filter(targets)
	}
	if r := overflows(targets, &q.Needs); r != nil { // step 5
		return nil, r
	}
	plan := &Plan{Combo: c, Config: cfg, Entry: e, outer: q.path, in: Input{
		Combo: c.Name, ComboID: c.ID, Targets: targets, Config: cfg, State: p.State,
		Now: q.Now, Rand: p.Rand, CacheKey: q.CacheKey, Session: q.Session, Hints: q.Hints,
	}}
	if r := p.order(plan, q); r != nil {
		plan.Abandon(q.Now)
		return nil, r
	}
	return plan, nil
}

// look writes into the targets what is known of them at the moment.
func (p *Planner) look(q *Request, ready *prepared, targets []*Target) {
	if ready.entry.Counts || ready.cfg.PredictiveTTFTMs > 0 {
		fillUsage(p.State, q.Now, targets)
	}
	bound := ""
	if ready.entry.Name == Auto && q.Session != "" {
		bound = Bound(p.State, q.Now, q.Session)
	}
	for _, t := range targets {
		switch {
		case bound == "" || t.Connection == "":
		case bound == t.Connection:
			t.Live.Session = SameAccount
		default:
			t.Live.Session = OtherAccount
		}
		if p.Look != nil {
			p.Look(q.Now, t)
		}
	}
	if ready.trust.ttl > 0 {
		p.freshen(q.Now, ready.trust, targets)
	}
}

// order is steps 6 to 14.
func (p *Planner) order(plan *Plan, q *Request) *Refusal {
	e, cfg, in := plan.Entry, plan.Config, &plan.in
	if e.Name == RoundRobin { // has its filters first: its counter is over what can be used
		kept, rejected, r := capable(in.Targets, &q.Needs, cfg.CompatFailOpen)
		if r != nil {
			kept, rejected = rejected, nil
		}
		in.Targets, plan.LastResort = kept, rejected
	}
	if e.Name == Weighted && !slices.ContainsFunc(in.Targets, (*Target).Usable) {
		return EmptyPool(q.Now, exclusions(in.Targets))
	}
	order := e.Order(in)
	if in.Refusal != nil {
		return in.Refusal
	}
	moved := e.Name == CacheOptimized && q.CacheKey != ""
	if !moved {
		order = in.stick(e, p.Health, order) // step 8
		order = cfg.Eval.byEval(order, q.Evals)
	}
	if e.Name != RoundRobin { // step 10
		kept, _, r := capable(order, &q.Needs, cfg.CompatFailOpen)
		if r != nil {
			return r
		}
		order = kept
	}
	order = roomy(order, &q.Needs)
	order, r := cfg.Context.require(order) // step 11
	if r != nil {
		return r
	}
	order = byTask(plan.Combo, &q.Hints, order) // step 12
	if q.CacheAffinity && e.Name != RoundRobin {
		order = withAffinity(e, q.CacheKey, order) // step 13
	}
	if len(order) == 0 {
		return noTargets("The combo " + plan.Combo.Name + " has no target with quota left.")
	}
	plan.Order = lastLast(e, order)
	plan.handOver(q.Now) // step 14
	return nil
}

// lastLast moves the targets that are asked last behind all others, whatever the
// strategy. The places of fusion and pipeline have each a meaning of their own.
func lastLast(e *Entry, order []*Target) []*Target {
	if e.Handler || !slices.ContainsFunc(order, func(t *Target) bool { return t.Live.Last }) {
		return order
	}
	out := make([]*Target, 0, len(order))
	for _, last := range []bool{false, true} {
		for _, t := range order {
			if t.Live.Last == last {
				out = append(out, t)
			}
		}
	}
	return out
}

// handOver moves the reserved slot to the target that comes first in the end.
func (p *Plan) handOver(now time.Time) {
	if first := p.Order[0].Connection; p.in.Reserved != "" && first != p.in.Reserved {
		End(p.in.State, now, p.in.Reserved)
		Begin(p.in.State, now, first)
		p.in.Reserved = first
	}
}

// byTask reorders by how well the models suit the task: only combos whose name
// says that they choose by it.
func byTask(c *Combo, h *Hints, order []*Target) []*Target {
	if h.Task == "" || c.Strategy == Auto || !strings.Contains(strings.ToLower(c.Name), "task") {
		return order
	}
	return take(order, rank(order, func(t *Target) float64 { return TaskFit(h.TaskFit, t.Model, &t.Facts, h.Task) }))
}

func exclusions(targets []*Target) []Excluded {
	list := make([]Excluded, len(targets))
	for i, t := range targets {
		list[i] = Excluded{t, t.Live.Exclusion}
		if !list[i].Excludes() {
			list[i].Reason = exclusion.BreakerOpen
		}
	}
	return list
}

// Fail notes a target that was tried in vain.
func (p *Plan) Fail(t *Target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = append(p.failed, t)
}

// Serve ends the plan with the target that answered. connection is the one that
// was used, when the target names none. relay may be nil.
func (p *Plan) Serve(now time.Time, t *Target, connection string, relay *Relay) {
	p.end(now, t, connection, relay)
}

// Abandon ends the plan without an answer. Ending it twice does nothing, so it
// may be deferred.
func (p *Plan) Abandon(now time.Time) { p.end(now, nil, "", nil) }

func (p *Plan) end(now time.Time, served *Target, connection string, relay *Relay) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.ended = true
	failed := p.failed
	p.mu.Unlock()
	in := &p.in
	if p.Entry.Done != nil {
		p.Entry.Done(&Result{
			Entry: p.Entry, Combo: in.Combo, ComboID: in.ComboID, Declared: in.Targets, Order: p.Order, Config: p.Config,
			State: in.State, Now: now, Served: served, Failed: failed, Connection: connection, Reserved: in.Reserved, Relay: relay,
		})
	}
	for _, t := range failed {
		if t.Connection != "" {
			Unbind(in.State, in.Session, t.Connection)
		}
	}
	if served != nil && !p.Config.DisableSessionStickiness && !p.Entry.NoSession {
		Bind(in.State, now, in.Session, usedBy(served, connection))
	}
}
