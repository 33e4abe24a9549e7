package exchange

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/combo"
)

// compose answers a request by several calls: fusion asks a panel and lets a
// judge make one answer of theirs, pipeline hands the text of one step to the
// next (combos sheet §1.9).
func (p *comboPlan) compose(ctx context.Context, r *run) *ending {
	p.pass = pass{}
	var final *ending
	call := func(ctx context.Context, c combo.Call) (combo.Answer, error) {
		e := dialect.Edit{System: c.System, User: c.User}
		if len(c.Sources) > 0 {
			e.System = c.System + "\n\n" + combo.JudgeText(c.Sources)
		}
		if !c.Final {
			e.Blocking, e.NoTools = true, true
			return p.aside(ctx, r, c.Target, e)
		}
		p.absorb(r)
		if final = r.amend(e); final == nil {
			final = p.target(ctx, r, c.Target)
		}
		if final != nil {
			return combo.Answer{}, errEnded
		}
		return combo.Answer{}, nil
	}
	var err error
	if p.plan.Entry.Name == combo.Fusion {
		_, err = combo.RunFusion(ctx, combo.FusionRequest{
			Panel: p.plan.Order, Judge: p.judge(), Tools: p.request.Tools, Tuning: p.config.Fusion,
		}, call)
	} else {
		_, err = combo.RunPipeline(ctx, p.plan.Order, call)
	}
	p.absorb(r)
	switch {
	case final != nil:
		return final
	case ctx.Err() != nil:
		return r.left(nil, "")
	case err == nil:
		return nil // the final call failed: its failures say how
	}
	var refused *combo.Refusal
	if !errors.As(err, &refused) {
		refused = combo.Verdict(ctx, p.combo.Name, err)
	}
	p.refusal = refused
	return nil
}

// errEnded says that the final call has ended the request.
var errEnded = errors.New("the request has ended")

// judge is the target of judgeModel, nil when there is none.
func (p *comboPlan) judge() *combo.Target {
	name := p.config.JudgeModel
	if name == "" {
		return nil
	}
	for _, t := range p.plan.Order {
		if t.Model == name {
			return t
		}
	}
	c := combo.Combo{Name: p.combo.Name + " judge", Steps: []combo.Step{{Model: name}}}.Normalize(nil)
	list := p.planner.Resolve(&c, p.config, nil)
	if len(list) == 0 {
		return nil
	}
	return &combo.Target{Spec: list[0]}
}

// aside makes a call whose answer only we read.
func (p *comboPlan) aside(ctx context.Context, r *run, t *combo.Target, e dialect.Edit) (combo.Answer, error) {
	body, err := r.edited(e)
	if err != nil {
		return combo.Answer{}, err
	}
	rec := &recorder{header: http.Header{}}
	side := &run{exchange: r.exchange, sent: r.sent, to: NewResponse(rec, r.Limits.Write, func() bool { return ctx.Err() != nil })}
	side.use(body)
	sub := &comboPlan{combo: p.combo, planner: p.planner, request: p.request, config: p.config, set: p.set, plan: p.plan}
	end := sub.guarded(ctx, side, t)
	p.parts.add(finishedPart{side, &sub.pass})
	if end != nil && end.result == resultAnswered && rec.status >= 200 && rec.status < 300 {
		return combo.Answer{Status: rec.status, Text: r.req.Dialect.AnswerText(rec.body.Bytes())}, nil
	}
	a := combo.Answer{Status: http.StatusBadGateway}
	if f := resilience.Last(side.failures); f != nil && f.Outcome.Status > 0 {
		a.Status = f.Outcome.Status
	}
	return a, nil
}

// guarded asks a target in a goroutine of its own, where a fault of ours would
// otherwise end the whole program: it ends this call alone.
func (p *comboPlan) guarded(ctx context.Context, side *run, t *combo.Target) (end *ending) {
	defer func() {
		if fault := recover(); fault != nil {
			side.fault(fault)
			end = nil
		}
	}()
	return p.target(ctx, side, t)
}

// finishedPart is a call made on the request's behalf that has ended.
type finishedPart struct {
	run  *run
	pass *pass
}

// parts are the finished parts of a request. Their calls run side by side, and
// one that is not waited for any more may end at any time.
type parts struct {
	mu   sync.Mutex
	done []finishedPart
}

func (p *parts) add(one finishedPart) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, one)
}

func (p *parts) take() []finishedPart {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.done
	p.done = nil
	return done
}

// absorb takes what the ended parts did into the request's own run.
func (p *comboPlan) absorb(r *run) {
	for _, part := range p.parts.take() {
		s := part.run
		r.trace = append(r.trace, s.trace...)
		r.usage.Input += s.usage.Input
		r.usage.Output += s.usage.Output
		r.attempts = append(r.attempts, s.attempts...)
		r.failedOver = r.failedOver || s.failedOver
		if s.local != nil {
			r.local = s.local
		}
		r.failures = append(r.failures, s.failures...)
		p.pass.Sent += part.pass.Sent
		p.pass.excluded = append(p.pass.excluded, part.pass.excluded...)
		p.pass.unasked = append(p.pass.unasked, part.pass.unasked...)
	}
	slices.SortStableFunc(r.trace, func(a, b control.Step) int { return int(a.OffsetMs - b.OffsetMs) })
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
