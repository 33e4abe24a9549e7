package proxy

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/sjson"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience"
	"breakwater/resilience/admission"
	"breakwater/resilience/combo"
)

// The codes and terminal reasons of a combo's final answers (combos sheet
// §2.9).
const (
	reasonAllFailed  = "all_models_failed"
	reasonQuota      = "quota_exhausted"
	reasonAllSkipped = "all_targets_skipped"
	codeComboTimeout = "COMBO_TIMEOUT"
)

// comboAnswer is how a request for a combo ends that no target answered.
type comboAnswer struct {
	refusal
	terminal string
}

// giveUp ends the request.
func (w *comboWalk) giveUp() {
	x := w.x
	if x.r.Context().Err() == nil && x.side == nil && w.leads() {
		wait, _ := w.soonest()
		x.s.svc.Warn(control.Alert{Kind: control.AlertNothingLeft, Dialect: string(x.rt.dialect), Combo: w.combo.Name, Until: untilStep(wait)})
	}
	x.act.FailedOver = false
	if f := resilience.ForwardableFromCombo(x.failures, w.pass.Stop); f != nil {
		x.forward(*f, false)
		return
	}
	a := w.answer()
	w.logExclusions()
	if a.wait > 0 && a.Status == http.StatusServiceUnavailable && x.client.WaitStatus429 {
		a.Status, a.Type = http.StatusTooManyRequests, "rate_limit_error" // ruling 41
	}
	w.refuse(a)
}

// leads reports whether the combo leads to any connection. One that does not is
// not out of luck but misnamed, which its answer says: nobody need be alarmed.
func (w *comboWalk) leads() bool {
	var targets []*combo.Target
	if w.plan != nil {
		targets = w.plan.Order
	}
	if w.refusal != nil {
		for _, e := range w.refusal.Excluded {
			targets = append(targets, e.Target)
		}
	}
	return slices.ContainsFunc(targets, w.x.s.svc.Leads)
}

// answer decides between the final answers.
func (w *comboWalk) answer() comboAnswer {
	switch {
	case w.pass.Stop == resilience.StopAttempts:
		return w.says(http.StatusServiceUnavailable, "service_unavailable", string(resilience.StopAttempts), string(resilience.StopAttempts),
			fmt.Sprintf("the request was tried %d times in vain.", w.attempts))
	case w.pass.Stop == resilience.StopTimeout:
		return w.says(http.StatusGatewayTimeout, "timeout_error", codeComboTimeout, string(resilience.StopTimeout), "no target answered in time: "+w.list()+".")
	case w.refusal != nil && w.plan != nil:
		return w.composed()
	case w.refusal != nil:
		r := w.refusal
		a := w.says(r.Status, r.Type, r.Code, cmp.Or(r.Terminal, r.Code), r.Message)
		a.wait = r.RetryAfter
		return a
	case w.pass.Sent == 0, len(w.x.failures) == 0: // the last call of several found nobody
		return w.skipped()
	}
	return w.merged()
}

func (w *comboWalk) says(status int, kind, code, terminal, message string) comboAnswer {
	return comboAnswer{terminal: terminal, refusal: refusal{Refusal: dialect.Refusal{
		Status: status, Type: kind, Code: code, Message: "Breakwater: combo " + w.combo.Name + ": " + message,
	}}}
}

// composed is the answer when the calls of a fusion or a pipeline failed: when
// they only met limits, the client is told to come back; a refused key is never
// handed on (ruling 43).
func (w *comboWalk) composed() comboAnswer {
	if w.pass.Sent == 0 {
		return w.skipped()
	}
	r := w.refusal
	status, kind := r.Status, r.Type
	if resilience.AuthStatus(status) {
		status, kind = http.StatusBadGateway, "api_error"
	}
	limits := len(w.x.failures) > 0 && resilience.Merge(w.x.failures).LimitOnly
	a := w.says(status, kind, r.Code, cmp.Or(r.Terminal, r.Code), r.Message)
	if left, ok := w.soonest(); ok && (limits || status == http.StatusTooManyRequests) {
		a.Status, a.Type, a.wait = http.StatusTooManyRequests, "rate_limit_error", left
		a.Message = strings.TrimSuffix(a.Message, ".") + " (" + resilience.ResetAfter(left) + ")."
	}
	return a
}

// skipped is the answer when no target was tried at all.
func (w *comboWalk) skipped() comboAnswer {
	if w.x.local != nil {
		return comboAnswer{refusal: w.x.tooBusy(), terminal: reasonAllSkipped}
	}
	s := admission.BeforeDispatch(w.pass.holds, w.spent, w.wait())
	switch s.Code {
	case admission.CodeRateLimit:
		a := w.says(s.Status, "rate_limit_error", s.Code, combo.AllCoolingDown,
			"every target is limited; the first is back in "+inWords(s.RetryAfter)+". Nothing was sent.")
		end := time.Now().Add(s.RetryAfter)
		a.Extra = map[string]any{"retry_after": wholeSeconds(s.RetryAfter), "reset_at": end.UTC().Format(time.RFC3339)}
		a.wait = s.RetryAfter
		return a
	case admission.CodeAllCooling:
		a := w.says(s.Status, "service_unavailable", s.Code, combo.AllCoolingDown,
			"every target is resting; the first is back in "+inWords(s.RetryAfter)+". Nothing was sent.")
		a.wait = s.RetryAfter
		return a
	}
	a := w.says(s.Status, "service_unavailable", s.Code, reasonAllSkipped, "every target was passed over: "+w.reasons()+".")
	if left, ok := w.soonest(); ok && w.cools() {
		a.Status, a.Type, a.wait = http.StatusTooManyRequests, "rate_limit_error", left
	}
	return a
}

// cools reports whether a connection rests until a known time.
func (w *comboWalk) cools() bool {
	for _, e := range w.pass.excluded {
		if e.Reason == combo.ConnectionCooldown && !e.Until.IsZero() {
			return true
		}
	}
	return false
}

// merged makes one answer of those that the targets gave.
func (w *comboWalk) merged() comboAnswer {
	m := resilience.Merge(w.x.failures)
	status := m.Status
	a := w.says(status, dialect.TypeFor(status), m.Code, reasonAllFailed, w.list()+".")
	if m.QuotaOnly {
		a.terminal = reasonQuota
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		if left, ok := w.soonest(); ok {
			a.wait = left
			a.Message = strings.TrimSuffix(a.Message, ".") + " (" + resilience.ResetAfter(left) + ")."
		}
	}
	return a
}

// soonest is how long it takes until the first of what failed or was passed
// over may be tried again.
func (w *comboWalk) soonest() (time.Duration, bool) {
	now := w.x.s.svc.Now()
	left, told := resilience.FirstRetry(w.x.failures, now)
	for _, e := range w.pass.excluded {
		if l := e.Until.Sub(now); l > 0 && (!told || l < left) {
			left, told = l, true
		}
	}
	return left, told
}

// maxListed is how many failures an error names.
const maxListed = 5

// list names what failed, "model: kind — reason (HTTP n)".
func (w *comboWalk) list() string {
	var parts []string
	for i := range w.x.failures {
		f := &w.x.failures[i]
		if len(parts) == maxListed {
			break
		}
		parts = append(parts, fmt.Sprintf("%s/%s: %s, %s (HTTP %d)", f.Name, f.Model, f.Kind(),
			strings.ReplaceAll(cmp.Or(f.Cause(), "unknown"), "_", " "), f.Outcome.Status))
	}
	return strings.Join(parts, "; ")
}

// reasons names what was passed over and why.
func (w *comboWalk) reasons() string {
	var parts []string
	for _, e := range w.pass.excluded {
		if len(parts) == maxListed {
			break
		}
		parts = append(parts, e.Target.Model+" ("+strings.ReplaceAll(string(e.Reason), "_", " ")+")")
	}
	return strings.Join(parts, "; ")
}

func wholeSeconds(d time.Duration) int { return max(int(math.Ceil(d.Seconds())), 1) }

// logExclusions is the line that the guide's "Depuración" promises.
func (w *comboWalk) logExclusions() {
	if w.refusal == nil || w.combo.Strategy != combo.Weighted || len(w.refusal.Excluded) == 0 {
		return
	}
	now := w.x.s.svc.Now()
	var parts []string
	for _, e := range w.refusal.Excluded {
		part := e.Target.Model + " " + string(e.Reason)
		if left := e.Until.Sub(now); left > 0 {
			part += fmt.Sprintf(" %ds", wholeSeconds(left))
		}
		parts = append(parts, part)
	}
	w.x.s.log.Warn("[COMBO] Weighted selection: every target excluded before dispatch — "+strings.Join(parts, ", "), "combo", w.combo.Name) //nolint:sloglint // the guide gives the line
}

// refuse sends the answer with its diagnostics, in the body and as headers.
func (w *comboWalk) refuse(a comboAnswer) {
	x := w.x
	x.step(control.Step{Kind: control.StepRefused, Status: a.Status, Reason: a.Code, Until: a.until()}, nil)
	d := w.diagnose(a)
	body := x.rt.dialect.ErrorBody(a.Refusal)
	if out, err := sjson.SetBytes(body, "diagnostics", d.Diagnostics); err == nil {
		body = out
	}
	if d.Recovery != nil {
		if out, err := sjson.SetBytes(body, "recovery_hint", d.Recovery); err == nil {
			body = out
		}
	}
	x.reply(a.Status, "refused", body, a.Refusal, a.wait, func(h http.Header) {
		h.Set("Content-Type", "application/json")
		if a.wait > 0 {
			h.Set("Retry-After", fmt.Sprint(x.retryAfter(a.wait)))
		}
		d.headers(h)
	})
}
