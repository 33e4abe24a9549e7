package combo

import (
	"slices"
	"time"
)

// Walk goes through a plan and, where a target is a combo of its own, through
// that one's plan: a nested combo that fails leaves the turn to the next target
// of its parent. The attempts are the caller's to count: children have no
// budget of their own.
type Walk struct {
	planner *Planner
	request Request
	limit   int
	stack   []frame
}

type frame struct {
	plan *Plan
	next int
	at   *Target // the target under way
}

// Walk begins a walk through a plan of the same request.
func (p *Planner) Walk(plan *Plan, q Request) *Walk {
	return &Walk{planner: p, request: q, limit: plan.Config.MaxComboDepth, stack: []frame{{plan: plan}}}
}

// Next returns the next target to try, or the answer of a nested combo that has
// nothing to try. ok is false at the end.
func (w *Walk) Next() (t *Target, refusal *Refusal, ok bool) {
	for len(w.stack) > 0 {
		f := &w.stack[len(w.stack)-1]
		if f.next >= len(f.plan.Order) {
			if len(w.stack) == 1 {
				return nil, nil, false
			}
			f.plan.Abandon(w.request.Now)
			w.stack = w.stack[:len(w.stack)-1]
			parent := &w.stack[len(w.stack)-1]
			parent.plan.Fail(parent.at)
			continue
		}
		f.at = f.plan.Order[f.next]
		f.next++
		if f.at.Kind != KindRef {
			return f.at, nil, true
		}
		if r := w.descend(f.plan, f.at); r != nil {
			f.plan.Fail(f.at)
			return f.at, r, true
		}
	}
	return nil, nil, false
}

func (w *Walk) descend(parent *Plan, ref *Target) *Refusal {
	path := append(slices.Clone(parent.outer), parent.Combo.Name)
	if err := enter(path, ref.Combo, w.limit); err != nil {
		return &Refusal{Status: 503, Code: "combo_nesting", Type: "service_unavailable", Terminal: NoExecutable, Message: err.Error()}
	}
	child := w.planner.World.Combo(ref.Combo)
	if child == nil || !child.Enabled() {
		return noTargets("The nested combo " + ref.Combo + " does not exist or is switched off.")
	}
	q := w.request
	q.path, q.depth = path, w.limit
	plan, r := w.planner.Plan(child, &q)
	if r != nil {
		return r
	}
	w.stack = append(w.stack, frame{plan: plan})
	return nil
}

// Fail notes that the target returned last was tried in vain.
func (w *Walk) Fail(t *Target) { w.stack[len(w.stack)-1].plan.Fail(t) }

// Serve ends the walk with an answer of the target returned last: the plans
// above learn that their nested combo served.
func (w *Walk) Serve(now time.Time, t *Target, connection string, relay *Relay) {
	if connection == "" {
		connection = t.Connection
	}
	for _, f := range slices.Backward(w.stack) {
		f.plan.Serve(now, f.at, connection, relay)
	}
	w.stack = nil
}

// Abandon ends the walk without an answer; it may be deferred.
func (w *Walk) Abandon(now time.Time) {
	for _, f := range slices.Backward(w.stack) {
		f.plan.Abandon(now)
	}
	w.stack = nil
}
