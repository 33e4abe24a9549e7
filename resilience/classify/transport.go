package classify

import (
	"breakwater/resilience/outcome"
)

// TransportKind is a failure that no status speaks of.
type TransportKind uint8

// The kinds.
const (
	// Refused, UnknownHost, TLS, Reset and Unreachable happen below HTTP, before
	// any answer; ConnectTimeout is a dial that nobody answered.
	Refused TransportKind = iota
	UnknownHost
	TLS
	Reset
	Unreachable
	ConnectTimeout
	// LocalDeadline is a limit of our own, such as the time to the first byte: it
	// says nothing about the upstream (P10).
	LocalDeadline
	// LocalLimit is our own queue or gate (P11).
	LocalLimit
	// LocalError is a fault of this machine or of ours.
	LocalError
	// ClientGone is a client that left (P21).
	ClientGone
	// EarlyEOF is a good status whose body ended before any output.
	EarlyEOF
	// EmptyAnswer is a complete, well-formed answer without content.
	EmptyAnswer
	// NotAnAnswer is a good status over something else, such as a web page.
	NotAnAnswer
	// Truncated is a stream that broke off without its end.
	Truncated
	// Stalled is a stream that sent no output in time.
	Stalled
	// ProxyFailed is an outbound proxy that cannot be reached or refuses its
	// login: the connection cannot be used, its provider is not to blame.
	ProxyFailed
)

// transportRows are the rows of failures without a status, by their kind.
var transportRows = [...]string{
	Refused: "connection-refused", UnknownHost: "unknown-host", TLS: "tls-failed", Reset: "connection-reset",
	Unreachable: "unreachable", ConnectTimeout: "connect-timeout", LocalDeadline: "own-deadline", LocalLimit: "own-limit",
	LocalError: "own-error", ClientGone: "client-gone", EarlyEOF: "early-end", EmptyAnswer: "empty-answer",
	NotAnAnswer: "not-an-answer", Truncated: "stream-truncated", Stalled: "stream-stalled", ProxyFailed: "proxy-failed",
}

// Transport classifies a failure without a status. Of in it reads the profile,
// the level, the provider and the model; the status is the one that stands for
// the failure towards the client.
func Transport(kind TransportKind, in Input) outcome.Outcome {
	o := transport(kind, in)
	o.Row = transportRows[kind]
	return o
}

func transport(kind TransportKind, in Input) outcome.Outcome {
	switch kind {
	case LocalDeadline:
		return local(504, outcome.ReasonLocalTimeout)
	case LocalLimit:
		return local(503, outcome.ReasonLocalError)
	case LocalError:
		return local(500, outcome.ReasonLocalError)
	case ClientGone:
		return local(499, outcome.ReasonClientGone)
	}

	in.Header, in.Body = nil, nil
	in.Status = 502
	if kind == Stalled {
		in.Status = 504
	}
	f := read(in)
	o := f.retryable(outcome.ReasonServerError)
	o.Status, o.ErrorType, o.BreakerKind = in.Status, typeServerError, outcome.KindTransient
	switch kind {
	case EarlyEOF, Truncated, NotAnAnswer:
		o.Reason = outcome.ReasonTruncated
		if kind == NotAnAnswer {
			o.Reason = outcome.ReasonEmptyAnswer
		}
		if o = f.scoped(o); o.Scope == outcome.ScopeModel && f.StreamBreaks < breaksBeforeLock {
			o.Cooldown = 0
		}
		return o
	case EmptyAnswer:
		o.Reason, o.ErrorType = outcome.ReasonEmptyAnswer, typeEmptyContent
		return uncooled(f.scoped(o))
	case Stalled:
		o.Reason, o.SkipBreaker = outcome.ReasonStreamStall, true
		if !f.opt.CoolOnStall {
			return uncooled(o)
		}
		return f.scoped(o)
	}
	o.Reason, o.Network, o.SkipBreaker = outcome.ReasonNetwork, true, kind == ProxyFailed
	return o
}

// breaksBeforeLock is how many streams of a model may break within ten minutes
// before the next one locks it (sheet §3.11, step 14).
const breaksBeforeLock = 2

// local is the verdict on what is nobody's fault upstream: it records nothing.
func local(status int, reason outcome.Reason) outcome.Outcome {
	return outcome.Outcome{Class: outcome.Neutral, Scope: outcome.ScopeLocal, Reason: reason, Status: status}
}

// uncooled keeps a failure on record without any penalty.
func uncooled(o outcome.Outcome) outcome.Outcome {
	o.Cooldown, o.SetsLevel, o.Level, o.SkipBreaker = 0, false, 0, true
	return o
}
