//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"time"

	"breakwater/proxy/client"
)

const callTimeout = 40 * time.Second // a connection test may take half a minute

// fetch runs a facade call beside the main goroutine, with a deadline, and
// brings its result back to it. A nil fail shows the error in the window.
func fetch[V any](u *ui, run func(context.Context) (V, error), then func(V), fail func(error)) {
	u.spawn(func() {
		ctx, stop := context.WithTimeout(u.ctx, callTimeout)
		defer stop()
		v, err := run(ctx)
		u.do(func() {
			switch {
			case u.ctx.Err() != nil:
			case err == nil:
				then(v)
			case client.Unauthorised(err):
				u.refuse()
			case fail != nil:
				fail(err)
			default:
				u.frame.say(problem(err))
			}
		})
	})
}

// call is fetch for what a person has just done: what it changed shows at once.
// Pages that look something up of themselves, again and again, must not hurry
// the window so.
func call[V any](u *ui, run func(context.Context) (V, error), then func(V), fail func(error)) {
	if fail == nil {
		fail = func(err error) { u.frame.say(problem(err)) }
	}
	fetch(u, run, func(v V) { u.hurry(); then(v) }, func(err error) { u.hurry(); fail(err) })
}

// hurry notes that a person has done something.
func (u *ui) hurry() {
	if u.acted = u.now(); u.stale {
		u.soon() // the event about it was quicker than the answer
	}
}

// act is call for what returns nothing but an error.
func (u *ui) act(run func(context.Context) error, then func()) {
	call(u, func(ctx context.Context) (struct{}, error) { return struct{}{}, run(ctx) },
		func(struct{}) {
			if then != nil {
				then()
			}
		}, nil)
}
