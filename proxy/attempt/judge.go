package attempt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"breakwater/proxy/control"
	"breakwater/proxy/scrub"
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/classify"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
	"breakwater/resilience/watchdog"
)

// input is what the classifier must know of this attempt.
func (a *attempt) input(status int, header http.Header, body []byte) classify.Input {
	in := a.Services.Judge(a.target.Route, a.target.Model)
	in.Status, in.Header, in.Body = status, header, a.scrub(body) // its words are kept
	return in
}

// fail is the result of a failure before the client saw anything of an answer.
func (a *attempt) fail(o outcome.Outcome, header http.Header, body []byte) callResult {
	if a.req.Probe {
		// Probes say nothing about a connection (ruling 38, case P42), but a
		// broken one should not answer for the rest.
		o.Class = outcome.Neutral
	}
	o = a.clean(o)
	scrub.Header(header, a.secret())
	return callResult{Result: Result{End: Failed, Outcome: o, Status: o.Status, Header: header, Body: a.scrub(body), Code: a.code, Silent: a.silent}}
}

// broken is the result of an answer that broke off after the client saw a part
// of it.
func (a *attempt) broken(o outcome.Outcome) callResult {
	return callResult{Result: Result{End: Broken, Outcome: a.clean(o), Status: http.StatusOK, Code: a.code}}
}

// clean takes the credential out of the upstream's own words in an outcome,
// which are stored and shown.
func (a *attempt) clean(o outcome.Outcome) outcome.Outcome {
	o.RawHint, o.ErrorType = string(a.scrub([]byte(o.RawHint))), string(a.scrub([]byte(o.ErrorType)))
	o.Words = outcome.CleanWords(scrub.Words(o.Words, a.secret()))
	return o
}

// refused handles an answer with an error status.
func (a *attempt) refused(ctx context.Context, res *http.Response) callResult {
	body := upstream.ErrorBody(res)
	switch {
	case a.gone(ctx):
		return a.left()
	case res.StatusCode < http.StatusBadRequest:
		// A redirect would send the credential somewhere else; that of a portal
		// says nothing about the account (ruling 56).
		return a.foreign(res.StatusCode, body)
	case a.fewerTools(res.StatusCode, body):
		return callResult{next: again}
	}
	return a.refusal(classify.Response(a.input(res.StatusCode, res.Header, body)), res.StatusCode, res.Header, body)
}

// errorEvent classifies an error inside a 200 answer like an error status
// (ruling 18).
func (a *attempt) errorEvent(res *http.Response, data []byte) outcome.Outcome {
	if o, ok := classify.StreamEvent(a.input(0, res.Header, data)); ok {
		return o
	}
	return a.transport(classify.NotAnAnswer)
}

// failedEvent handles an error inside a 200 answer before the client saw any of
// it.
func (a *attempt) failedEvent(res *http.Response, data []byte) callResult {
	return a.refusal(a.errorEvent(res, data), 0, res.Header, data)
}

// noAnswer handles a call to which no answer came.
func (a *attempt) noAnswer(ctx context.Context, err error) callResult {
	if a.gone(ctx) {
		return a.left()
	}
	if e, ok := errors.AsType[*control.LeaseError](err); ok {
		return callResult{Result: Result{End: Refused, Fence: e}}
	}
	return a.failedWithout(ctx, err)
}

// failedWithout handles a failure below HTTP, or of our own, before the client
// saw anything: the same target may be asked again.
func (a *attempt) failedWithout(ctx context.Context, err error) callResult {
	o := a.streamFailure(ctx, err)
	if a.asksAgain(ctx, err) {
		return a.reopen(o)
	}
	return a.fail(o, nil, nil)
}

// cause is why the present call was cancelled, nil when it was not: a deadline
// of its own, or the end of the caller's context.
func (a *attempt) cause(ctx context.Context) error {
	if a.deadlines != nil {
		if err := a.deadlines.expired(); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// streamFailure judges whose fault it is that an answer did not come or broke.
func (a *attempt) streamFailure(ctx context.Context, err error) outcome.Outcome {
	cause := a.cause(ctx)
	var late overdue
	var ours *admission.Error
	switch {
	case combo.TimedOut(cause):
		a.code = combo.CodeTargetTimeout
	case errors.As(cause, &ours):
		a.code = string(ours.Code)
	case a.Upstream.SleptSince(a.ahead):
		a.code = resilience.CodeMachineSlept
		return a.transport(classify.LocalDeadline) // what broke meanwhile is no connection's fault
	case errors.As(cause, &late):
		a.silent = late.cause == watchdog.NoAnswer || late.cause == watchdog.NotReady || late.cause == watchdog.Stalled
		if late.cause != watchdog.NoAnswer {
			a.code = late.cause.Code()
		}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		a.code = resilience.CodeEarlyEOF
	}
	return a.transport(kindOf(cause, err))
}

// transport classifies a failure that has no status. One of our own deadlines
// is no upstream's fault, but another target may be quicker.
func (a *attempt) transport(kind classify.TransportKind) outcome.Outcome {
	o := classify.Transport(kind, a.input(0, nil, nil))
	if kind == classify.LocalDeadline {
		o.Fallback = true
	}
	return o
}

// kindOf names a failure below HTTP.
func kindOf(cause, err error) classify.TransportKind {
	if late, ok := errors.AsType[overdue](cause); ok {
		switch late.cause {
		case watchdog.Stalled, watchdog.Silent, watchdog.TooSlow:
			return classify.Stalled
		}
		return classify.LocalDeadline
	}
	if _, ours := admission.Local(cause); ours || combo.TimedOut(cause) {
		return classify.LocalDeadline
	}
	return KindOf(err)
}

// KindOf names the failure of a call that no deadline ended.
func KindOf(err error) classify.TransportKind {
	switch {
	case upstream.ProxyFailed(err):
		return classify.ProxyFailed
	case isTLS(err):
		return classify.TLS
	case isUnknownHost(err):
		return classify.UnknownHost
	case isRefused(err):
		return classify.Refused
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return classify.EarlyEOF
	}
	return classify.Reset
}

func isTLS(err error) bool {
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &cert) || errors.As(err, &unknown) || errors.As(err, &record) || errors.As(err, &alert)
}

func isUnknownHost(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

func isRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || err != nil && strings.Contains(err.Error(), "connection refused")
}

// fewerTools learns from a refusal for too many tools, and reports whether the
// same target takes the request with fewer.
func (a *attempt) fewerTools(status int, body []byte) bool {
	if status != http.StatusBadRequest || a.req.Body.Tools == 0 || a.trimmed {
		return false
	}
	if !a.Services.ToolLimits().Learn(a.target.Route.Provider.ID, status, string(body), a.Services.Now()) {
		return false
	}
	a.trimmed = true
	a.reopening.Made-- // no recovery of a broken stream
	a.watch.Step(control.Step{Kind: control.StepFailed, Reason: "too_many_tools", Status: status, Model: a.target.Model})
	return a.maxTools() > 0
}
