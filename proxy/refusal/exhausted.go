package refusal

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/exclusion"
	"breakwater/resilience/outcome"
	"breakwater/resilience/watchdog"
)

// Skipped is a connection that was not tried.
type Skipped struct {
	Name   string
	Reason string
}

// Connection is one that exists, with the dialects it speaks.
type Connection struct {
	Name     string
	Dialects []dialect.Dialect
}

// NoConnection refuses a request for which there is no connection at all, and
// says which there are.
func (q *Request) NoConnection(skipped []Skipped, all []Connection) Notice {
	n := notice(http.StatusBadRequest, "invalid_request_error", "no_connection", "")
	want := q.Dialect.Traits().Title
	passthrough, keyless := firstSkipped(skipped, exclusion.NoCredential), firstSkipped(skipped, exclusion.KeyMissing)
	switch {
	case firstSkipped(skipped, exclusion.KeyNotAllowed) != "":
		n.Status, n.Type, n.Code = http.StatusForbidden, "permission_error", "connection_not_allowed"
		n.Message = "This Breakwater key may not use any connection that could answer."
	case firstSkipped(skipped, exclusion.Leased) != "":
		n.Code = "connection_reserved"
		n.Message = "Every connection that could answer is kept for clients that hold a lease."
	case passthrough != "":
		n.Message = passthrough + " is a passthrough connection: it needs the client's own login. Log in to the client without setting its API key, or add a connection with a key."
	case keyless != "":
		n.Code = string(exclusion.KeyMissing)
		n.Message = "The key of " + keyless + " is missing on this machine. Type it again in the window, or with breakwater connections edit."
	case len(all) == 0:
		n.Message = "Breakwater has no connections yet. Open its window, or use the management API, to add one that speaks " + want + "."
	case !slices.ContainsFunc(all, func(c Connection) bool { return slices.Contains(c.Dialects, q.Dialect) }):
		n.Message = fmt.Sprintf("No connection speaks %s, which this client uses. There are: %s.", want, dialects(all))
	default:
		n.Message = fmt.Sprintf("No connection that speaks %s has the model %q.", want, q.Model)
	}
	return n
}

// firstSkipped names the first connection that was skipped for a reason; it is
// empty where there is none.
func firstSkipped(skipped []Skipped, reason exclusion.Reason) string {
	for _, s := range skipped {
		if s.Reason == string(reason) {
			return s.Name
		}
	}
	return ""
}

// dialects lists which connection speaks what.
func dialects(all []Connection) string {
	var parts []string
	for _, c := range all {
		var titles []string
		for _, d := range c.Dialects {
			titles = append(titles, d.Traits().Title)
		}
		parts = append(parts, c.Name+" ("+strings.Join(titles, ", ")+")")
	}
	return strings.Join(parts, "; ")
}

// Unserved is how a request for a single model went that no connection
// answered.
type Unserved struct {
	Failures []resilience.Failure
	Excluded []resilience.Exclusion
	Skipped  []Skipped // all that were not tried, with what keeps them out
	// Local is the last refusal of a gate or queue of ours, nil for none.
	Local *admission.Error
	// Lease tells that other owners hold what could serve it, nil otherwise.
	Lease *control.LeaseError
	// Wait is when the first of the connections may be tried again; Waits is
	// false when no time ends what keeps them out. See NextTry.
	Wait  time.Duration
	Waits bool
	// RefreshWait is when the login of the last failure is refreshed again, if
	// that is why it failed.
	RefreshWait time.Duration
}

// NextTry is how long it takes until the first of the connections may be tried
// again, at least a second; toReal converts a time of the core to real time, nil
// for the zero time.
func (q *Request) NextTry(excluded []resilience.Exclusion, failures []resilience.Failure, toReal func(time.Time) *time.Time) (time.Duration, bool) {
	at := toReal(resilience.Plan{Excluded: excluded}.Earliest())
	for i := range failures {
		until := toReal(failures[i].Until)
		if stated := failures[i].Outcome.ClientRetryAfter; stated > 0 {
			// A restated status states its own wait for the client (guide §7).
			t := q.Now.Add(stated)
			until = &t
		}
		if until != nil && (at == nil || until.Before(*at)) {
			at = until
		}
	}
	if at == nil {
		return 0, false
	}
	return max(at.Sub(q.Now), time.Second), true
}

// Unserved decides how a request for a single model ends.
func (q *Request) Unserved(u *Unserved) Notice {
	last := resilience.Last(u.Failures)
	switch {
	case u.Lease != nil:
		return Lease(u.Lease)
	case last == nil && u.Local != nil && !(u.Local.Elsewhere && u.Waits):
		return q.busy(u.Local) // busy, not broken: no reason for a notification
	}
	n := q.exhausted(u, last)
	n.Exhausted = true
	return n
}

func (q *Request) exhausted(u *Unserved, last *resilience.Failure) Notice {
	switch {
	case last != nil && last.Code == resilience.CodeLoginNotRefreshed:
		return notRefreshed(last.Name, u.RefreshWait)
	case last != nil && last.Outcome.Class == outcome.Neutral && !last.Answered():
		return notice(http.StatusGatewayTimeout, typeOf(last.Code, "timeout_error"), last.Cause(), last.Name+" did not answer in time.")
	case last != nil && !last.Limited():
		return notice(http.StatusBadGateway, typeOf(last.Code, "api_error"), last.Cause(), summary(u))
	case u.Waits:
		return q.comeBack(u)
	}
	return notice(http.StatusBadGateway, "api_error", "no_connection_available", summary(u))
}

// typeOf is the error type that belongs to a stream's own code (stream sheet
// §6.2), or the default.
func typeOf(code, byDefault string) string {
	switch code {
	case watchdog.NotReady.Code():
		return "stream_timeout"
	case resilience.CodeEarlyEOF:
		return "stream_early_eof"
	}
	return byDefault
}

// notRefreshed refuses when the only login left has no access token: its token
// endpoint fails (case O5).
func notRefreshed(connection string, wait time.Duration) Notice {
	n := notice(http.StatusBadGateway, "api_error", resilience.CodeLoginNotRefreshed,
		"Breakwater: the login of "+connection+" could not be refreshed: its token endpoint does not answer as it should. The next try is in "+
			span(wait)+"; testing the connection tries at once.")
	n.Wait = wait
	return n
}

// busy refuses a request that a gate or queue of ours did not let through.
func (q *Request) busy(e *admission.Error) Notice {
	n := notice(e.Status(), dialect.TypeFor(e.Status()), string(e.Code),
		strings.TrimSuffix(e.Message, ".")+". This is a local limit, nothing was sent.")
	if q.Client.WaitStatus429 && n.Status != http.StatusTooManyRequests {
		n.Status, n.Type = http.StatusTooManyRequests, "rate_limit_error" // ruling 41
	}
	n.Wait = max(e.RetryAfter, time.Second)
	return n
}

// comeBack asks the client to try again later (ruling 41): 429 for everybody
// who gives up early on a 503; the guide's 503 for an open breaker otherwise.
func (q *Request) comeBack(u *Unserved) Notice {
	left, end := int(math.Ceil(u.Wait.Seconds())), q.Now.Add(u.Wait)
	n := notice(http.StatusTooManyRequests, "rate_limit_error", "all_connections_cooling_down",
		fmt.Sprintf("Breakwater: every connection that could answer is resting; the first is back in %s (%s). This is a local decision, nothing was sent.",
			span(u.Wait), moment(q.Now, end)))
	n.Extra, n.Wait = map[string]any{"reset_seconds": left}, u.Wait
	if len(u.Failures) > 0 {
		n.Message = fmt.Sprintf("Breakwater: every connection that could answer is limited; the first is back in %s (%s).",
			span(u.Wait), moment(q.Now, end))
		return n
	}
	if open := openBreaker(u.Excluded); open != "" {
		n.Code = codeBreakerOpen
		if !q.Client.WaitStatus429 {
			n.Status, n.Type = http.StatusServiceUnavailable, "api_error"
		}
		n.Extra["provider"], n.Extra["retry_after"] = open, left
	}
	return n
}

// openBreaker returns the provider when open breakers are all that keeps
// connections out.
func openBreaker(excluded []resilience.Exclusion) string {
	name := ""
	for _, e := range excluded {
		switch e.Reason {
		case exclusion.BreakerOpen, exclusion.Probing:
			name = e.Conn.Provider()
		case exclusion.Off, exclusion.Banned, exclusion.Expired, exclusion.CreditsExhausted, exclusion.WrongAddress:
		default:
			return ""
		}
	}
	return name
}

// summary says in words why no connection answered, without any word of an
// upstream.
func summary(u *Unserved) string {
	var parts []string
	if len(u.Failures) == 0 {
		for _, s := range u.Skipped {
			parts = append(parts, s.Name+" is "+spaced(s.Reason))
		}
		return "Breakwater: no connection can answer: " + strings.Join(parts, "; ") + "."
	}
	for i := range u.Failures {
		parts = append(parts, u.Failures[i].Name+" "+inShort(&u.Failures[i]))
	}
	return "Breakwater: " + strings.Join(parts, "; ") + ". No other connection is left to answer."
}

// inShort says in a few words what became of an attempt. A status is named only
// if the upstream gave it.
func inShort(f *resilience.Failure) string {
	reason := spaced(string(f.Outcome.Reason))
	switch {
	case f.Outcome.Network:
		return "could not be reached"
	case f.Outcome.Reason == outcome.ReasonEmptyAnswer:
		return "gave no usable answer (check its base URL)"
	case !f.Answered():
		return "failed (" + reason + ")"
	}
	return fmt.Sprintf("failed (%s, status %d)", reason, f.Outcome.Status)
}
