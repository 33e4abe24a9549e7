package proxy

import (
	"net/http"
	"regexp"
	"slices"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/refusal"
	"breakwater/resilience/combo"
	"breakwater/resilience/settings"
)

// Request headers for the auto engine (combos sheet §1.10).
const (
	headerMode   = "X-Omniroute-Mode"
	headerBudget = "X-Omniroute-Budget"
)

// walkOf prepares the walk through a combo: what the request needs and what it
// says of itself.
func (x *exchange) walkOf(c *combo.Combo) *comboWalk {
	x.joinSession(true)
	planner := *x.s.svc.Planner()
	planner.Allowed = x.grant.Connections
	in := x.rt.dialect.Content(x.body.Raw)
	w := &comboWalk{x: x, combo: c, planner: planner, set: x.s.svc.InForce()}
	config := combo.Cascade(planner.Globals, "", c.Config)
	w.config = &config
	w.request = combo.Request{
		Needs: combo.Needs{
			Tags: combo.ReadTags(in.Value("metadata.tags")), AllTags: in.Text("metadata.tag_match_mode") == "all",
			Tools: x.body.Tools > 0 && in.UsesTools(), Vision: in.HasImages(), Schema: in.WantsSchema(),
			InputTokens: int64(len(x.body.Raw) / bytesPerToken), OutputTokens: in.MaxOutput(),
		},
		Session:  combo.SessionKey(in.FirstUser()),
		CacheKey: combo.CacheKey(in.Text("prompt_cache_key"), in.StablePrefix()),
		Hints: combo.Hints{
			Mode: combo.ParseMode(x.r.Header.Get(headerMode)), Budget: combo.ParseBudget(x.r.Header.Get(headerBudget)),
			Task: combo.TaskOf(lastUser(in)),
		},
	}
	if name, ok := combo.ParseAuto(x.body.Model); ok && c.ID == "" {
		w.request.Auto = &name
	}
	return w
}

// bytesPerToken is the usual guess at how much JSON a token takes.
const bytesPerToken = 4

func lastUser(in dialect.Content) string {
	for _, t := range slices.Backward(in.Turns()) {
		if t.Role == "user" {
			return t.Text
		}
	}
	return ""
}

// adopt makes the changes to the request that the combo asks for. It reports
// false when the request cannot be changed, and is refused.
func (x *exchange) adopt(c *combo.Combo) bool {
	e := dialect.Edit{System: c.SystemMessage}
	if c.ToolFilter != "" {
		if filter, err := regexp.Compile(c.ToolFilter); err == nil {
			e.KeepTool = filter.MatchString
		}
	}
	return x.amend(e)
}

// amend edits the request's body. It reports false, with the request refused,
// when that is not possible.
func (x *exchange) amend(e dialect.Edit) bool {
	if e.Empty() {
		return true
	}
	raw, err := x.rt.dialect.Apply(x.body.Raw, e)
	if err == nil {
		var body dialect.Body
		if body, err = dialect.ReadBody(raw); err == nil {
			x.body = body
			return true
		}
	}
	x.refuse(refusal.BodyInvalid(err))
	return false
}

// legs are the connections that a target may use, in the order in which they
// are tried: as the user ordered them, but with the account first that p2c
// prefers, or for OAuth the one on which the fewest sessions sit (ruling 53).
func (w *comboWalk) legs(t *combo.Target) []*leg {
	legs, _ := w.ways(t)
	return legs
}

// ways are the legs of a target, and the connections that were passed over.
func (w *comboWalk) ways(t *combo.Target) ([]*leg, []control.Passed) {
	choices, passed := w.x.s.svc.ComboChoices(t, w.x.ask(""))
	if len(choices) > 1 {
		w.arrange(choices)
	}
	legs := legsOf(choices)
	next := w.sameNext(t)
	for _, l := range legs {
		l.target, l.sameNext = t, next
	}
	return legs, passed
}

// sameNext reports whether the target behind t has the same provider.
func (w *comboWalk) sameNext(t *combo.Target) bool {
	if w.plan == nil {
		return false
	}
	i := slices.Index(w.plan.Order, t)
	return i >= 0 && i+1 < len(w.plan.Order) && w.plan.Order[i+1].Provider == t.Provider
}

func (w *comboWalk) arrange(choices []control.Choice) {
	svc, now := w.x.s.svc, w.x.s.svc.Now()
	var ids []string
	switch {
	case w.combo.Strategy == combo.P2C:
		list := make([]combo.Candidate, len(choices))
		for i, c := range choices {
			list[i] = w.candidate(c, i)
		}
		for _, c := range combo.ChooseAccount(now, w.planner.Rand, float64(w.set.P2CLatency.Weight), list) {
			ids = append(ids, c.ID)
		}
	case w.x.session.key != "" && choices[0].Route.Provider.Profile == settings.OAuth:
		for _, c := range choices {
			ids = append(ids, c.Route.Record.ID)
		}
		ids = svc.Occupancy().Spread(now, w.x.session.key, ids)
	default:
		return
	}
	slices.SortStableFunc(choices, func(a, b control.Choice) int {
		return slices.Index(ids, a.Route.Record.ID) - slices.Index(ids, b.Route.Record.ID)
	})
}

// candidate is an account as p2c sees it (breaker sheet §6).
func (w *comboWalk) candidate(c control.Choice, at int) combo.Candidate {
	svc, now, id := w.x.s.svc, w.x.s.svc.Now(), c.Route.Record.ID
	s := svc.Engine().ConnectionStatus(c.Route.Conn)
	usedAt, uses := svc.Affinity().LastUsed(id)
	out := combo.Candidate{
		ID: id, Priority: at + 1, LastError: s.ErrorCode != 0, Backoff: s.BackoffLevel, Uses: uses, UsedAt: usedAt,
		RateLimit: s.ErrorCode == http.StatusTooManyRequests, Server: s.ErrorCode >= http.StatusInternalServerError,
		Auth:    s.ErrorCode == http.StatusUnauthorized || s.ErrorCode == http.StatusForbidden,
		Latency: svc.Latency().Stats(now, id, c.Model),
	}
	out.Headroom, out.Known = svc.Headroom(id, c.Model)
	out.Exhausted = out.Known && out.Headroom <= 0
	return out
}

// relay is what context-relay needs of the request once it is served.
func (w *comboWalk) relay() *combo.Relay {
	if w.combo.Strategy != combo.ContextRelay {
		return nil
	}
	return &combo.Relay{Session: w.request.Session, Messages: func() []combo.Message {
		var list []combo.Message
		for _, t := range w.x.rt.dialect.Content(w.x.body.Raw).Turns() {
			list = append(list, combo.Message{Role: t.Role, Text: t.Text})
		}
		return list
	}}
}

// handoff is the summary that a session brings along to another account.
func (t *attempt) handoff() string {
	w := t.x.combo
	if w == nil || w.combo.Strategy != combo.ContextRelay {
		return ""
	}
	summary, _ := combo.Handoff(w.planner.State, t.x.s.svc.Now(), w.request.Session, t.route.Record.ID)
	return summary
}
