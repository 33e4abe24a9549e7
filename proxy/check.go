package proxy

import (
	"cmp"
	"context"
	"errors"
	"io"
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
		if len(r.Speaks()) == 0 {
			return control.Tested{TestResult: control.TestResult{
				Error:     "The connection speaks no dialect that its provider has here; edit it to choose another.",
				Diagnosis: control.Diagnosis{Type: "unsupported", Source: "local"},
			}}
		}
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		began := time.Now()
		var got control.Tested
		var err error
		unlisted, generated := r.Record.ValidationModel != "", false
		if !unlisted {
			got, err = askList(ctx, up, r)
			unlisted = err == nil && notServed(got.StatusCode)
		}
		if unlisted {
			if path, body := tiniest(r); path != "" {
				got, err = ask(ctx, up, r, question{method: http.MethodPost, path: path, body: body})
				got.Model = cmp.Or(r.Record.ValidationModel, r.Record.DefaultModel)
				generated = true
			}
		}
		asked, status := got.Asked, got.StatusCode
		got.TestResult = diagnose(status, err)
		if notServed(status) && err == nil {
			got.TestResult = nothingThere(asked, status, generated)
		}
		got.LatencyMs, got.StatusCode, got.Asked = time.Since(began).Milliseconds(), status, asked
		for _, m := range got.Models {
			got.TestResult.Models = append(got.TestResult.Models, m.Name)
		}
		return got
	}
}

// notServed reports whether a status says that nothing is at the address.
func notServed(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed
}

// nothingThere is what a test found where the address asked is not served: it
// names the address, and what to change (case Q20).
func nothingThere(asked string, status int, generated bool) control.TestResult {
	res := control.TestResult{Diagnosis: control.Diagnosis{Type: "unsupported", Source: "upstream", Code: status}}
	if generated {
		res.Diagnosis.Type = "upstream_error"
		res.Diagnosis.Message = "nothing is served at " + asked + "; check the base URL and the model"
		res.Error = res.Diagnosis.Message
		return res
	}
	res.Warning = "Nothing is served at " + asked + ". Check the base URL; if it is right, the server has no model list: set a default model to test the key."
	return res
}

// errSilent is a connection that cannot be asked: none of its dialects is served.
var errSilent = errors.New("the connection speaks no dialect that is served")

// question is one small call of a connection test.
type question struct {
	method, path, query string
	body                []byte
	base                string // in place of the connection's own
}

// askList asks for the provider's model list, below the connection's address
// and, where its /v1 is not there, without it (case Q20).
func askList(ctx context.Context, up *upstream.Client, r *control.Route) (control.Tested, error) {
	if len(r.Speaks()) == 0 {
		return control.Tested{}, errSilent
	}
	q := question{method: http.MethodGet, path: "/models", query: r.Speaks()[0].Traits().ListQuery}
	got, err := ask(ctx, up, r, q)
	plain, ok := control.Unversioned(r.Record.BaseURL)
	if err != nil || !ok || !notServed(got.StatusCode) {
		return got, err
	}
	q.base = plain
	if second, err := ask(ctx, up, r, q); err == nil && len(second.Models) > 0 {
		second.BaseURL = plain
		return second, nil
	}
	return got, nil
}

// Lister returns what fetches a provider's own model list beside the tests.
func Lister(up *upstream.Client) func(context.Context, *control.Route) ([]control.ListedModel, error) {
	return func(ctx context.Context, r *control.Route) ([]control.ListedModel, error) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		got, err := askList(ctx, up, r)
		return got.Models, err
	}
}

// maxModelList bounds a model list in bytes; aggregators list hundreds.
const maxModelList = 8 << 20

// ask sends one small call and returns the answer: its status, headers and the
// beginning of its body, and the models where it is a list of them.
func ask(ctx context.Context, up *upstream.Client, r *control.Route, q question) (got control.Tested, err error) {
	d := r.Speaks()[0]
	ep, _ := r.Endpoint(d)
	base := cmp.Or(q.base, ep.URL)
	got.Asked = base + q.path
	res, err := up.Do(ctx, upstream.Call{
		Method: q.method, Dialect: d, BaseURL: base, Path: q.path, Query: q.query, Header: http.Header{}, Body: q.body,
		Auth: attempt.AuthOf(r, ep), Credential: r.Credential(), Key: r.Key(), Proxy: r.Proxy(), UserAgent: r.Record.UserAgent,
	})
	if err != nil {
		return got, err
	}
	got.StatusCode, got.Header = res.StatusCode, res.Header
	if q.method == http.MethodGet && res.StatusCode == http.StatusOK {
		defer func() { _ = res.Body.Close() }()
		list, err := io.ReadAll(io.LimitReader(res.Body, maxModelList))
		if err != nil {
			return got, nil // the status is the verdict
		}
		got.Models = control.ReadModelList(list)
		got.Body = list[:min(len(list), upstream.MaxErrorBody)]
		return got, nil
	}
	got.Body = upstream.ErrorBody(res)
	return got, nil
}

// tiniest is the cheapest request that proves the credential. It needs a model
// name that is known to exist.
func tiniest(r *control.Route) (path string, body []byte) {
	m := cmp.Or(r.Record.ValidationModel, r.Record.DefaultModel)
	if m == "" {
		return "", nil
	}
	d := r.Speaks()[0]
	return d.Traits().Routes[0].Path, d.Ask(dialect.Question{Model: m, Words: "hi", MaxOutput: 1})
}

// diagnose says in one closed word what a test found, as far as no answer has to
// be judged: the service does that, as it judges the answer to a request.
func diagnose(status int, err error) control.TestResult {
	d := control.Diagnosis{Source: "upstream", Code: status}
	res := control.TestResult{}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		d.Type, d.Message = "upstream_unavailable", "no answer within 30 s"
	case err != nil:
		d.Type, d.Message = "network_error", networkKind(err)
	case status < http.StatusMultipleChoices:
		d.Type, res.Valid = "ok", true
	default:
		d.Type, d.Message = "upstream_error", "the provider refused the test"
	}
	if !res.Valid {
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
