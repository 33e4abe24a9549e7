package exchange

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/refusal"
	"breakwater/resilience/quota"
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
	resultFailed    = "failed"      // an upstream's refusal was handed on, or a fault of ours
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
			x.out.hold(x.Limits.HoldFor(x.req.Profile), x.Limits.Heartbeat, x.req.Profile.SignOfLife)
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
