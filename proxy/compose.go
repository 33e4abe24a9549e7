package proxy

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience/combo"
)

// compose answers a request by several calls: fusion asks a panel and lets a
// judge make one answer of theirs, pipeline hands the text of one step to the
// next (combos sheet §1.9).
func (w *comboWalk) compose() verdict {
	w.pass = pass{}
	ctx := w.x.r.Context()
	var err error
	if w.plan.Entry.Name == combo.Fusion {
		_, err = combo.RunFusion(ctx, combo.FusionRequest{
			Panel: w.plan.Order, Judge: w.judge(), Tools: w.request.Tools, Tuning: w.config.Fusion,
		}, w.call)
	} else {
		_, err = combo.RunPipeline(ctx, w.plan.Order, w.call)
	}
	w.absorb()
	switch {
	case errors.Is(err, errAnswered):
		return ended
	case ctx.Err() != nil:
		return w.left()
	case err == nil:
		return tryNext // the final call failed: its failures tell how
	}
	var r *combo.Refusal
	if !errors.As(err, &r) {
		r = combo.Verdict(ctx, w.combo.Name, err)
	}
	w.refusal = r
	return tryNext
}

// errAnswered tells that the client has its answer.
var errAnswered = errors.New("the client has its answer")

// judge is the target of judgeModel, nil when there is none.
func (w *comboWalk) judge() *combo.Target {
	name := w.config.JudgeModel
	if name == "" {
		return nil
	}
	for _, t := range w.plan.Order {
		if t.Model == name {
			return t
		}
	}
	c := combo.Combo{Name: w.combo.Name + " judge", Steps: []combo.Step{{Model: name}}}.Normalize(nil)
	list := w.planner.Resolve(&c, w.config, nil)
	if len(list) == 0 {
		return nil
	}
	return &combo.Target{Spec: list[0]}
}

// call makes one call. The final one is relayed to the client; of the others
// the text is kept.
func (w *comboWalk) call(ctx context.Context, c combo.Call) (combo.Answer, error) {
	e := dialect.Edit{System: c.System, User: c.User}
	if len(c.Sources) > 0 {
		e.System = c.System + "\n\n" + combo.JudgeText(c.Sources)
	}
	if c.Final {
		return w.final(c, e) //nolint:contextcheck // the exchange holds the request and its context
	}
	e.Blocking, e.NoTools = true, true
	return w.aside(ctx, c.Target, e)
}

// final relays the call whose answer the client gets.
func (w *comboWalk) final(c combo.Call, e dialect.Edit) (combo.Answer, error) {
	w.absorb()
	if !w.x.amend(e) {
		return combo.Answer{}, errAnswered
	}
	if w.target(c.Target) == ended {
		return combo.Answer{}, errAnswered
	}
	return combo.Answer{}, nil
}

// aside makes a call whose answer only we read.
func (w *comboWalk) aside(ctx context.Context, t *combo.Target, e dialect.Edit) (combo.Answer, error) {
	raw, err := w.x.rt.dialect.Apply(w.x.body.Raw, e)
	if err != nil {
		return combo.Answer{}, err
	}
	body, err := dialect.ReadBody(raw)
	if err != nil {
		return combo.Answer{}, err
	}
	rec := &recorder{header: http.Header{}}
	x := &exchange{
		s: w.x.s, out: newOutput(rec, w.x.s.limits.Write), r: w.x.r.WithContext(ctx), rt: w.x.rt, body: body,
		client: w.x.client, grant: w.x.grant, began: w.x.began, session: w.x.session, side: w.x,
		act: control.Activity{FirstOutputMs: -1},
	}
	sub := &comboWalk{x: x, combo: w.combo, planner: w.planner, request: w.request, config: w.config, set: w.set, plan: w.plan}
	x.combo = sub
	v := sub.guarded(t) //nolint:contextcheck // the exchange holds the request and its context
	w.parts.add(x)
	if v == ended && rec.status >= 200 && rec.status < 300 {
		return combo.Answer{Status: rec.status, Text: x.rt.dialect.AnswerText(rec.body.Bytes())}, nil
	}
	a := combo.Answer{Status: http.StatusBadGateway}
	if f := x.lastFailure(); f != nil && f.Outcome.Status > 0 {
		a.Status = f.Outcome.Status
	}
	return a, nil
}

// guarded tries a target whose broken answer must not end the client's request.
func (w *comboWalk) guarded(t *combo.Target) (v verdict) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // it is that very value
			panic(p)
		}
	}()
	return w.target(t)
}

// parts are the finished parts of a request. Their calls run side by side, and
// one that nobody waits for any more may end at any time.
type parts struct {
	mu   sync.Mutex
	done []*exchange
}

func (p *parts) add(x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, x)
}

func (p *parts) take() []*exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.done
	p.done = nil
	return done
}

// absorb takes the story of the parts that have ended into the request's own.
func (w *comboWalk) absorb() {
	x := w.x
	for _, part := range w.parts.take() {
		x.act.Trace = append(x.act.Trace, part.act.Trace...)
		x.act.InputTokens += part.act.InputTokens
		x.act.OutputTokens += part.act.OutputTokens
		w.attempts += part.combo.attempts
		w.tried = append(w.tried, part.combo.tried...)
		w.pass.Sent += part.combo.pass.Sent
		if part.local != nil {
			x.local = part.local
		}
		w.pass.excluded = append(w.pass.excluded, part.combo.pass.excluded...)
		w.pass.unasked = append(w.pass.unasked, part.combo.pass.unasked...)
		x.failures = append(x.failures, part.failures...)
	}
	slices.SortStableFunc(x.act.Trace, func(a, b control.Step) int { return int(a.OffsetMs - b.OffsetMs) })
}

// recorder is a client of our own.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Flush implements http.Flusher.
func (r *recorder) Flush() {}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
