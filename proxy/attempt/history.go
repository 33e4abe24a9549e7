package attempt

import (
	"net/http"
	"time"

	"breakwater/proxy/control"
	"breakwater/proxy/dialect"
	"breakwater/resilience/classify"
	"breakwater/resilience/outcome"
)

// History is what is known of the reasoning in the request's conversation, as
// far as it concerns the target (ruling 61).
type History interface {
	// Fit returns the body without the reasoning that the target is known to
	// refuse.
	Fit(raw []byte) ([]byte, dialect.Taken)
	// Refused learns that the target refused the reasoning in the body. It
	// reports whether Fit now returns another one; that is so once a request.
	Refused(sent []byte) bool
	// Answered learns that the target answered the body.
	Answered(sent []byte)
	// Event and Document see what the target answers.
	Event(data []byte)
	Document(doc []byte)
}

// refusal ends the attempt with a refusal in the upstream's own words, unless it
// names reasoning of others and the target is asked again without it. Status is
// 0 for an error event.
func (a *attempt) refusal(o outcome.Outcome, status int, header http.Header, body []byte) callResult {
	if !classify.ForeignHistory(status, body) {
		return a.fail(o, header, body)
	}
	if a.target.History == nil && a.target.Recall != nil {
		a.target.History = a.target.Recall()
	}
	h := a.target.History
	if h == nil {
		return a.fail(o, header, body)
	}
	if h.Refused(a.sent) {
		a.repairs++
		a.watch.Step(control.Step{
			Kind: control.StepFailed, Reason: control.ReasoningRefused, Status: o.Status, Model: a.target.Model,
			DurationMs: time.Since(a.began).Milliseconds(),
		})
		return callResult{next: repaired}
	}
	// Neither target nor request is at fault, and the account that can read the
	// conversation may be among those that follow.
	o.Class, o.Scope, o.Fallback, o.Cooldown, o.SkipBreaker = outcome.Neutral, outcome.ScopeRequest, true, 0, true
	o.Terminal, o.Row = outcome.NotTerminal, classify.RowForeign
	return a.fail(o, header, body)
}

// sees shows a whole answer to what remembers who made its reasoning.
func (a *attempt) sees(doc []byte) {
	if h := a.target.History; h != nil {
		h.Document(doc)
	}
}
