package exchange

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/combo"
	"breakwater/resilience/settings"
)

// Request headers for the auto engine (combos sheet §1.10).
const (
	headerMode   = "X-Omniroute-Mode"
	headerBudget = "X-Omniroute-Budget"
)

// bytesPerToken is the usual estimate of how much JSON a token takes.
const bytesPerToken = 4

// comboPlan prepares the plan of a combo: what the request needs and what it
// says of itself.
func (r *run) comboPlan(c *combo.Combo) *comboPlan {
	r.joinSession(true)
	planner := *r.Combos.Planner()
	planner.Allowed = r.req.Grant.Connections
	body := &r.sent.Body
	in := dialect.NewContent(r.req.Dialect, body.Raw)
	p := &comboPlan{combo: c, planner: planner, set: r.Settings.InForce()}
	config := combo.Cascade(planner.Globals, "", c.Config)
	p.config = &config
	p.request = combo.Request{
		Needs: combo.Needs{
			Tags: combo.ReadTags(in.Value("metadata.tags")), AllTags: in.Text("metadata.tag_match_mode") == "all",
			Tools: body.Tools > 0 && in.UsesTools(), Vision: in.HasImages(), Schema: in.WantsSchema(),
			InputTokens: int64(len(body.Raw) / bytesPerToken), OutputTokens: in.MaxOutput(),
		},
		Session:  combo.SessionKey(in.FirstUser()),
		CacheKey: combo.CacheKey(in.Text("prompt_cache_key"), in.StablePrefix()),
		Hints: combo.Hints{
			Mode: combo.ParseMode(r.req.Header.Get(headerMode)), Budget: combo.ParseBudget(r.req.Header.Get(headerBudget)),
			Task: combo.TaskOf(lastUser(in)),
		},
	}
	if name, ok := combo.ParseAuto(body.Model); ok && c.ID == "" {
		p.request.Auto = &name
	}
	return p
}

func lastUser(in dialect.Content) string {
	for _, t := range slices.Backward(in.Turns()) {
		if t.Role == "user" {
			return t.Text
		}
	}
	return ""
}

// adopt makes the changes to the request that the combo asks for.
func (r *run) adopt(c *combo.Combo) *ending {
	e := dialect.Edit{System: c.SystemMessage}
	if c.ToolFilter != "" {
		if filter, err := regexp.Compile(c.ToolFilter); err == nil {
			e.KeepTool = filter.MatchString
		}
	}
	return r.amend(e)
}

// amend edits the request's body. It ends the request when that is not possible.
func (r *run) amend(e dialect.Edit) *ending {
	if e.Empty() {
		return nil
	}
	body, err := r.edited(e)
	if err != nil {
		return r.refuse(refusal.BodyInvalid(err))
	}
	r.use(body)
	return nil
}

// edited is the request's body with an edit applied.
func (r *run) edited(e dialect.Edit) (dialect.Body, error) {
	raw, err := dialect.Apply(r.req.Dialect, r.sent.Body.Raw, e)
	if err != nil {
		return dialect.Body{}, err
	}
	return dialect.ReadBody(raw)
}

// use replaces the body for the attempts that follow; those under way keep
// theirs.
func (r *run) use(body dialect.Body) {
	changed := *r.sent
	changed.Body = body
	r.sent = &changed
}

// candidates are the connections that a target may use, in the order in which
// they are tried: as the user ordered them, but with the account first that p2c
// prefers, or for OAuth the one on which the fewest sessions sit (ruling 53).
// passed are those that were not considered.
func (p *comboPlan) candidates(r *run, t *combo.Target) (list []*candidate, passed []control.Passed) {
	choices, passed := r.Connections.ComboChoices(t, r.ask(""))
	if len(choices) > 1 {
		p.arrange(r, choices)
	}
	s := &step{target: t, follows: p.follows(t)}
	if i := slices.Index(p.order(), t); i >= 0 && i+1 < len(p.plan.Order) {
		s.nextSameProvider = p.plan.Order[i+1].Provider == t.Provider
	}
	return candidatesOf(choices, s), passed
}

func (p *comboPlan) order() []*combo.Target {
	if p.plan == nil {
		return nil
	}
	return p.plan.Order
}

// follows reports whether further targets come after t.
func (p *comboPlan) follows(t *combo.Target) bool {
	order := p.order()
	return len(order) > 0 && order[len(order)-1] != t
}

func (p *comboPlan) arrange(r *run, choices []control.Choice) {
	now := r.Clock.Now()
	var ids []string
	switch {
	case p.combo.Strategy == combo.P2C:
		list := make([]combo.Candidate, len(choices))
		for i, c := range choices {
			list[i] = r.account(c, i)
		}
		for _, c := range combo.ChooseAccount(now, p.planner.Rand, float64(p.set.P2CLatency.Weight), list) {
			ids = append(ids, c.ID)
		}
	case r.session.key != "" && choices[0].Route.Provider.Profile == settings.OAuth:
		for _, c := range choices {
			ids = append(ids, c.Route.Record.ID)
		}
		ids = r.Sessions.Occupancy().Spread(now, r.session.key, ids)
	default:
		return
	}
	slices.SortStableFunc(choices, func(a, b control.Choice) int {
		return slices.Index(ids, a.Route.Record.ID) - slices.Index(ids, b.Route.Record.ID)
	})
}

// account is a connection as p2c sees it (breaker sheet §6).
func (r *run) account(c control.Choice, at int) combo.Candidate {
	now, id := r.Clock.Now(), c.Route.Record.ID
	s := r.Engine.ConnectionStatus(c.Route.Conn)
	usedAt, uses := r.Sessions.Affinity().LastUsed(id)
	out := combo.Candidate{
		ID: id, Priority: at + 1, LastError: s.ErrorCode != 0, Backoff: s.BackoffLevel, Uses: uses, UsedAt: usedAt,
		RateLimit: s.ErrorCode == http.StatusTooManyRequests, Server: s.ErrorCode >= http.StatusInternalServerError,
		Auth:    s.ErrorCode == http.StatusUnauthorized || s.ErrorCode == http.StatusForbidden,
		Latency: r.Combos.Latency().Stats(now, id, c.Model),
	}
	out.Headroom, out.Known = r.Connections.Headroom(id, c.Model)
	out.Exhausted = out.Known && out.Headroom <= 0
	return out
}

func (p *comboPlan) ends(f *resilience.Failure) bool { return resilience.EndsCombo(f) }

// ask adds what the combo wants of the attempt.
func (p *comboPlan) ask(r *run, c *candidate, to *attempt.Target) {
	to.System, to.Valid = p.handoff(r, c), p.valid(r)
	to.Checks = resilience.ChecksFor(true, to.More)
}

func (p *comboPlan) sending() { p.pass.Sent++ }

// full reports whether the request has used up its attempts.
func (p *comboPlan) full(r *run) bool { return len(r.attempts) >= p.config.MaxGlobalAttempts }

// valid applies what the combo asks of a whole answer. A call of a tool says
// nothing in words, and is taken.
func (p *comboPlan) valid(r *run) func([]byte) bool {
	v := p.config.Validation
	if v == nil {
		return nil
	}
	d := r.req.Dialect
	return func(doc []byte) bool {
		if d.CallsTool(doc) {
			return true
		}
		_, ok := v.Check(d.AnswerText(doc), func() any {
			var root any
			_ = json.Unmarshal(doc, &root) // what is no JSON has no paths
			return root
		})
		return ok
	}
}

// handoff is the summary that a session brings along to another account.
func (p *comboPlan) handoff(r *run, c *candidate) string {
	if p.combo.Strategy != combo.ContextRelay {
		return ""
	}
	summary, _ := combo.Handoff(p.planner.State, r.Clock.Now(), p.request.Session, c.route.Record.ID)
	return summary
}

// served tells the strategies which target answered.
func (p *comboPlan) served(r *run, c *candidate) {
	if p.walk != nil && c.step.target != nil {
		p.walk.Serve(r.Clock.Now(), c.step.target, c.route.Record.ID, p.relay(r))
	}
}

// relay is what context-relay needs of the request once it is served.
func (p *comboPlan) relay(r *run) *combo.Relay {
	if p.combo.Strategy != combo.ContextRelay {
		return nil
	}
	return &combo.Relay{Session: p.request.Session, Messages: func() []combo.Message {
		var list []combo.Message
		for _, t := range dialect.NewContent(r.req.Dialect, r.sent.Body.Raw).Turns() {
			list = append(list, combo.Message{Role: t.Role, Text: t.Text})
		}
		return list
	}}
}

// count adds an attempt to what the combo knows of its targets.
func (p *comboPlan) count(r *run, c *candidate, ttfb time.Duration, ok bool) {
	if c.step.target != nil && p.config.TrackMetrics {
		combo.Count(p.planner.State, r.Clock.Now(), p.combo.Name, c.step.target.Key, ttfb, ok)
	}
}

// end tells the plan how the request ended, whatever way it did.
func (p *comboPlan) end(r *run) {
	switch now := r.Clock.Now(); {
	case p.walk == nil && p.plan != nil:
		p.plan.Abandon(now)
	case p.walk != nil:
		p.walk.Abandon(now) // does nothing after Serve
	}
}
