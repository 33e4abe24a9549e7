//go:build (cgo || ci) && !nogui

package windows

import (
	"context"
	"time"

	"breakwater/proxy/client"
)

const callTimeout = 40 * time.Second // a connection test may take half a minute

// call runs a facade call beside the main goroutine, with a deadline, and
// brings its result back to it; what it changed shows at once. A nil fail shows the error in the window.
func call[V any](u *ui, run func(context.Context) (V, error), then func(V), fail func(error)) {
	u.spawn(func() {
		ctx, stop := context.WithTimeout(u.ctx, callTimeout)
		defer stop()
		v, err := run(ctx)
		u.do(func() {
			if u.ctx.Err() != nil {
				return
			}
			if u.acted = u.now(); u.stale {
				u.soon() // the event about it was quicker than the answer
			}
			switch {
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

// act is call for what returns nothing but an error.
func (u *ui) act(run func(context.Context) error, then func()) {
	call(u, func(ctx context.Context) (struct{}, error) { return struct{}{}, run(ctx) },
		func(struct{}) {
			if then != nil {
				then()
			}
		}, nil)
}
