package refusal

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/sjson"

	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
	"breakwater/resilience/exclusion"
)

// The codes and terminal reasons of a combo's final answers (combos sheet
// §2.9).
const (
	reasonAllFailed  = "all_models_failed"
	reasonQuota      = "quota_exhausted"
	reasonAllSkipped = "all_targets_skipped"
	codeComboTimeout = "COMBO_TIMEOUT"
)

// Combo is how a request for a combo went that no target answered.
type Combo struct {
	Name     string
	Stop     resilience.Stop
	Attempts []Attempt // all that were sent
	Sent     int       // how many of them in the last pass
	// Planned tells that there was a plan, PoolSize of how many targets.
	Planned  bool
	PoolSize int
	// Refusal says why there was no plan, or how the calls of a fusion or a
	// pipeline failed; nil otherwise.
	Refusal  *combo.Refusal
	Failures []resilience.Failure
	Excluded []combo.Excluded
	// Local is the last refusal of a gate or queue of ours, nil for none.
	Local *admission.Error
	// Before is the answer of the waits for a request that was never sent.
	Before admission.Skipped
	Now    time.Time // in core time
	// Mends are the connections that only the user can mend, when nothing else
	// keeps the combo from answering (ruling 71); nil otherwise.
	Mends []Mend
}

// Attempt is a target that was asked.
type Attempt struct{ Provider, Model string }

// ending is the answer and the diagnostics' word for it.
type ending struct {
	Notice
	terminal string
}

// Combo decides how a request for a combo ends, with the diagnostics in the
// body and as headers.
func (q *Request) Combo(c *Combo) Answer {
	v := q.ending(c)
	if len(c.Mends) > 0 {
		v.Notice = q.UserAction(c.Mends)
	}
	if v.Wait > 0 && v.Status == http.StatusServiceUnavailable && q.Client.WaitStatus429 {
		v.Status, v.Type = http.StatusTooManyRequests, "rate_limit_error" // ruling 41
	}
	d := diagnose(c, v)
	a := q.Answer(v.Notice)
	if body, err := sjson.SetBytes(a.Body, "diagnostics", d.Diagnostics); err == nil {
		a.Body = body
	}
	if body, err := sjson.SetBytes(a.Body, "recovery_hint", d.Recovery); err == nil {
		a.Body = body
	}
	d.headers(a.Header)
	return a
}

// ending chooses among the final answers.
func (q *Request) ending(c *Combo) ending {
	switch {
	case c.Stop == resilience.StopAttempts:
		return c.says(http.StatusServiceUnavailable, "service_unavailable", string(c.Stop), string(c.Stop),
			fmt.Sprintf("gave up after %d attempts.", len(c.Attempts)))
	case c.Stop == resilience.StopTimeout:
		return c.says(http.StatusGatewayTimeout, "timeout_error", codeComboTimeout, string(c.Stop), "no target answered in time: "+c.failures()+".")
	case c.Refusal != nil && c.Planned:
		return q.composed(c)
	case c.Refusal != nil:
		r := c.Refusal
		v := c.says(r.Status, r.Type, r.Code, cmp.Or(r.Terminal, r.Code), r.Message)
		v.Wait = r.RetryAfter
		return v
	case c.Sent == 0, len(c.Failures) == 0: // the last call of several found no target
		return q.skipped(c)
	}
	return c.merged()
}

func (c *Combo) says(status int, kind, code, terminal, message string) ending {
	return ending{Notice: notice(status, kind, code, "Breakwater: combo "+c.Name+": "+message), terminal: terminal}
}

// composed is the answer when the calls of a fusion or a pipeline failed: when
// they only met limits, the client is asked to come back; a refused key is never
// forwarded (ruling 43).
func (q *Request) composed(c *Combo) ending {
	if c.Sent == 0 {
		return q.skipped(c)
	}
	r := c.Refusal
	status, kind := r.Status, r.Type
	if resilience.AuthStatus(status) {
		status, kind = http.StatusBadGateway, "api_error"
	}
	limits := len(c.Failures) > 0 && resilience.Merge(c.Failures).LimitOnly
	v := c.says(status, kind, r.Code, cmp.Or(r.Terminal, r.Code), r.Message)
	if left, ok := c.NextTry(); ok && (limits || status == http.StatusTooManyRequests) {
		v.Status, v.Type = http.StatusTooManyRequests, "rate_limit_error"
		v.resetsAfter(left)
	}
	return v
}

// resetsAfter adds the wait, also in words.
func (v *ending) resetsAfter(left time.Duration) {
	v.Wait = left
	v.Message = strings.TrimSuffix(v.Message, ".") + " (" + resilience.ResetAfter(left) + ")."
}

// skipped is the answer when no target was tried at all.
func (q *Request) skipped(c *Combo) ending {
	if c.Local != nil {
		return ending{Notice: q.busy(c.Local), terminal: reasonAllSkipped}
	}
	s := &c.Before
	switch s.Code {
	case admission.CodeRateLimit:
		v := c.says(s.Status, "rate_limit_error", s.Code, combo.AllCoolingDown,
			"every target is limited; the first is back in "+span(s.RetryAfter)+". Nothing was sent.")
		v.Extra = map[string]any{"retry_after": seconds(s.RetryAfter), "reset_at": q.Now.Add(s.RetryAfter).UTC().Format(time.RFC3339)}
		v.Wait = s.RetryAfter
		return v
	case admission.CodeAllCooling:
		v := c.says(s.Status, "service_unavailable", s.Code, combo.AllCoolingDown,
			"every target is resting; the first is back in "+span(s.RetryAfter)+". Nothing was sent.")
		v.Wait = s.RetryAfter
		return v
	}
	v := c.says(s.Status, "service_unavailable", s.Code, reasonAllSkipped, "every target was skipped: "+c.exclusions()+".")
	if left, ok := c.NextTry(); ok && c.cools() {
		v.Status, v.Type, v.Wait = http.StatusTooManyRequests, "rate_limit_error", left
	}
	return v
}

// cools reports whether a connection rests until a known time.
func (c *Combo) cools() bool {
	for _, e := range c.Excluded {
		if e.Reason == exclusion.Cooling && !e.Until.IsZero() {
			return true
		}
	}
	return false
}

// merged makes one answer of those that the targets gave.
func (c *Combo) merged() ending {
	m := resilience.Merge(c.Failures)
	v := c.says(m.Status, dialect.TypeFor(m.Status), m.Code, reasonAllFailed, c.failures()+".")
	if m.QuotaOnly {
		v.terminal = reasonQuota
	}
	if m.Status == http.StatusTooManyRequests || m.Status == http.StatusServiceUnavailable {
		if left, ok := c.NextTry(); ok {
			v.resetsAfter(left)
		}
	}
	return v
}

// NextTry is how long it takes until the first of what failed or was excluded
// may be tried again.
func (c *Combo) NextTry() (time.Duration, bool) {
	first, ok := resilience.FirstRetry(c.Failures, c.Now)
	for _, e := range c.Excluded {
		if left := e.Until.Sub(c.Now); left > 0 && (!ok || left < first) {
			first, ok = left, true
		}
	}
	return first, ok
}

// maxListed is how many failures an error names.
const maxListed = 5

// failures names what failed, "connection/model: kind, cause (HTTP n)".
func (c *Combo) failures() string {
	var parts []string
	for i := range c.Failures[:min(len(c.Failures), maxListed)] {
		f := &c.Failures[i]
		parts = append(parts, fmt.Sprintf("%s/%s: %s, %s (HTTP %d)", f.Name, f.Model, f.Kind(),
			spaced(cmp.Or(f.Cause(), "unknown")), f.Outcome.Status))
	}
	return strings.Join(parts, "; ")
}

// exclusions names what was skipped and why.
func (c *Combo) exclusions() string {
	var parts []string
	for _, e := range c.Excluded[:min(len(c.Excluded), maxListed)] {
		parts = append(parts, e.Target.Model+" ("+spaced(e.Reason.Diagnostic())+")")
	}
	return strings.Join(parts, "; ")
}

// ExclusionLog is the log line that the guide's "Depuración" promises when a
// weighted combo has no target to choose from; empty otherwise.
func (c *Combo) ExclusionLog() string {
	if c.Refusal == nil || len(c.Refusal.Excluded) == 0 {
		return ""
	}
	var parts []string
	for _, e := range c.Refusal.Excluded {
		part := e.Target.Model + " " + e.Reason.Diagnostic()
		if left := e.Until.Sub(c.Now); left > 0 {
			part += fmt.Sprintf(" %ds", seconds(left))
		}
		parts = append(parts, part)
	}
	return "[COMBO] Weighted selection: every target excluded before dispatch — " + strings.Join(parts, ", ")
}
