package control

import (
	"cmp"
	"context"
	"slices"
	"time"

	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
)

// PreviewRequest names the combo to look ahead for: one that is stored, or a
// draft, which is looked at as if it were stored under the id.
type PreviewRequest struct {
	ID    string      `json:"id,omitempty"`
	Draft *ComboInput `json:"draft,omitempty"`
}

// ComboPreview is what the next plain request for a combo would do at this
// moment.
type ComboPreview struct {
	Strategy string `json:"strategy"`
	// Targets are in the order in which they would be tried.
	Targets []PreviewTarget `json:"targets"`
	// Draws tells that the strategy draws lots: another request may begin with
	// another target.
	Draws bool `json:"draws"`
	// Together tells that all targets take part in every request.
	Together bool `json:"together"`
	// Refusal is the code of the answer when there is nothing to try, and
	// Message its words; empty otherwise.
	Refusal string `json:"refusal,omitempty"`
	Message string `json:"message,omitempty"`
}

// PreviewTarget is a target with what its strategy may weigh of it. Figures
// that are not known are absent.
type PreviewTarget struct {
	Model string `json:"model"` // "provider/model"
	// The connection that would be asked, or the one that is back first.
	ConnectionID   string `json:"connectionId,omitempty"`
	ConnectionName string `json:"connectionName,omitempty"`
	// Usable tells that it would be asked; if not, Reason is the hold of the
	// combos sheet (§2.2) and Until its end, where a timer ends it.
	Usable bool       `json:"usable"`
	Reason string     `json:"reason,omitempty"`
	Until  *time.Time `json:"until,omitempty"`

	Weight    float64  `json:"weight,omitempty"`
	Requests  int64    `json:"requests,omitempty"`  // that the combo counted
	LatencyMs int64    `json:"latencyMs,omitempty"` // their average
	InFlight  int      `json:"inFlight,omitempty"`
	QuotaLeft *float64 `json:"quotaLeft,omitempty"` // percent, of the fullest window
	Price     *float64 `json:"price,omitempty"`     // US dollars for a million tokens of input
	Context   int64    `json:"context,omitempty"`   // tokens
}

// maxPreview bounds the targets of a preview.
const maxPreview = 200

// PreviewCombo plans a request for a combo with the planner of real ones, on a
// copy of what the strategies remember, and sends nothing. Errors are
// ErrNotFound and *ComboError.
func (s *Service) PreviewCombo(_ context.Context, in PreviewRequest) (ComboPreview, error) {
	c, err := s.previewed(in)
	if err != nil {
		return ComboPreview{}, err
	}
	out := ComboPreview{Targets: []PreviewTarget{}, Strategy: string(c.Strategy)}
	e := s.ahead(c, in.Draft != nil, func(t *combo.Target) {
		out.Targets = append(out.Targets, s.previewTarget(t))
	}, func(r *combo.Refusal) {
		out.Refusal, out.Message = cmp.Or(r.Code, "no_targets"), r.Message
		for _, x := range r.Excluded {
			t := s.previewTarget(x.Target)
			t.Usable, t.Reason, t.Until = false, x.Reason.Diagnostic(), s.Real(x.Until)
			out.Targets = append(out.Targets, t)
		}
	})
	if e != nil {
		out.Draws, out.Together = draws(e.Name), e.Handler
	}
	return out, nil
}

// ahead plans a plain request for a combo on a copy of what the strategies
// remember and hands over its targets in their order, those of nested combos
// put in; or why there is none. It returns the strategy of a plan.
func (s *Service) ahead(c *combo.Combo, draft bool, target func(*combo.Target), refused func(*combo.Refusal)) *combo.Entry {
	planner := *s.Planner()
	planner.State, planner.Renew = s.memory.Trial(), nil
	if draft {
		planner.Kept = nil // it is seen once
	}
	q := combo.Request{Now: s.Now()}
	plan, refusal := planner.Plan(c, &q)
	if refusal != nil {
		refused(refusal)
		return nil
	}
	walk := planner.Walk(plan, q)
	defer walk.Abandon(q.Now)
	for range maxPreview {
		t, nested, ok := walk.Next()
		if !ok {
			break
		}
		if nested == nil {
			target(t)
			walk.Fail(t)
		}
	}
	return plan.Entry
}

// previewed returns the combo that is meant.
func (s *Service) previewed(in PreviewRequest) (*combo.Combo, error) {
	x := s.combos.Load()
	i := x.find(in.ID)
	if in.Draft == nil {
		if i < 0 {
			return nil, noCombo(in.ID)
		}
		return &x.records[i].Combo, nil
	}
	draft, others := *in.Draft, x
	if i >= 0 {
		others = newComboIndex(slices.Delete(slices.Clone(x.records), i, i+1))
	}
	draft.Name = cmp.Or(draft.Name, "draft")
	rec, _, err := s.newCombo(draft, others)
	if err != nil {
		return nil, err
	}
	rec.ID = cmp.Or(in.ID, rec.ID)
	return &rec.Combo, nil
}

// draws reports whether a strategy's order depends on lots.
func draws(n combo.Name) bool {
	switch n {
	case combo.Weighted, combo.Random, combo.StrictRandom, combo.P2C, combo.QuotaWeighted, combo.Auto:
		return true
	}
	return false
}

// previewTarget tells what is known of a target, and of the connection that
// would be asked for it.
func (s *Service) previewTarget(t *combo.Target) PreviewTarget {
	out := PreviewTarget{
		Model: cmp.Or(t.Model, t.Combo), Weight: t.Weight, InFlight: t.Live.InFlight,
		Requests: t.Usage().Requests, LatencyMs: t.Usage().Latency.Milliseconds(), Reason: string(exclusion.Unavailable),
	}
	at, ok := t.Data.(*comboPlace)
	if !ok || len(at.routes) == 0 || at.opaque {
		return out
	}
	now, best := s.Now(), seen{}
	for i, r := range at.routes {
		x := s.see(now, r, at.model)
		if i == 0 || x.better(&best) {
			best = x
		}
		if best.free() {
			break
		}
	}
	r := best.route
	out.ConnectionID, out.ConnectionName, out.Usable = r.Record.ID, r.Record.Name, best.free()
	out.Reason, out.Until = best.Reason.Diagnostic(), s.Real(best.Until)
	if !best.Excludes() && best.verdict.Block {
		out.Reason, out.Until = string(exclusion.Quota), s.Real(best.verdict.ResetAt)
	}
	if left, known := s.Headroom(r.Record.ID, at.model); known {
		out.QuotaLeft = &left
	}
	facts := s.plans.Load().facts.Of(r.Provider.ID + "/" + at.model)
	out.Context = facts.Context
	if facts.Price.Known {
		out.Price = &facts.Price.Input
	}
	return out
}
