package rest

import (
	"math"
	"net/http"
	"time"

	"breakwater/proxy/control"
)

func (a *api) state(r *http.Request) (int, any, error) {
	snap, err := a.snapshot(r.Context())
	return http.StatusOK, snap, err
}

func (a *api) stream(w http.ResponseWriter, r *http.Request) {
	if a.events == nil {
		a.fail(w, r, errNoEvents)
		return
	}
	// The management token is in force as long as the process; a key may go.
	if presented := credentials(r); a.while != nil && !a.auth.valid(presented) {
		ctx, cancel := a.while(r.Context(), presented...)
		defer cancel()
		r = r.WithContext(ctx)
	}
	a.events.ServeHTTP(w, r)
}

func (a *api) catalog(r *http.Request) (int, any, error) {
	known, err := a.facade.Providers(r.Context())
	return http.StatusOK, map[string]any{"providers": list(known)}, err
}

func (a *api) models(r *http.Request) (int, any, error) {
	known, err := a.facade.KnownModels(r.Context())
	return http.StatusOK, map[string]any{"models": list(known)}, err
}

func (a *api) activity(r *http.Request) (int, any, error) {
	q := query{values: r.URL.Query()}
	sel := control.ActivityQuery{
		Before:       int64(q.integer("before", 0, 0, math.MaxInt)),
		Limit:        q.integer("limit", 0, 1, 500),
		ConnectionID: q.text("connectionId"),
		FailedOnly:   q.boolean("failedOnly"),
	}
	if err := q.err(); err != nil {
		return 0, nil, err
	}
	rows, err := a.facade.Activity(r.Context(), sel)
	return http.StatusOK, map[string]any{"activity": list(rows)}, err
}

func (a *api) showWindow(r *http.Request) (int, any, error) {
	var in pageBody
	if err := decodeOptional(r, &in); err != nil {
		return 0, nil, err
	}
	if len(in.Page) > 200 {
		return 0, nil, control.Invalid("page", "Expected at most 200 characters")
	}
	return done(a.facade.ShowWindow(r.Context(), in.Page))
}

func (a *api) pause(r *http.Request) (int, any, error) {
	var in pauseBody
	if err := decode(r, &in); err != nil {
		return 0, nil, err
	}
	if in.Paused == nil {
		return 0, nil, control.Invalid("paused", "Required")
	}
	var err error
	switch {
	case in.Seconds == nil:
		err = a.facade.SetPaused(r.Context(), *in.Paused)
	case !*in.Paused:
		err = control.Invalid("seconds", "Expected with paused set to true only")
	case *in.Seconds < 1 || *in.Seconds > int64(control.MaxPause/time.Second):
		err = control.Invalid("seconds", "Expected 1 to %d", int64(control.MaxPause/time.Second))
	default:
		err = a.facade.PauseFor(r.Context(), time.Duration(*in.Seconds)*time.Second)
	}
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, map[string]any{"ok": true, "paused": *in.Paused}, nil
}

func (a *api) quit(r *http.Request) (int, any, error) {
	if err := decodeOptional(r, &struct{}{}); err != nil {
		return 0, nil, err
	}
	return done(a.facade.Quit(r.Context()))
}

func (a *api) getDemo(r *http.Request) (int, any, error) {
	d, err := a.facade.Demo(r.Context())
	return demo(d, err)
}

func (a *api) editDemo(r *http.Request) (int, any, error) {
	var patch control.DemoPatch
	if err := decode(r, &patch); err != nil {
		return 0, nil, err
	}
	d, err := a.facade.EditDemo(r.Context(), patch)
	return demo(d, err)
}

func demo(d control.Demo, err error) (int, any, error) {
	d.Faults, d.Kinds = list(d.Faults), list(d.Kinds)
	return http.StatusOK, d, err
}

func done(err error) (int, any, error) {
	return http.StatusOK, map[string]any{"ok": true}, err
}
