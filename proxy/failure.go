package proxy

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
	"breakwater/proxy/upstream"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/classify"
	"breakwater/resilience/combo"
	"breakwater/resilience/outcome"
	"breakwater/resilience/watchdog"
)

// input is what the classifier must know of this attempt.
func (t *attempt) input(status int, header http.Header, body []byte) classify.Input {
	in := t.x.s.svc.Judge(t.route, t.model)
	in.Status, in.Header, in.Body = status, header, body
	return in
}

// refused handles an answer with an error status.
func (t *attempt) refused(ctx context.Context, res *http.Response) verdict {
	body := upstream.ErrorBody(res)
	if t.x.r.Context().Err() != nil {
		return t.gone()
	}
	if res.StatusCode < 400 {
		// A redirect would send the credential somewhere else.
		return t.fail(t.without(classify.NotAnAnswer), nil, nil)
	}
	if t.fewerTools(res.StatusCode, body) {
		return again
	}
	return t.fail(classify.Response(t.input(res.StatusCode, res.Header, body)), res.Header, body)
}

// errorEvent classifies an error inside a 200 answer like an error status
// (ruling 18).
func (t *attempt) errorEvent(res *http.Response, data []byte) outcome.Outcome {
	if o, ok := classify.StreamEvent(t.input(0, res.Header, data)); ok {
		return o
	}
	return t.without(classify.NotAnAnswer)
}

// broke handles a call to which no answer came.
func (t *attempt) broke(ctx context.Context, err error) verdict {
	if t.x.r.Context().Err() != nil {
		return t.gone()
	}
	if e, ok := errors.AsType[*control.LeaseError](err); ok {
		return t.fencedOff(e)
	}
	o := t.streamFailure(ctx, err)
	if t.asksAgain(ctx, err) {
		return t.reopen(o)
	}
	return t.fail(o, nil, nil)
}

// streamFailure says whose fault it is that an answer did not come or broke.
func (t *attempt) streamFailure(ctx context.Context, err error) outcome.Outcome {
	cause := context.Cause(ctx)
	var late overdue
	var ours *admission.Error
	switch {
	case combo.TimedOut(cause):
		t.code = combo.CodeTargetTimeout
	case errors.As(cause, &ours):
		t.code = string(ours.Code)
	case t.x.s.up.SleptSince(t.ahead):
		t.code = resilience.CodeMachineSlept
		return t.without(classify.LocalDeadline) // what broke meanwhile is nobody's fault
	case errors.As(cause, &late) && late.cause != watchdog.NoAnswer:
		t.code = late.cause.Code()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		t.code = resilience.CodeEarlyEOF
	}
	return t.without(kindOf(cause, err))
}

// without classifies a failure that has no status. One of our own deadlines
// is nobody's fault, but another target may be quicker.
func (t *attempt) without(kind classify.TransportKind) outcome.Outcome {
	o := classify.Transport(kind, t.input(0, nil, nil))
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
