package attempt

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/classify"
	"breakwater/resilience/outcome"
)

// login takes the access token of a stored login, refreshed if it is due.
func (a *attempt) login(ctx context.Context) (out callResult, failed bool) {
	within, stop := a.bounded(ctx)
	defer stop()
	key, err := a.Services.Bearer(within, a.target.Route)
	switch {
	case err == nil:
		a.key = key
		return callResult{}, false
	case a.gone(ctx):
		return a.left(), true
	case within.Err() != nil:
		out = a.failedWithout(within, context.Cause(within)) // our limit, no failure of the connection
	case control.LoginExpired(err):
		out = a.fail(a.expired(), nil, nil)
	default:
		// The token endpoint is to blame, not the connection: nothing is learned
		// (case O5), but the client is given the reason.
		a.code = resilience.CodeLoginNotRefreshed
		out = a.fail(a.transport(classify.LocalDeadline), nil, nil)
	}
	return out, true
}

// expired is the judgement on a login whose refresh token is refused.
func (a *attempt) expired() outcome.Outcome {
	return classify.Response(a.input(http.StatusUnauthorized, nil, []byte(`{"error":{"message":"unauthorized"}}`)))
}

// renew refreshes a stored login whose access token the upstream has refused,
// once a request, and has the request sent again (Claude sheet §3.6).
func (a *attempt) renew(ctx context.Context, res *http.Response) (out callResult, taken bool) {
	if a.renewed || a.target.Route.Credential() != catalog.OAuthCredential || !deniesLogin(res.StatusCode) {
		return callResult{}, false
	}
	body := upstream.ErrorBody(res)
	if res.StatusCode == http.StatusForbidden && !bytes.Contains(bytes.ToLower(body), []byte("token")) {
		return callResult{}, false // something else is forbidden
	}
	a.renewed = true
	a.deadlines.stop()
	began := time.Now()
	within, stop := a.bounded(ctx)
	defer stop()
	key, err := a.Services.Renew(within, a.target.Route, a.key)
	switch {
	case err == nil:
		a.key = key
		if a.claude != nil {
			a.claude.SetBearer(key)
		}
		a.laneStep("login_refreshed", res.StatusCode, time.Since(began), nil)
		return callResult{next: unchanged}, true
	case control.LoginExpired(err):
		return a.fail(a.expired(), res.Header, nil), true
	}
	return callResult{}, false
}

func deniesLogin(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// bounded returns a context for what is done between two calls: the limit on
// the time until the answer begins holds there, too.
func (a *attempt) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.until.at.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, a.until.at, a.until.cause())
}
