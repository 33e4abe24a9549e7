package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"breakwater/proxy/attempt"
	"breakwater/proxy/catalog"
	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/proxy/upstream"
	"breakwater/resilience/classify"
)

// checkTimeout bounds a connection test (settings sheet §2.11).
const checkTimeout = 30 * time.Second

// Check returns the connection test: the provider's model list is asked for,
// and where there is none, or a model was named for it, the smallest possible
// completion.
func Check(up *upstream.Client) func(context.Context, *control.Route) control.Tested {
	return func(ctx context.Context, r *control.Route) control.Tested {
		if r.Credential() == catalog.PassthroughCredential {
			return control.Tested{TestResult: control.TestResult{
				Warning:   "A passthrough connection uses the login that the client sends; there is nothing to test until a client has sent a request.",
				Diagnosis: control.Diagnosis{Type: "unsupported", Source: "local"},
			}}
		}
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		began := time.Now()
		var got control.Tested
		var err error
		unlisted := r.Record.ValidationModel != ""
		if !unlisted {
			got, err = ask(ctx, up, r, http.MethodGet, "/models", nil)
			unlisted = err == nil && (got.StatusCode == http.StatusNotFound || got.StatusCode == http.StatusMethodNotAllowed)
		}
		if unlisted {
			if path, body := tiniest(r); body != nil {
				got, err = ask(ctx, up, r, http.MethodPost, path, body)
			}
		}
		status := got.StatusCode
		got.TestResult = diagnose(status, err)
		got.LatencyMs, got.StatusCode = time.Since(began).Milliseconds(), status
		return got
	}
}

// ask sends one small call and returns the answer: its status, headers and the
// beginning of its body.
func ask(ctx context.Context, up *upstream.Client, r *control.Route, method, path string, body []byte) (got control.Tested, err error) {
	d := dialect.Name(r.Dialects()[0])
	ep, _ := r.Endpoint(d)
	res, err := up.Do(ctx, upstream.Call{
		Method: method, Dialect: d, BaseURL: ep.URL, Path: path, Header: http.Header{}, Body: body,
		Auth: attempt.AuthOf(r, ep), Credential: r.Credential(), Key: r.Key(), Proxy: r.Proxy(), UserAgent: r.Record.UserAgent,
	})
	if err != nil {
		return got, err
	}
	got.StatusCode, got.Header = res.StatusCode, res.Header
	got.Body = upstream.ErrorBody(res) // the status is the verdict; a model list may be cut, too
	return got, nil
}

// tiniest is the cheapest request that proves the credential. It needs a model
// name that is known to exist.
func tiniest(r *control.Route) (path string, body []byte) {
	m := cmp.Or(r.Record.ValidationModel, r.Record.DefaultModel)
	if m == "" {
		return "", nil
	}
	req := map[string]any{"model": m, "max_tokens": 1, "messages": []any{map[string]string{"role": "user", "content": "hi"}}}
	path = "/messages"
	switch dialect.Name(r.Dialects()[0]) {
	case dialect.Chat:
		path = "/chat/completions"
	case dialect.Responses:
		path, req = "/responses", map[string]any{"model": m, "max_output_tokens": 16, "input": "hi"}
	}
	body, err := json.Marshal(req)
	if err != nil {
		return "", nil
	}
	return path, body
}

// diagnose says in one closed word what a test found.
func diagnose(status int, err error) control.TestResult {
	d := control.Diagnosis{Source: "upstream", Code: status}
	res := control.TestResult{}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		d.Type, d.Message = "upstream_unavailable", "no answer within 30 s"
	case err != nil:
		d.Type, d.Message = "network_error", networkKind(err)
	case status < 300:
		d.Type, res.Valid = "ok", true
	case status == 404 || status == 405:
		d.Type = "unsupported"
		res.Warning = "The address answers, but it has no model list; set a default model to test the key."
	case status == 401 || status == 403:
		d.Type, d.Message = "upstream_auth_error", "the provider refused the key"
	case status == 402:
		d.Type, d.Message = "upstream_auth_error", "the provider says that there is no credit"
	case status == 429:
		d.Type, d.Message = "upstream_rate_limited", "the provider says that a limit is reached"
	case status >= 500:
		d.Type, d.Message = "upstream_unavailable", "the provider has a fault of its own"
	default:
		d.Type, d.Message = "upstream_error", "the provider refused the test"
	}
	if !res.Valid && res.Warning == "" {
		res.Error = d.Message
	}
	res.Diagnosis = d
	return res
}

// networkKind says in words what kept an answer from coming, without a word
// of the other side.
func networkKind(err error) string {
	switch {
	case upstream.ProxyDenied(err):
		return "the outbound proxy refuses the user name or password"
	case upstream.ProxyFailed(err):
		return "the outbound proxy does not answer"
	}
	switch attempt.KindOf(err) {
	case classify.TLS:
		return "the TLS certificate is not trusted"
	case classify.UnknownHost:
		return "the host name is not known"
	case classify.Refused:
		return "nothing answers at this address"
	}
	return "the connection broke"
}
