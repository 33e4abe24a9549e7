package exchange

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/history"
	"breakwater/proxy/refusal"
	"breakwater/resilience"
	"breakwater/resilience/affinity"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/quota"
	"breakwater/resilience/settings"
)

// Request is a client's request after intake.
type Request struct {
	attempt.Request
	// URLPath is the path as the client sent it, for the activity.
	URLPath string
	// Grant is what the client's key allows.
	Grant control.Grant
	// Began is when the request came in.
	Began time.Time
}

// Results of a request, as the activity names them.
const (
	resultAnswered  = "answered"
	resultFailed    = "failed"      // an upstream's refusal was forwarded, or a fault of ours
	resultRefused   = "refused"     // the answer is our own
	resultLeft      = "client_left" // recorded as 499
	resultTruncated = "truncated"   // the stream broke after output

	statusClientLeft = 499
)

// ending is how a request ends, decided once.
type ending struct {
	result string
	status int
	// answer is what the client gets; nil when it has its answer, or is gone.
	answer *refusal.Answer
}

// exchange is one request on its way to an answer.
type exchange struct {
	*Exchanger
	req     *Request
	out     *Response
	session session
}

// Serve answers a request and books it. admit completes the request, or says
// why it is not admitted. When abort is true the client's connection must be
// cut, so that no client takes what it got for a whole answer.
func (e *Exchanger) Serve(ctx context.Context, req *Request, out *Response, admit func() *refusal.Notice) (abort bool) {
	x := &exchange{Exchanger: e, req: req, out: out}
	r := x.newRun()
	return x.finish(r, x.bring(ctx, r, admit))
}

// bring admits the request, finds its plan and carries it out. A fault of our
// own ends the request.
func (x *exchange) bring(ctx context.Context, r *run, admit func() *refusal.Notice) (end ending) {
	defer func() {
		if p := recover(); p != nil {
			x.fault(p)
			end = ending{result: resultFailed, status: http.StatusInternalServerError}
		}
	}()
	if n := admit(); n != nil {
		return *r.refuse(*n)
	}
	if x.req.Body.Stream {
		defer x.Meter.Stream()()
		if x.Limits.Heartbeat > 0 {
			x.out.hold(x.Limits.HoldFor(x.req.Profile), x.Limits.Heartbeat, x.req.Profile.Heartbeat)
		}
	}
	if end := r.degrade(); end != nil {
		return *end
	}
	if c, ok := x.Combos.Combo(x.req.Body.Model); ok {
		r.combo = c.Name
		return r.carryOut(ctx, r.comboPlan(c))
	}
	return r.carryOut(ctx, r.singlePlan())
}

// degrade takes the wish to run in the background out of a request:
// it is answered while the client waits (guide, "Degradación del modo en
// segundo plano").
func (r *run) degrade() *ending {
	if !r.req.Dialect.Traits().Background || r.req.Body.Background == "" {
		return nil
	}
	d := quota.DegradeBackground(r.req.Body.Background)
	if d.Warn {
		r.Log.Warn(quota.BackgroundDegrade, "model", r.req.Body.Model, "provider", "any") //nolint:sloglint // the guide gives the word
	}
	if !d.Strip {
		return nil
	}
	return r.amend(dialect.Edit{Background: true})
}

// fault reports a fault in Breakwater itself, which ends an attempt or a request.
func (x *exchange) fault(p any) {
	x.Log.Error("a request hit a fault in Breakwater", "path", x.req.URLPath, "model", x.req.Body.Model,
		"fault", fmt.Sprint(p), "stack", string(debug.Stack()))
}

// finish is the one end of every request: it gives the client what it does not
// have yet, and writes the activity row.
func (x *exchange) finish(r *run, end ending) (abort bool) {
	abort = end.result == resultLeft || end.result == resultTruncated
	if a := end.answer; a != nil {
		if !a.Forwarded {
			r.step(control.Step{Kind: control.StepRefused, Status: a.Status, Reason: a.Code, Until: control.RealTime(a.Until)}, nil)
		}
		abort = !x.reply(a)
	}
	x.out.Close()
	row := r.activity(end)
	x.Meter.Request(row.Dialect, row.Result, time.Duration(row.FirstOutputMs)*time.Millisecond)
	x.Records.Finished(row)
	return abort || !x.out.Begun()
}

// reply sends an error. A client that waits in a stream already cannot be given
// a status any more: it gets the error as an event, or a cut (rulings 44, 45).
// It reports whether the answer ends as it should.
func (x *exchange) reply(a *refusal.Answer) (whole bool) {
	if !x.out.refuse(a.Status, func(h http.Header) {
		maps.Copy(h, a.Header)
		h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	}) {
		x.out.Write(a.Event)
		return false
	}
	x.out.Write(a.Body)
	return true
}

// step adds a line to the decision trace; the connection is nil for a line about
// the request as a whole.
func (r *run) step(s control.Step, route *control.Route) {
	s.OffsetMs = time.Since(r.req.Began).Milliseconds()
	if route != nil {
		s.ConnectionID, s.ConnectionName, s.Provider = route.Record.ID, route.Record.Name, route.Provider.ID
	}
	r.trace = append(r.trace, s)
}

// skip adds the line of a candidate that is not asked now.
func (r *run) skip(route *control.Route, e resilience.Exclusion) {
	r.step(control.Step{
		Kind: control.StepSkipped, Reason: string(e.Reason), Model: e.Model, Until: r.Clock.Real(e.Until),
	}, route)
}

// activity is the row of the request in the log.
func (r *run) activity(end ending) control.Activity {
	req, body, u, by := r.req, &r.req.Body, &r.usage, &r.answeredBy
	return control.Activity{
		At: req.Began.Round(0), Method: req.Method, Path: req.URLPath, Dialect: string(req.Dialect.Traits().Name),
		Client: string(req.Profile.Client), Model: body.Model, Stream: body.Stream, RequestBytes: int64(len(body.Raw)),
		Status: end.status, Result: end.result, Combo: r.combo,
		ConnectionID: by.id, ConnectionName: by.name, Provider: by.provider, EgressIP: by.egress, FailedOver: r.failedOver,
		DurationMs: time.Since(req.Began).Milliseconds(), FirstOutputMs: r.out.firstTokenMs(req.Began), ResponseBytes: r.out.bytes(),
		Usage: control.Usage{
			InputTokens: u.Input, OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite,
			ReasoningTokens: u.Reasoning, StopReason: u.Stop,
		},
		Trace: r.trace,
	}
}

// Limits are the waits of the client's side (rulings 41, 45).
type Limits struct {
	Headers   time.Duration // until an upstream's headers
	Write     time.Duration // for a client that does not read (case P34)
	Heartbeat time.Duration // between two heartbeats to a client that waits
	// Hold bounds how long any client waits for its headers; zero leaves it to
	// the client's profile.
	Hold time.Duration
	// Patience bounds one wait for a resting connection below what the settings
	// allow; zero leaves it to them, and a negative one never waits.
	Patience time.Duration
}

// HoldFor is how long a client of this kind is left without headers (ruling 45).
func (l Limits) HoldFor(p dialect.Profile) time.Duration {
	if l.Hold > 0 {
		return min(l.Hold, p.Hold)
	}
	return p.Hold
}

// session ties a request to those before it (guide, "Afinidad de sesión").
type session struct {
	key string        // empty: no session is known
	ttl time.Duration // 0: affinity is off
}

// joinSession finds out which session the request belongs to. The body is read
// only when something depends on it and no header says.
func (x *exchange) joinSession(needed bool) {
	ttl := x.Sessions.AffinityTTL()
	if ttl == 0 && !needed && x.Sessions.Affinity().Len() == 0 {
		return
	}
	get := x.req.Header.Get
	key := affinity.Key(get, affinity.Body{})
	if key == "" {
		c := dialect.NewContent(x.req.Dialect, x.req.Body.Raw)
		b := affinity.Body{
			MetadataSession: c.Text("metadata.session_id"), Conversation: c.Text("conversation_id"),
			Session: c.Text("session_id"), PromptCache: c.Text("prompt_cache_key"),
		}
		if b.MetadataSession == "" {
			b.MetadataSession = c.Text("metadata.sessionId")
		}
		if b == (affinity.Body{}) {
			b.FirstUserText = c.FirstUser()
		}
		key = affinity.Key(get, b)
	}
	x.session = session{key: key, ttl: ttl}
}

// choose returns which of the targets is tried next: the first, or with session
// affinity the one of the first's provider that the session is pinned to.
func (r *run) choose(targets []resilience.Target) int {
	if r.session.key == "" || r.session.ttl <= 0 || r.req.Probe {
		return 0
	}
	first := targets[0].Conn // only those that are no less wanted can come before it
	var list []affinity.Candidate
	for i, t := range targets {
		if t.Conn.Provider() == first.Provider() && t.Conn.AskedLast() == first.AskedLast() {
			list = append(list, affinity.Candidate{ID: t.Conn.ID(), Priority: i})
		}
	}
	c := r.Sessions.Affinity().Select(r.Clock.Now(), r.session.ttl, first.Provider(), r.session.key, "", list)
	for i, t := range targets {
		if t.Conn.ID() == c.ID {
			return i
		}
	}
	return 0
}

// leave unties the session from a connection that has failed, also while
// affinity is switched off (settings sheet §3). An account that refuses the
// request itself afterwards does not get the session: the old pin is put back
// (ruling 61).
func (r *run) leave(c *candidate, o outcome.Outcome) {
	if r.session.key == "" {
		return
	}
	pins := r.Sessions.Affinity()
	if o.Class != outcome.Failure {
		if old := r.unpinned; old != nil && old != c && o.Scope != outcome.ScopeLocal {
			pins.Pin(r.Clock.Now(), r.session.ttl, old.route.Conn.Provider(), r.session.key, old.route.Record.ID)
		}
		return
	}
	if pins.Evict(c.route.Conn.Provider(), r.session.key, c.route.Record.ID) {
		r.unpinned = c
	}
	r.Sessions.Occupancy().Leave(r.session.key, c.route.Record.ID)
}

// pin ties the session to the connection that has served it whole (ruling 61).
func (r *run) pin(c *candidate) {
	if !r.req.Probe {
		r.Sessions.Affinity().Pin(r.Clock.Now(), r.session.ttl, c.route.Conn.Provider(), r.session.key, c.route.Record.ID)
	}
}

// seat notes that the session is served by the connection (ruling 53).
func (r *run) seat(c *candidate) {
	if r.session.key != "" && c.route.Provider.Profile == settings.OAuth && !r.req.Probe {
		r.Sessions.Occupancy().Seat(r.Clock.Now(), r.session.key, c.route.Record.ID)
	}
}

// conversation is what is known of who made the request's conversation (ruling
// 61), nil while it is sent as it is.
func (r *run) conversation() *history.Conversation {
	if r.talk != nil || !r.Settings.InForce().Failover.MoveHistory {
		return r.talk
	}
	owners := 0
	for _, route := range r.Connections.Routes() {
		if _, ok := route.Endpoint(r.req.Dialect); !ok {
			continue
		}
		if owners++; owners > 1 {
			break
		}
	}
	if owners > 1 || r.History.Learned.Load() {
		r.talk = r.History.Conversation(r.req.Dialect, owners)
	}
	return r.talk
}

// speakers are the connections that speak a dialect, whatever state they are in.
func speakers(c Connections, d dialect.Dialect) []*control.Route {
	return slices.DeleteFunc(slices.Clone(c.Routes()), func(route *control.Route) bool {
		_, ok := route.Endpoint(d)
		return !ok
	})
}

// historyAt is the conversation as the attempt at a candidate sees it.
func (r *run) historyAt(c *candidate) attempt.History {
	if r.conversation() == nil {
		return nil
	}
	return recall(r, c)
}

// recall is historyAt for a conversation whose only owner refuses it.
func recall(r *run, c *candidate) attempt.History {
	if r.talk == nil {
		if !r.Settings.InForce().Failover.MoveHistory {
			return nil
		}
		r.talk = r.History.Conversation(r.req.Dialect, 1)
	}
	return r.talk.Visit(history.Owner{ID: c.route.Record.ID, Vendor: c.route.Vendor()})
}

// keepHome excludes the targets that cannot read the encrypted compaction in the
// request, as long as there is a connection that can.
func (r *run) keepHome(plan *resilience.Plan) {
	talk := r.conversation()
	if talk == nil || r.Settings.InForce().Failover.MoveCompacted {
		return
	}
	raw := r.sent.Body.Raw
	foreign := func(t resilience.Target) bool { return talk.Compacted(raw, t.Conn.ID()) }
	if !slices.ContainsFunc(plan.Targets, foreign) || !slices.ContainsFunc(speakers(r.Connections, r.req.Dialect), func(route *control.Route) bool {
		return !talk.Compacted(raw, route.Record.ID)
	}) {
		return
	}
	plan.Targets = slices.DeleteFunc(plan.Targets, func(t resilience.Target) bool {
		if !foreign(t) {
			return false
		}
		plan.Excluded = append(plan.Excluded, resilience.Exclusion{
			Candidate: t, Exclusion: exclusion.Exclusion{Reason: exclusion.CompactedHistory},
		})
		return true
	})
}

// stranded refuses a request that continues an answer which another account
// stores, when that account cannot be asked at all: as what it is (ruling 61).
// Excluded are the targets of the plan, nil before there is one.
func (r *run) stranded(excluded []exclusion.Exclusion) *ending {
	talk := r.conversation()
	if talk == nil || r.Settings.InForce().Failover.MoveCompacted {
		return nil
	}
	owner := talk.Stranded(r.sent.Body.Raw)
	if owner == "" {
		return nil
	}
	if _, ok := r.Connections.Route(owner); ok {
		home := slices.ContainsFunc(excluded, func(e exclusion.Exclusion) bool { return e.Reason != exclusion.CompactedHistory })
		if len(excluded) == 0 || home || len(r.failures) > 0 {
			return nil
		}
	}
	return r.refuse(refusal.PreviousUnknown())
}
