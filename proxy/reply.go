package proxy

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/outcome"
	"breakwater/resilience/watchdog"
)

// refusal is an error answer of our own with the wait after which the client
// may come back, zero when waiting does not help.
type refusal struct {
	dialect.Refusal
	wait time.Duration
}

// refuse answers with an error of our own, in the client's dialect.
func (x *exchange) refuse(ref refusal) {
	x.step(control.Step{Kind: control.StepRefused, Status: ref.Status, Reason: ref.Code, Until: ref.until()}, nil)
	x.reply(ref.Status, "refused", x.rt.dialect.ErrorBody(ref.Refusal), ref.Refusal, ref.wait, func(h http.Header) {
		h.Set("Content-Type", "application/json")
		if ref.wait > 0 {
			h.Set("Retry-After", strconv.Itoa(x.retryAfter(ref.wait)))
		}
		if ref.Code == codeBreakerOpen {
			h.Set("X-Omniroute-Provider-Breaker", "open")
		}
	})
}

// headerSelected names the connection that was used, or the last that failed
// (combos sheet §2.9).
const headerSelected = "X-Omniroute-Selected-Connection-Id"

// selected is the connection that was used last.
func (x *exchange) selected() string {
	if f := x.lastFailure(); f != nil && x.act.ConnectionID == "" {
		return f.Connection
	}
	return x.act.ConnectionID
}

// codeBreakerOpen is the guide's code for a provider whose breaker is open.
const codeBreakerOpen = "provider_circuit_open"

// until is when the refusal ends by itself; a pause ends by hand.
func (r refusal) until() *time.Time {
	if r.Code == codePaused {
		return nil
	}
	return untilStep(r.wait)
}

func untilStep(wait time.Duration) *time.Time {
	if wait <= 0 {
		return nil
	}
	return control.RealTime(time.Now().Add(wait))
}

// retryAfter is the wait in whole seconds that the client obeys: at least one,
// at most what does not make it give up (ruling 41).
func (x *exchange) retryAfter(wait time.Duration) int {
	// Deadlines are rounded; a few milliseconds must not become a second.
	s := max(int(math.Ceil((wait - 10*time.Millisecond).Seconds())), 1)
	if limit := int(x.client.RetryAfterCap.Seconds()); limit > 0 && !x.grant.Leases {
		s = min(s, limit)
	}
	return s
}

// reply ends the exchange with an error. A client that waits in a stream
// already cannot be given a status any more: it gets the error as an event,
// unless it would rather see a cut, and then the stream breaks off (rulings 44
// and 45).
func (x *exchange) reply(status int, result string, body []byte, ref dialect.Refusal, wait time.Duration, fill func(http.Header)) {
	x.out.quiet()
	if x.out.begun() {
		if !x.client.CutBrokenStream {
			if x.client.Client == dialect.Codex && wait > 0 {
				ref.Message += fmt.Sprintf(" Please try again in %ds.", x.retryAfter(wait))
			}
			x.out.write(x.rt.dialect.ErrorEvent(ref))
		}
		x.finish(status, result)
		panic(http.ErrAbortHandler)
	}
	x.out.head(status, func(h http.Header) {
		fill(h)
		if id := x.selected(); id != "" {
			h.Set(headerSelected, id)
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
	})
	x.out.write(body)
	x.finish(status, result)
}

// noConnection refuses a request for which there is no connection at all, and
// says which there are.
func (x *exchange) noConnection(passed []control.Passed) refusal {
	if e := x.leaseContention(resilience.Plan{}); e != nil {
		return leaseRefusal(e)
	}
	ref := dialect.Refusal{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "no_connection"}
	want := x.rt.dialect.Title()
	routes := x.s.svc.Routes()
	passthrough, keyless := firstPassed(passed, control.SkipNoCredential), firstPassed(passed, control.SkipKeyMissing)
	switch {
	case firstPassed(passed, control.SkipKeyNotAllowed) != "":
		ref.Status, ref.Type, ref.Code = http.StatusForbidden, "permission_error", "connection_not_allowed"
		ref.Message = "This Breakwater key may not use any connection that could answer."
	case firstPassed(passed, control.SkipLeased) != "":
		ref.Code = "connection_reserved"
		ref.Message = "Every connection that could answer is kept for clients that hold a lease."
	case passthrough != "":
		ref.Message = passthrough + " is a passthrough connection: it needs the client's own login. Log in to the client without setting its API key, or add a connection with a key."
	case keyless != "":
		ref.Code = control.SkipKeyMissing
		ref.Message = "The key of " + keyless + " is missing on this machine. Type it again in the window, or with breakwater connections edit."
	case len(routes) == 0:
		ref.Message = "Breakwater has no connections yet. Open its window, or use the management API, to add one that speaks " + want + "."
	case !slices.ContainsFunc(routes, func(r *control.Route) bool { _, ok := r.Endpoint(x.rt.dialect); return ok }):
		ref.Message = fmt.Sprintf("No connection speaks %s, which this client uses. There are: %s.", want, spoken(routes))
	default:
		ref.Message = fmt.Sprintf("No connection that speaks %s has the model %q.", want, x.body.Model)
	}
	return refusal{Refusal: ref}
}

// firstPassed names the first connection that was passed over for a reason; it
// is empty where there is none.
func firstPassed(passed []control.Passed, reason string) string {
	for _, p := range passed {
		if p.Reason == reason {
			return p.Route.Record.Name
		}
	}
	return ""
}

// spoken lists which connection speaks what.
func spoken(routes []*control.Route) string {
	var parts []string
	for _, r := range routes {
		var titles []string
		for _, d := range r.Dialects() {
			titles = append(titles, dialect.Name(d).Title())
		}
		parts = append(parts, r.Record.Name+" ("+strings.Join(titles, ", ")+")")
	}
	return strings.Join(parts, "; ")
}

// nobodyLeft decides how a request ends that no target answered.
func (x *exchange) nobodyLeft(plan resilience.Plan) refusal {
	x.act.FailedOver = false
	wait, waits := x.soonest(plan)
	last := x.lastFailure()
	if e := x.leaseContention(plan); e != nil {
		return leaseRefusal(e)
	}
	if last == nil && x.local != nil && !(x.local.Elsewhere && waits) {
		return x.tooBusy() // busy, not broken: nobody need be told
	}
	if x.r.Context().Err() == nil {
		x.s.svc.Warn(control.Alert{Kind: control.AlertNothingLeft, Dialect: string(x.rt.dialect), Until: untilStep(wait)})
	}
	switch {
	case last != nil && last.Code == resilience.CodeLoginNotRefreshed:
		return x.notRefreshed(last)
	case last != nil && last.Outcome.Class == outcome.Neutral:
		return refusal{Refusal: dialect.Refusal{
			Status: http.StatusGatewayTimeout, Type: typeOf(last.Code, "timeout_error"), Code: last.Cause(),
			Message: last.Name + " did not answer in time.",
		}}
	case last != nil && !last.Limited():
		return refusal{Refusal: dialect.Refusal{
			Status: http.StatusBadGateway, Type: typeOf(last.Code, "api_error"),
			Code: last.Cause(), Message: x.story(last),
		}}
	case waits:
		return refusal{x.comeBack(plan, wait), wait}
	}
	return refusal{Refusal: dialect.Refusal{
		Status: http.StatusBadGateway, Type: "api_error", Code: "no_connection_available", Message: x.story(last),
	}}
}

// typeOf is the error type that belongs to a stream's own code (stream sheet
// §6.2), or the usual one.
func typeOf(code, usual string) string {
	switch code {
	case watchdog.NotReady.Code():
		return "stream_timeout"
	case resilience.CodeEarlyEOF:
		return "stream_early_eof"
	}
	return usual
}

func (x *exchange) lastFailure() *resilience.Failure { return resilience.Last(x.failures) }

// soonest returns how long it takes until the first of the candidates may be
// tried again, in real time.
func (x *exchange) soonest(plan resilience.Plan) (time.Duration, bool) {
	at := x.s.svc.Real(plan.Earliest())
	for i := range x.failures {
		u := x.s.svc.Real(x.failures[i].Until)
		if told := x.failures[i].Outcome.ClientRetryAfter; told > 0 {
			// A restated status brings its own word for the client (guide §7).
			u = control.RealTime(time.Now().Add(told))
		}
		if u != nil && (at == nil || u.Before(*at)) {
			at = u
		}
	}
	if at == nil {
		return 0, false
	}
	return max(time.Until(*at), time.Second), true
}

// comeBack tells the client to try again later (ruling 41): 429 for everybody
// who gives up early on a 503; the guide's 503 for an open breaker otherwise.
func (x *exchange) comeBack(plan resilience.Plan, wait time.Duration) dialect.Refusal {
	end := time.Now().Add(wait)
	ref := dialect.Refusal{
		Status: http.StatusTooManyRequests, Type: "rate_limit_error", Code: "all_connections_cooling_down",
		Message: fmt.Sprintf("Breakwater: every connection that could answer is resting; the first is back in %s (%s). This is a local decision, nothing was sent.",
			inWords(wait), atTime(end)),
		Extra: map[string]any{"reset_seconds": int(math.Ceil(wait.Seconds()))},
	}
	if len(x.failures) > 0 {
		ref.Message = fmt.Sprintf("Breakwater: every connection that could answer is limited; the first is back in %s (%s).",
			inWords(wait), atTime(end))
	}
	if open := openBreaker(plan); open != "" && len(x.failures) == 0 {
		ref.Code = codeBreakerOpen
		if !x.client.WaitStatus429 {
			ref.Status, ref.Type = http.StatusServiceUnavailable, "api_error"
		}
		ref.Extra["provider"], ref.Extra["retry_after"] = open, int(math.Ceil(wait.Seconds()))
	}
	return ref
}

// openBreaker returns the provider when open breakers are all that bars the
// way.
func openBreaker(plan resilience.Plan) string {
	name := ""
	for _, e := range plan.Excluded {
		switch e.Reason {
		case resilience.SkipBreakerOpen, resilience.SkipProbing:
			name = e.Conn.Provider()
		case resilience.SkipOff, resilience.SkipBanned, resilience.SkipExpired, resilience.SkipCreditsExhausted:
		default:
			return ""
		}
	}
	return name
}

// story says in words why nobody answered, without any word of an upstream.
func (x *exchange) story(last *resilience.Failure) string {
	if last == nil {
		var parts []string
		for _, s := range x.act.Trace {
			if s.Kind == control.StepSkipped {
				parts = append(parts, s.ConnectionName+" is "+strings.ReplaceAll(s.Reason, "_", " "))
			}
		}
		return "Breakwater: no connection can answer: " + strings.Join(parts, "; ") + "."
	}
	var parts []string
	for _, f := range x.failures {
		parts = append(parts, f.Name+" "+inShort(f))
	}
	return "Breakwater: " + strings.Join(parts, "; ") + ". No other connection is left to answer."
}

// inShort says in a few words what became of an attempt. A status is named only
// if the upstream gave it.
func inShort(f resilience.Failure) string {
	switch {
	case f.Outcome.Network:
		return "could not be reached"
	case f.Outcome.Reason == outcome.ReasonEmptyAnswer:
		return "gave no usable answer (check its base URL)"
	case !f.Answered():
		return "failed (" + strings.ReplaceAll(string(f.Outcome.Reason), "_", " ") + ")"
	}
	return fmt.Sprintf("failed (%s, status %d)", strings.ReplaceAll(string(f.Outcome.Reason), "_", " "), f.Outcome.Status)
}

// atTime says a moment for people, with its day when it is not soon.
func atTime(t time.Time) string {
	if time.Until(t) > 12*time.Hour {
		return t.UTC().Format("Mon 2 Jan, 15:04 MST")
	}
	return t.UTC().Format("15:04:05 MST")
}

// inWords says a span for people.
func inWords(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", max(int(d.Seconds()), 1))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(math.Ceil(d.Minutes())))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
