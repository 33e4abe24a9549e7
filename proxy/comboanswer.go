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
	"breakwater/resilience/outcome"
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
	if f := w.verbatim(); f != nil {
		x.handOn(*f)
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

// verbatim is an upstream's answer that tells the client more than we could:
// what is wrong with the request, when all that failed said so (status merge,
// "all model 4xx"), or the refusal of its own login (ruling 43).
func (w *comboWalk) verbatim() *failure {
	if w.stop != "" && w.stop != stopRequest && w.stop != stopProtected && w.stop != stopAlike {
		return nil
	}
	for i := range w.x.failures {
		f := &w.x.failures[i]
		if f.header == nil || kindOfFailure(f) != kindModel {
			return w.x.ownRefusal()
		}
	}
	return w.x.lastFailure()
}

// answer decides between the final answers.
func (w *comboWalk) answer() comboAnswer {
	switch {
	case w.stop == stopAttempts:
		return w.says(http.StatusServiceUnavailable, "service_unavailable", stopAttempts, stopAttempts,
			fmt.Sprintf("the request was tried %d times in vain.", w.attempts))
	case w.stop == stopTimeout:
		return w.says(http.StatusGatewayTimeout, "timeout_error", codeComboTimeout, stopTimeout, "no target answered in time: "+w.list()+".")
	case w.refusal != nil && w.plan != nil:
		return w.composed()
	case w.refusal != nil:
		r := w.refusal
		a := w.says(r.Status, r.Type, r.Code, cmp.Or(r.Terminal, r.Code), r.Message)
		a.wait = r.RetryAfter
		return a
	case w.pass.sent == 0, len(w.x.failures) == 0: // the last call of several found nobody
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
	if w.pass.sent == 0 {
		return w.skipped()
	}
	r := w.refusal
	status, kind := r.Status, r.Type
	if isAuthStatus(status) {
		status, kind = http.StatusBadGateway, "api_error"
	}
	limits := len(w.x.failures) > 0
	for i := range w.x.failures {
		limits = limits && kindOfFailure(&w.x.failures[i]) == kindLimit
	}
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

// kind is the family of a failure for the status merge.
type kind string

const (
	kindQuality  kind = "quality"
	kindAuth     kind = "auth"
	kindLimit    kind = "rate_limit"
	kindTimeout  kind = "timeout"
	kindProvider kind = "provider"
	kindModel    kind = "model"
)

func kindOfFailure(f *failure) kind {
	switch s := f.outcome.Status; {
	case f.outcome.Reason == outcome.ReasonEmptyAnswer:
		return kindQuality
	case isAuthStatus(s):
		return kindAuth
	case s == http.StatusTooManyRequests:
		return kindLimit
	case s == http.StatusRequestTimeout, s == statusClientLeft, f.code == combo.CodeTargetTimeout:
		return kindTimeout
	case s >= http.StatusInternalServerError, s == 0:
		return kindProvider
	}
	return kindModel
}

// merged makes one status of those that the targets gave (combos sheet §2.9).
// A refused key is never handed on (ruling 43).
func (w *comboWalk) merged() comboAnswer {
	last := w.x.lastFailure()
	kinds := map[kind]bool{}
	quota := true
	for i := range w.x.failures {
		kinds[kindOfFailure(&w.x.failures[i])] = true
		quota = quota && w.x.failures[i].outcome.Reason == outcome.ReasonQuota
	}
	status := last.outcome.Status
	switch {
	case len(kinds) == 1 && status > 0:
	case kinds[kindTimeout]:
		status = http.StatusGatewayTimeout
	default:
		status = http.StatusBadGateway
	}
	switch {
	case isAuthStatus(status), kinds[kindQuality] && len(kinds) == 1:
		status = http.StatusBadGateway
	case status == statusOverloaded: // clients give up on it (ruling 41)
		status = http.StatusServiceUnavailable
	}
	a := w.says(status, dialect.TypeFor(status), cmp.Or(last.code, string(last.outcome.Reason)), reasonAllFailed, w.list()+".")
	if quota {
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
	left, told := w.hint()
	now := w.x.s.svc.Now()
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
		parts = append(parts, fmt.Sprintf("%s/%s: %s, %s (HTTP %d)", f.route.Record.Name, f.model, kindOfFailure(f),
			strings.ReplaceAll(cmp.Or(f.code, string(f.outcome.Reason), "unknown"), "_", " "), f.outcome.Status))
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
