package proxy

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

// prepare finds the credential that the next call sends. Of a stored login that
// is the access token, refreshed if it is due; when there is none to be had,
// the attempt is over.
func (t *attempt) prepare() (v verdict, over bool) {
	svc := t.x.s.svc
	if t.route.Credential() != catalog.OAuthCredential {
		t.key = t.route.Key()
	} else {
		ctx, stop := t.within()
		defer stop()
		key, err := svc.Bearer(ctx, t.route)
		if err != nil {
			return t.noLogin(ctx, err), true
		}
		t.key = key
	}
	t.openClaude()
	return tryNext, false
}

// noLogin ends an attempt for which there is no access token.
func (t *attempt) noLogin(ctx context.Context, err error) verdict {
	switch {
	case ctx.Err() != nil:
		return t.broke(ctx, context.Cause(ctx))
	case control.LoginExpired(err):
		return t.fail(t.expired(), nil, nil)
	}
	// The token endpoint is to blame, not the connection: nothing is learned
	// (case O5), but the client is told what it is.
	t.code = resilience.CodeLoginNotRefreshed
	return t.fail(t.without(classify.LocalDeadline), nil, nil)
}

// expired is the verdict on a login whose refresh token is refused.
func (t *attempt) expired() outcome.Outcome {
	return classify.Response(t.input(http.StatusUnauthorized, nil, []byte(`{"error":{"message":"unauthorized"}}`)))
}

// renew refreshes a stored login whose access token the upstream has refused,
// once a request, and has the request sent again (Claude sheet §3.6).
func (t *attempt) renew(res *http.Response) (v verdict, taken bool) {
	if t.renewed || t.route.Credential() != catalog.OAuthCredential || !deniesLogin(res.StatusCode) {
		return tryNext, false
	}
	body := upstream.ErrorBody(res)
	if res.StatusCode == http.StatusForbidden && !bytes.Contains(bytes.ToLower(body), []byte("token")) {
		return tryNext, false // something else is forbidden
	}
	t.renewed = true
	t.watch.stop()
	began := time.Now()
	ctx, stop := t.within()
	defer stop()
	key, err := t.x.s.svc.Renew(ctx, t.route, t.key)
	switch {
	case err == nil:
		t.key = key
		if t.claude != nil {
			t.claude.SetBearer(key)
		}
		t.told("login_refreshed", res.StatusCode, time.Since(began), nil)
		return resume, true
	case control.LoginExpired(err):
		return t.fail(t.expired(), res.Header, nil), true
	}
	return tryNext, false
}

func deniesLogin(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}
